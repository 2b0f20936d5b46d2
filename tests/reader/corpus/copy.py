"""A copy of a database whose files are changed, and written with correct checksums."""

from .log import Log
from .manifest import Manifest
from .paged import Paged


class Copy:
    """The files of a database in memory."""

    def __init__(self, folder):
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.manifest = Manifest(self.files["MANIFEST"])
        self.opened = {}
        self.later = []
        self.unnamed = set()

    def paged(self, name):
        """A paged file, to change its parts."""
        return self.open(name, Paged)

    def log(self, name):
        """A log, to change its frames."""
        return self.open(name, Log)

    def open(self, name, kind):
        """The parts of a file."""
        if name not in self.opened:
            self.opened[name] = kind(self.files[name])
        return self.opened[name]

    def after(self, name, change):
        """Changes the bytes of a file after its own checksums are computed."""
        self.later.append((name, change))

    def header(self, name):
        """The header of a file, of which the checksums are computed again."""
        if name == "MANIFEST":
            return self.manifest.header
        return (self.log(name) if name.endswith(".log") else self.paged(name)).header

    def write(self, folder):
        """Writes all files."""
        changed = dict(self.files)
        changed.update({name: parts.sealed() for name, parts in self.opened.items()})
        self.change_later(changed)
        for name, data in changed.items():
            if data != self.files.get(name, data) and name != "MANIFEST" and name not in self.unnamed:
                self.manifest.name_file(self.files[name], data)
        if "MANIFEST" in changed:
            changed["MANIFEST"] = self.manifest.sealed()
            self.change_later(changed, True)
        for name, data in changed.items():
            (folder / name).write_bytes(data)

    def change_later(self, files, of_manifest=False):
        """Makes the changes that come after the checksums of the manifest, or of the other files."""
        for name, change in self.later:
            if name in files and (name == "MANIFEST") == of_manifest:
                data = bytearray(files[name])
                change(data)
                files[name] = bytes(data)
