"""What the steps have in common."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from datatrove.data import Document

from .. import InvalidArgumentError, fingerprint

# The files that Fingerprints writes, and Clusters reads, begin with a line of JSON that says what the
# fingerprints are. A record follows for each: its words, the high one first, or the bytes of a sketch; and its
# position.
RECORDS = {
    64: np.dtype([("fingerprint", "<u8"), ("position", "<u4")]),
    128: np.dtype([("fingerprint", "<u8", (2,)), ("position", "<u4")]),
    1824: np.dtype([("fingerprint", "V228"), ("position", "<u4")]),
}
# The width of sketches, which a similarity needs.
SKETCH: Final = 1824
U64 = npt.NDArray[np.uint64]
# The similarity of a new database.
SIMILARITY = 0.8


def check(recipe: str, max_distance: int) -> None:
    # Fails if there is no such recipe. An alias such as "default" is none of recipes().
    fingerprint("", recipe)
    if not 0 <= max_distance <= 12:
        raise InvalidArgumentError(f"max_distance = {max_distance}: expected 0 to 12")


def text_of(doc: Document) -> str:
    # Text may have lone surrogates, which UTF-8 cannot encode.
    return doc.text.encode("utf-8", "replace").decode("utf-8")
