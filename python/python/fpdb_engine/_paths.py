"""Where files of rows are: files, folders, patterns and URLs."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath, PurePosixPath
from typing import Any

from ._errors import InvalidArgumentError

PathLike = str | os.PathLike[str]

# Files beside data that never have rows.
_NO_DATA = re.compile(r"(readme|licen[cs]e)(\..*)?|.*\.(md|crc|md5|sha1|sha256|gitattributes)", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Place:
    """A path in a file system."""

    system: Any
    """The file system of pyarrow."""
    path: str

    def _is_local(self) -> bool:
        from pyarrow import fs

        return isinstance(self.system, fs.LocalFileSystem)

    def identities(self) -> set[Any]:
        """Returns what two names of one file have in common, whatever links lead to it."""
        if not self._is_local():
            return {(self.system.type_name, str(PurePosixPath(self.path.strip("/"))))}
        found: set[Any] = {os.path.normcase(os.path.realpath(self.path))}
        try:
            about = os.stat(self.path)
        except OSError:
            return found
        return found | {(about.st_dev, about.st_ino)}

    def folders(self) -> Iterator[Place]:
        """Yields the folders that this lies in, from the inside. Links are followed first."""
        path = PurePosixPath(PurePath(os.path.realpath(self.path)).as_posix() if self._is_local() else self.path.strip("/"))
        for folder in path.parents:
            yield Place(self.system, str(folder))

    def file(self, name: str) -> Place:
        """Returns the file with this name in this folder."""
        return Place(self.system, f"{self.path.rstrip('/')}/{name}")

    def exists(self) -> bool:
        return bool(self.system.get_file_info(self.path).type.name != "NotFound")


@dataclasses.dataclass(frozen=True)
class Pattern:
    """A pattern for names of files."""

    folder: Place
    """The folder with which the pattern begins."""
    names: re.Pattern[str]
    """An expression for names in it."""
    is_deep: bool
    """Whether files of its folders may match."""

    def matches(self, place: Place) -> bool:
        """Returns whether a file would be found."""
        is_same = self.folder.system.type_name == place.system.type_name
        return is_same and self.names.fullmatch(_name_in(self.folder, place.path)) is not None


@dataclasses.dataclass(frozen=True)
class Named:
    """A file that was found, and its name in the folder that it was found in."""

    place: Place
    name: str


@dataclasses.dataclass
class Sources:
    """The files of all sources."""

    files: list[Named] = dataclasses.field(default_factory=list)
    left_out: list[str] = dataclasses.field(default_factory=list)
    """Files of folders that are hidden, or that never have rows."""
    folders: list[Place] = dataclasses.field(default_factory=list)
    patterns: list[Pattern] = dataclasses.field(default_factory=list)

    def add(self, source: PathLike) -> None:
        """Adds a file, the files of a folder, or files and those of folders that match a pattern."""
        place = place_of(source)
        if place.exists():
            if place.system.get_file_info(place.path).is_file:
                self.files.append(Named(place, PurePosixPath(place.path).name))
            else:
                self.folders.append(place)
                self._add_folder(place, "", set())
            return
        pattern = _pattern_of(os.fspath(source))
        if pattern is None or not pattern.folder.exists():
            raise FileNotFoundError(f"{os.fspath(source)}: there is no such file or folder")
        self.patterns.append(pattern)
        _check_links(pattern.folder, pattern.is_deep, lambda name: pattern.names.fullmatch(name) is not None)
        names, folders = _listed(pattern.folder, pattern.is_deep)
        names = [name for name in names if pattern.names.fullmatch(name)]
        # As a shell would pass them.
        folders = [name for name in folders if pattern.names.fullmatch(name)]
        if not names and not folders:
            raise FileNotFoundError(f"{os.fspath(source)}: no file matches")
        self.files += [Named(pattern.folder.file(name), PurePosixPath(name).name) for name in names]
        found = set(names)
        for name in folders:
            self.folders.append(pattern.folder.file(name))
            found |= self._add_folder(pattern.folder, name + "/", found)

    def _add_folder(self, base: Place, folder: str, known: set[str]) -> set[str]:
        """Adds the files of a folder, but for those that are known. Returns their names."""
        _check_links(base.file(folder), True, lambda name: not _is_left_out(name))
        new = []
        for name in _listed(base.file(folder) if folder else base, True)[0]:
            if folder + name in known:
                continue
            new.append(folder + name)
            if _is_left_out(name):
                self.left_out.append(name)
            else:
                self.files.append(Named(base.file(folder + name), name))
        return set(new)

    def check_targets(self, targets: list[Place]) -> None:
        """Refuses files that are sources, or would be if the same call were repeated."""
        files = set().union(*(file.place.identities() for file in self.files))
        folders = set().union(*(folder.identities() for folder in self.folders))
        for target in targets:
            if files & target.identities():
                raise InvalidArgumentError(f"target: {target.path} is one of the sources; choose another folder")
            if any(folders & folder.identities() for folder in target.folders()):
                raise InvalidArgumentError(f"target: {target.path} lies in a folder of sources; choose another folder")
            for pattern in self.patterns:
                if pattern.matches(target):
                    message = f"target: {target.path} matches the pattern of the sources; choose another folder"
                    raise InvalidArgumentError(message)


def sources_of(sources: PathLike | Iterable[PathLike]) -> Sources:
    """Finds the files of all sources."""
    found = Sources()
    for source in [sources] if isinstance(sources, (str, os.PathLike)) else sources:
        found.add(source)
    return found


def place_of(path: PathLike) -> Place:
    """Returns the place of a path or URL."""
    from pyarrow import fs

    path = os.fspath(path)
    if "://" not in path:
        return Place(fs.LocalFileSystem(), PurePath(os.path.abspath(path)).as_posix())
    try:
        system, found = fs.FileSystem.from_uri(path)
    except (ValueError, NotImplementedError) as error:
        try:
            import fsspec
        except ImportError:
            raise InvalidArgumentError(f"{path}: {error}; fsspec knows more file systems") from error
        other, found = fsspec.core.url_to_fs(path)
        if "file" in (other.protocol if isinstance(other.protocol, tuple) else (other.protocol,)):
            return Place(fs.LocalFileSystem(), found)
        system = fs.PyFileSystem(fs.FSSpecHandler(other))
    return Place(system, found)


def _pattern_of(source: str) -> Pattern | None:
    is_url = "://" in source
    if not is_url:
        source = PurePath(os.path.abspath(source)).as_posix()
    # A question mark begins the options of a URL.
    magic = re.search(r"[*[]" if is_url else r"[*?[]", source)
    if magic is None:
        return None
    begin = source.rfind("/", 0, magic.start()) + 1
    names = source[begin:]
    try:
        expression = re.compile(_expression(names), re.DOTALL)
    except re.error as error:
        raise InvalidArgumentError(f"{source}: this is no pattern: {error}") from error
    return Pattern(place_of(source[:begin]), expression, "/" in names or "**" in names)


def _expression(pattern: str) -> str:
    """Translates a pattern: * and ? match within a name, and ** any number of folders. As in a shell, they do not match a
    dot at the beginning of a name."""
    parts = []
    names = pattern.split("/")
    for number, name in enumerate(names):
        is_last = number == len(names) - 1
        if name == "**":
            parts.append(r"(?:(?!\.)[^/]+/)*" + (r"(?!\.)[^/]+" if is_last else ""))
            continue
        tokens = re.findall(r"\[!?\]?[^]]*\]|.", name, re.DOTALL)
        found = "".join(_of_token(token) for token in tokens)
        hidden = "" if name.startswith(".") else r"(?!\.)"
        parts.append(hidden + found + ("" if is_last else "/"))
    return "".join(parts)


def _of_token(token: str) -> str:
    if token == "*":
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if len(token) == 1:
        return re.escape(token)
    inner = re.sub(r"([\\\[&~|])", r"\\\1", token[1:-1])
    return "(?!/)[" + ("^" + inner[1:] if inner.startswith("!") else inner) + "]"


def _name_in(folder: Place, path: str) -> str:
    base = folder.path.rstrip("/") + "/"
    return path[len(base) :] if path.startswith(base) else path


def _is_left_out(name: str) -> bool:
    """Returns whether a file of a folder is left out: if it is hidden, as Spark and pyarrow's datasets do, or never has
    rows."""
    path = PurePosixPath(name)
    return any(part.startswith(("_", ".")) for part in path.parts) or _NO_DATA.fullmatch(path.name) is not None


def _check_links(folder: Place, is_deep: bool, is_wanted: Callable[[str], bool]) -> None:
    """Refuses links whose target does not exist, which pyarrow leaves out."""
    from pyarrow import fs

    if not isinstance(folder.system, fs.LocalFileSystem):
        return
    seen: set[str] = set()
    for parent, folders, names in os.walk(folder.path, followlinks=True):
        # Links may lead in a circle.
        real = os.path.realpath(parent)
        if real in seen or not is_deep:
            folders.clear()
        if real in seen:
            continue
        seen.add(real)
        for name in names:
            path = os.path.join(parent, name)
            if os.path.islink(path) and not os.path.exists(path) and is_wanted(_name_in(folder, PurePath(path).as_posix())):
                raise FileNotFoundError(f"{path}: broken link: its target does not exist")


def _listed(folder: Place, is_deep: bool) -> tuple[list[str], list[str]]:
    """Returns the names of the files and of the folders in a folder, in order."""
    from pyarrow import fs

    infos = folder.system.get_file_info(fs.FileSelector(folder.path, recursive=is_deep))
    files, folders = ([_name_in(folder, it.path) for it in infos if it.is_file == is_file] for is_file in (True, False))
    return sorted(files), sorted(folders)
