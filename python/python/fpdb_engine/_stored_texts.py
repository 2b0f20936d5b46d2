"""The texts of earlier runs, from the files that these wrote."""

from __future__ import annotations

import array
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _columns
from ._paths import PathLike, sources_of
from ._rows import File, file_of


class StoredTexts:
    """Texts by the names of their documents. They are written to a file without a name, and take 16 bytes each in
    memory."""

    def __init__(
        self,
        runs: Mapping[str, PathLike | Iterable[PathLike]],
        columns: list[str],
        id_column: str,
        skips: bool,
    ) -> None:
        """Takes the files of each run."""
        hashes, offsets = array.array("q"), array.array("q")
        self.bad_lines = 0
        self._id_column = id_column
        self._files: list[tuple[str, File]] = []
        self._file = tempfile.TemporaryFile(prefix="fpdb-")
        for run, sources in runs.items():
            for it in sources_of(sources).files:
                file = file_of(it.place, it.name, columns, skips)
                file.check([*columns, id_column])
                self._files.append((run, file))
                for texts, ids in file.texts(id_column):
                    values = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
                    for text, id in zip(values, _columns.names(list(ids))):
                        if text is not None and id is not None:
                            hashes.append(hash(f"{run}/{id}"))
                            offsets.append(self._file.tell())
                            data = text.encode(errors="surrogatepass")
                            self._file.write(len(data).to_bytes(8, "little") + data)
                self.bad_lines += len(file.bad)
        order = np.argsort(np.array(hashes, np.int64), kind="stable")
        self._hashes, self._offsets = np.array(hashes, np.int64)[order], np.array(offsets, np.int64)[order]

    def __len__(self) -> int:
        """Returns the number of texts."""
        return len(self._hashes)

    def each(self, but: Collection[str]) -> Iterator[list[Any]]:
        """Yields the texts of all rows in chunks, with None for those of the documents with these names."""
        for run, file in self._files:
            for texts, ids in file.texts(self._id_column):
                values = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
                names = (None if id is None else f"{run}/{id}" for id in _columns.names(list(ids)))
                yield [None if name in but else text for text, name in zip(values, names)]

    def names(self, rows: Collection[int]) -> dict[int, str]:
        """Returns the names of some of these rows, which are numbered through all files."""
        ids = ((run, id) for run, file in self._files for id in _columns.names(list(file.values(self._id_column))))
        return {row: f"{run}/{id}" for row, (run, id) in enumerate(ids) if row in rows and id is not None}

    def __call__(self, names: list[str]) -> list[str | None]:
        """Returns the texts of documents, and None for those that are not known."""
        wanted = np.array([hash(name) for name in names], np.int64)
        places = np.searchsorted(self._hashes, wanted)
        return [self._text(place, it) for place, it in zip(places.tolist(), wanted.tolist())]

    def _text(self, place: int, wanted: Any) -> str | None:
        if place == len(self._hashes) or self._hashes[place] != wanted:
            return None
        self._file.seek(int(self._offsets[place]))
        length = int.from_bytes(self._file.read(8), "little")
        return self._file.read(length).decode(errors="surrogatepass")
