"""Arrays that grow."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


class Growing(Generic[Scalar]):
    """An array to which parts are appended. Unlike a list of parts that is joined in the end, it does not need memory for
    its values twice: the system moves the pages of a large array. At most an eighth of it is free."""

    def __init__(self, dtype: type[Scalar]) -> None:
        self._values: npt.NDArray[Scalar] = np.empty(0, dtype)
        self._len = 0

    def append(self, part: npt.NDArray[Any]) -> None:
        end = self._len + len(part)
        if end > len(self._values):
            # Nothing else refers to the array.
            self._values.resize(max(end, len(self._values) * 9 // 8), refcheck=False)
        self._values[self._len : end] = part
        self._len = end

    def all(self) -> npt.NDArray[Scalar]:
        """Returns the array, and begins with an empty one."""
        found, self._values = self._values, self._values[:0].copy()
        found.resize(self._len, refcheck=False)
        self._len = 0
        return found
