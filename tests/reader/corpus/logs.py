"""Logs."""

from functools import wraps

from .case import case, sound
from .log import COMMIT, WATERMARK, Frame
from .numbers import u32, u64

LOG = "0000000001000001.log"
ENTRIES, NAMES = "user-log-only", "names-log-only"


@sound(NAMES)
def one_change(copy):
    change(copy.log(LOG), 36)
    copy.log(LOG).end_with_watermark()


def in_log(condition, words, database=ENTRIES):
    """A case in a log. Its changed commits count, because all of it is known to be synced."""
    def add(change):
        @case(condition, database, LOG, words)
        @wraps(change)
        def changed(copy, file):
            log = copy.log(file)
            change(log)
            log.end_with_watermark()
        return change
    return add


@case("19.1", ENTRIES, LOG, "the log's first frame is damaged")
def start_with_wrong_checksum(copy, file):
    copy.after(file, lambda data: data.__setitem__(107, data[107] ^ 1))


@case("19.1", ENTRIES, LOG, "it is empty")
def log_without_start(copy, file):
    copy.log(file).frames.clear()


WRONG_START = "the log's first frame has the wrong kind"


@in_log("19.2", WRONG_START)
def watermark_instead_of_start(log):
    log.frames[0].kind = WATERMARK


@in_log("19.2", WRONG_START)
def start_with_flags(log):
    log.frames[0].flags = 1


@in_log("19.2", WRONG_START)
def start_with_count(log):
    log.frames[0].count = 1


@in_log("19.2", WRONG_START)
def start_with_durable(log):
    log.frames[0].durable = 64


@in_log("19.2", "first frame: 8 bytes too many")
def long_start(log):
    log.frames[0].payload += bytes(8)


@in_log("19.3", "log frame vouches for bytes after it")
def durable_after_the_frame(log):
    log.frames[-1].durable = log.offset(log.frames[-1]) + 1


@in_log("19.4", "log frame of unexpected kind 4")
def kind_4(log):
    log.frames[-1].kind = 4


@in_log("19.4", "log frame of unexpected kind 1")
def second_start(log):
    log.frames[-1].kind = 1


@in_log("19.5", "commit 1 (flags 2) cannot follow 0")
def flags_of_commit(log):
    log.commits()[0].flags = 2


@in_log("19.6", "commit 3 (flags 0) cannot follow 1", NAMES)
def gap_between_commits(log):
    log.commits()[1].sequence = 3


@case("19.6", ENTRIES, LOG, "commit 1 follows commit 7")
def gap_after_the_last_commit_of_segments(copy, _):
    copy.manifest["last commit"] = 7


WATERMARK_OUT_OF_PLACE = "watermark out of place"


@in_log("19.7", WATERMARK_OUT_OF_PLACE)
def watermark_within_a_commit(log):
    commit = log.commits()[0]
    commit.flags = 1
    log.frames[2:] = [Frame(WATERMARK, 0), Frame(COMMIT, 1)]


@in_log("19.8", WATERMARK_OUT_OF_PLACE)
def watermark_with_flags(log):
    log.frames[-1].flags = 1


@in_log("19.8", WATERMARK_OUT_OF_PLACE)
def watermark_with_count(log):
    log.frames[-1].count = 1


@in_log("19.8", WATERMARK_OUT_OF_PLACE)
def watermark_with_payload(log):
    log.frames[-1].payload += b"\0"


@in_log("19.9", WATERMARK_OUT_OF_PLACE)
def watermark_after_another_commit(log):
    log.frames[-1].sequence = 2


@in_log("19.10", "commit: 17 bytes too many")
def operation_too_many(log):
    log.commits()[0].count -= 1


@in_log("19.10", "operation kind: 1 bytes expected, only 0 left")
def operation_too_few(log):
    log.commits()[0].count += 1


@in_log("19.11", "operation of unknown kind 4")
def operation_of_kind_4(log):
    log.commits()[0].payload[0] = 4


OTHER_IDS = "has operations for the other kind of ids"


@in_log("19.12", OTHER_IDS, NAMES)
def insert_in_a_database_with_names(log):
    only_commit(log).payload[:] = b"\1" + bytes(16)


def change(log, flags, name=b"a", identifier=0, rest=8):
    """Makes a change the only operation of the first commit, and removes the others."""
    named = u32(len(name)) + name if name is not None else b""
    only_commit(log).payload[:] = bytes([2, flags]) + u64(identifier) + named + bytes(rest)


def only_commit(log):
    """Removes all commits but the first."""
    commit = log.commits()[0]
    del log.frames[log.frames.index(commit) + 1:]
    commit.count = 1
    return commit


@in_log("19.12", OTHER_IDS, NAMES)
def change_without_name(log):
    change(log, 4, None)


@in_log("19.12", OTHER_IDS)
def change_of_an_entry(log):
    change(log, 4, None)


def flags_of_a_change(name, condition, flags, rest, words="contradictory flags of a change"):
    """A case of the flags of a change, before which there are no documents."""
    def changed(log):
        change(log, flags, rest=rest)
    changed.__name__ = name
    in_log(condition, words, NAMES)(changed)


flags_of_a_change("neither_before_nor_after", "19.13", 32, 0)
flags_of_a_change("original_and_duplicate_before", "19.13", 32 + 3 + 4, 16)
flags_of_a_change("original_and_duplicate_after", "19.13", 32 + 12, 16)
flags_of_a_change("stamp_without_document", "19.13", 32 + 1 + 16, 16)
flags_of_a_change("flag_64", "19.14", 32 + 4 + 64, 8, "unknown flags of a change")


@in_log("19.15", "name of 0 bytes", NAMES)
def name_of_0_bytes(log):
    change(log, 36, b"")


@in_log("19.15", "name of 65536 bytes", NAMES)
def name_of_65536_bytes(log):
    change(log, 36, 65536 * b"a")


@in_log("19.16", "name: not valid UTF-8", NAMES)
def name_that_is_not_utf_8(log):
    change(log, 36, b"\xff")


@in_log("19.17", "document id 7 in the log, where the next new one is 0", NAMES)
def first_id_7(log):
    change(log, 36, identifier=7)


@case("19.18", NAMES, LOG, "a damaged log frame was durable")
def damaged_commit(copy, file):
    copy.after(file, lambda data: data.__setitem__(200, data[200] ^ 1))


@case("19.19", NAMES, LOG, "bytes were recorded")
def end_within_a_frame(copy, _):
    copy.manifest["log end 0"] = 300


@case("19.19", NAMES, LOG, "bytes were recorded")
def end_after_the_file(copy, _):
    copy.manifest["log end 0"] = 10**6
