"""The exceptions of fpdb, one for each kind of error.

Where a built-in exception means the same, the class also derives from it, so that code which knows
nothing of fpdb handles it.
"""

from __future__ import annotations


class Error(Exception):
    """A failure of fpdb. The message says what happened and what the caller can do."""

    path: str | None = None
    """The file or folder concerned, if there is one."""
    offset: int | None = None
    """The byte offset in that file, if it is known."""
    is_retryable: bool = False
    """Whether the same call on the same handle can succeed once the cause is removed."""

    def __str__(self) -> str:
        # That of an OSError with a filename is only the number and the name.
        return str(self.args[0]) if self.args else ""


class NotFoundError(Error, FileNotFoundError):
    """There is no database, or no such file, at this path."""


class AlreadyExistsError(Error, FileExistsError):
    """There is already something at this path."""


class UnfinishedError(Error):
    """A backup, merge or rebuild was to create this database and did not finish. Repeat it, or
    remove the folder."""


class LockedError(Error):
    """Another handle or process is writing to this database. Wait until it has closed the database,
    or open the database read-only."""


class InvalidArgumentError(Error, ValueError):
    """An argument or option is out of range, or does not fit this database. Correct the call."""


class UnsupportedError(Error):
    """The file is intact, but a newer version wrote it, or it is for another width or recipe."""


class CorruptionError(Error):
    """Bytes on disk are not what was written. verify() finds all damage."""


class IoError(Error, OSError):
    """The operating system reported a failure. Its number, if it has one, is errno."""


class NoSpaceError(Error, OSError):
    """The disk is full, the quota is used up, or there is too little space to begin an operation."""


class PoisonedError(Error):
    """An earlier write or sync failed, so this handle accepts no more writes. Open the database
    again: recovery finds out what is on disk."""


class ClosedError(Error, ValueError):
    """The handle was closed, or this process was forked from the one that opened it. As for a closed
    file, this is also a ValueError."""


class ReplacedError(Error):
    """The folder of the database was moved, removed or replaced while it was open. Open the database
    again."""


class TooManyCandidatesError(Error):
    """The bands of a sketch lead to more documents than one query may read. Insert the document
    without asking whether it is novel."""


class CancelledError(Error):
    """The operation was cancelled, and nothing has changed."""


class ArchiveError(Error):
    """A record of an archive, or the HTTP response in it, is damaged."""
