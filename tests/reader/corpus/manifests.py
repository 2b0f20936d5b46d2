"""The manifest, without layout and match rule."""

from .case import case, sound
from .log import Frame, Log, START
from .matches import in_manifest, remove_segments
from .numbers import u32, u64


@in_manifest("18.1", "the manifest fails its checksum")
def checksum_of_manifest(copy, file):
    copy.after(file, lambda data: data.__setitem__(-1, data[-1] ^ 1))


@in_manifest("18.2", "1 bytes too many")
def byte_left_over(copy, _):
    copy.manifest.insert_after("all extensions", {"more": b"\0"})


@in_manifest("18.2", "4 bytes expected, only 0 left")
def manifest_without_extensions(copy, _):
    del copy.manifest.fields["extensions"], copy.manifest.fields["all extensions"]


@in_manifest("18.3", "such a file has at most 67108864")
def long_manifest(copy, _):
    add_extensions(copy, (1, bytes(2**26)))


def setting(condition, words, name, value):
    """A case of a setting that is out of its bounds."""
    @in_manifest(condition, words)
    def out_of_bounds(copy, _):
        copy.manifest[name] = value
    return out_of_bounds


setting("18.4", "kind of ids 3", "kind of ids", 3)
for block_size in (64, 384, 8192):
    setting("18.5", f"block size {block_size}", "block size", block_size)
setting("18.6", "block code 1", "block code", 1)
setting("18.7", "filter of 33 bits per fingerprint: expected 0 to 32", "filter bits", 33)
for purpose in (2, 255):
    setting("18.37", f"purpose {purpose}", "purpose", purpose)
for min_words in (13, 1001):
    @in_manifest("18.38", f"min words {min_words}", "passages")
    def min_words_of_passages(copy, _, min_words=min_words):
        copy.manifest["min words"] = min_words
for bits in (45, 64):
    @in_manifest("18.39", f"windows of {bits} bits", "passages")
    def bits_of_windows(copy, _, bits=bits):
        copy.manifest["bits of windows"] = bits
for database in ("empty", "names-log-only", "user-128-ring-4"):
    @in_manifest("18.40", "an index of passages has 64 bits", database)
    def other_database_with_windows(copy, _):
        remove_segments(copy)
        copy.manifest["purpose"] = 1
        copy.manifest.insert_after("purpose", {"min words": b"\x32\0", "bits of windows": b"\x2e", "seed": bytes(8)})
setting("18.19", "unfinished is 2", "unfinished", 2)
setting("18.21", "a database without names has a next id", "next id", 1)
for counter, limit in (("generation", 40), ("last commit", 63), ("bytes flushed", 63), ("bytes compacted", 63)):
    setting("18.22" if limit == 40 else "18.23", "a counter is beyond its limit", counter, 2**limit)


def text(name, content, words):
    """A case of a recipe or an extraction that is not allowed."""
    @in_manifest("18.9", words)
    def text_that_is_not_allowed(copy, _):
        copy.manifest[f"length of {name}"] = len(content)
        copy.manifest[name] = content
    return text_that_is_not_allowed


for setting_name in ("recipe", "extraction"):
    text(setting_name, 256 * b"a", f"{setting_name} name of 256 bytes")
    text(setting_name, b"\xff", f"{setting_name}: not valid UTF-8")


@in_manifest("18.23", "a counter is beyond its limit", "names-log-only")
def next_id(copy, _):
    remove_segments(copy)
    copy.manifest["next id"] = 2**63


@in_manifest("18.20", "the backup, merge or rebuild that creates this database has not finished", file="")
def unfinished(copy, _):
    copy.manifest["unfinished"] = 1


@in_manifest("18.24", "an earlier session is not earlier than the manifest")
def session_of_same_generation(copy, _):
    copy.manifest["earlier sessions"] = 1
    copy.manifest.insert_after("earlier sessions", {"earlier session": u64(7) + u64(copy.manifest["generation"])})


@in_manifest("18.25", "a log before the last has no end", "user-log-only")
def log_without_end(copy, _):
    log = copy.log("0000000001000001.log")
    first = Log(log.header)
    first.header[24:32] = u64(0x1000000)
    first.frames = [Frame(START, 0, payload=bytes(16))]
    copy.opened["0000000001000000.log"] = first
    log.frames[0].payload[:8] = u64(0x1000000)
    copy.manifest["logs"] = 2
    copy.manifest.insert_after("logs", {"first log": u64(0x1000000) + first.header[48:56] + u64(0)})


@in_manifest("18.26", "more than 65,536 segments", "user-half-2")
def segments_65537(copy, _):
    fields = list(copy.manifest.fields)
    of_one = [copy.manifest.fields[name] for name in fields if name.endswith(" of 0")]
    remove_segments(copy)
    copy.manifest["segments"] = 65537
    rest = b"".join(of_one[1:])
    copy.manifest.insert_after("segments", {"all": b"".join(u64(number) + rest for number in range(65537))})


for database, names in (("user-half-2", ("fingerprints", "entries", "tombstones")),
                        ("names-ring-3", ("documents", "removals", "replaced"))):
    for count in names:
        @in_manifest("18.27", "a count of a segment is 2^48 or more", database)
        def count_of_segment(copy, _, count=count):
            copy.manifest[f"{count} of 0"] = 2**48


@in_manifest("18.28", "a file that does not exist has a checksum", "user-half-2")
def checksum_without_file(copy, _):
    copy.manifest["checksum of tombstones of 0"] = 1


for kind, database in (("table 1", "user-half-2"), ("bands 4", "sketches-unique"),
                       ("postings", "user-half-2"), ("documents", "sketches-unique")):
    @in_manifest("18.29", f"a segment has no {kind.split()[0]} file", database)
    def no_such_file(copy, _, kind=kind):
        copy.manifest[f"length of {kind} of 0"] = copy.manifest[f"checksum of {kind} of 0"] = 0


@in_manifest("18.30", "a file is newer than the manifest that names it", "user-half-2")
def segment_of_same_generation(copy, _):
    copy.manifest["generation"] = 7


@in_manifest("18.31", "two files have the same number", "user-128-ring-4")
def log_with_number_of_segment(copy, _):
    copy.opened["0000000003000000.log"] = copy.log("0000000004000000.log")
    del copy.files["0000000004000000.log"], copy.opened["0000000004000000.log"]
    copy.opened["0000000003000000.log"].header[24:32] = u64(0x3000000)
    copy.manifest["log number 0"] = 0x3000000


def add_extensions(copy, *extensions):
    """Adds extensions with these tags and contents."""
    copy.manifest["extensions"] = len(extensions)
    data = b"".join(u32(tag) + u32(len(content)) + content for tag, content in extensions)
    copy.manifest["all extensions"] = data


@sound("user-half-2")
def writers_of_another_form(copy):
    add_extensions(copy, (1, b"a"), (9, b""))


@in_manifest("18.32", "the tags of the extensions do not ascend")
def extension_twice(copy, _):
    add_extensions(copy, (5, b"a"), (5, b"b"))


@case("18.33", "names-ring-3", "0000000006000000.docs", "this file has ids that were not yet assigned")
def next_id_in_use(copy, _):
    for name in ("log number 0", "log nonce 0", "log end 0"):
        del copy.manifest.fields[name]
    del copy.files["0000000004000000.log"]
    copy.manifest["logs"] = 0
    copy.manifest["next id"] = 100


@in_manifest("18.34", "to read this database, a program must know feature 1 of the file format, which is newer than "
                      "this build: use a newer fpdb")
def unknown_feature_to_read(copy, _):
    copy.manifest["features to read"] = 2


@in_manifest("18.35", "the segments are not in the order of their age", "user-half-2")
def segment_older_than_the_one_before(copy, _):
    copy.manifest["oldest of 1"] = copy.manifest["newest of 0"]


@in_manifest("18.35", "the segments are not in the order of their age", "user-half-2")
def oldest_segment_newer_than_the_newest(copy, _):
    copy.manifest["oldest of 0"] += 1


@in_manifest("18.36", "the files have 2^56 bytes or more", "user-half-2")
def longest_file(copy, _):
    copy.manifest["length of table 1 of 0"] = 2**56


def counted(condition, database, file, field, words, change=1):
    """A case of a segment's count that the manifest has wrong."""
    @case(condition, database, file, words)
    def other_count(copy, _):
        copy.manifest[field] += change
    return other_count


SEGMENT_COUNT = "does not have the counts that the manifest says"
counted("2.2", "user-half-2", "0000000003000000.t00", "fingerprints of 0", SEGMENT_COUNT)
counted("2.3", "user-half-2", "0000000003000000.ids", "entries of 0", SEGMENT_COUNT)
counted("2.4", "user-half-2", "0000000005000000.del", "tombstones of 1", SEGMENT_COUNT)
counted("2.4", "user-half-2", "0000000003000000.del", "tombstones of 0", SEGMENT_COUNT)
counted("2.5", "unique-half-2", "0000000008000000.docs", "documents of 1", SEGMENT_COUNT)
counted("2.5", "unique-half-2", "0000000008000000.docs", "removals of 1", SEGMENT_COUNT)
