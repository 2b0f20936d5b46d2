"""File headers, paged files, and the folder."""

from .case import FULL, USE, case
from .numbers import checksum, u16, u32, u64
from .paged import seal_footer

TABLE = "0000000003000000.t00"
NEWER = "the file has format version 2.0, this build reads 1.x: use a newer fpdb"
ELSEWHERE = "the file belongs elsewhere"


def in_table(condition, words, found="opening", **options):
    """A case in a table of a small database."""
    return case(condition, "user-half-2", TABLE, words, found, **options)


@in_table("1.1", "this is not an fpdb table file")
def magic(copy, file):
    copy.header(file)[0] ^= 1


@case("1.1", "user-log-only", "0000000001000001.log", "it is empty")
def empty_log(copy, file):
    copy.after(file, lambda data: data.__delitem__(slice(None)))


@in_table("1.2", "the file's version does not match its checksum")
def version_checksum(copy, file):
    def change(data):
        data[12] ^= 1
        data[60:64] = checksum(data[:60])
    copy.after(file, change)


@case("1.3", "user-half-2", "MANIFEST", NEWER)
def newer_manifest(copy, file):
    copy.header(file)[8:10] = u16(2)


@case("1.3", "user-half-2", "MANIFEST",
      "the file has format version 0.0, this build reads 1.x: use an older fpdb")
def older_manifest(copy, file):
    copy.header(file)[8:10] = u16(0)


@in_table("1.3", NEWER)
def newer_table(copy, file):
    copy.header(file)[8:10] = u16(2)


@in_table("1.4", "the file header does not match its checksum")
def header_checksum(copy, file):
    copy.after(file, lambda data: data.__setitem__(60, data[60] ^ 1))


@in_table("1.5", "the file header has a value that is not allowed")
def first_reserved_field(copy, file):
    copy.header(file)[20] = 1


@in_table("1.5", "the file header has a value that is not allowed")
def last_reserved_field(copy, file):
    copy.header(file)[56] = 1


@in_table("1.6", "the file is of kind 4, but a table file is kind 3")
def kind_of_postings(copy, file):
    copy.header(file)[16] = 4


@case("1.6", "empty", "MANIFEST", "the file is of kind 8, but a manifest file is kind 1")
def unknown_kind(copy, file):
    copy.header(file)[16] = 8


@case("1.7", "empty", "MANIFEST", "the file header has a value that is not allowed")
def width_of_32_bits(copy, file):
    copy.header(file)[17] = 4


@in_table("1.7", ELSEWHERE)
def other_width(copy, file):
    copy.header(file)[17] = 16


@in_table("1.8", ELSEWHERE)
def other_part(copy, file):
    copy.header(file)[18:20] = u16(1)


@case("1.8", "empty", "MANIFEST", "the manifest has the header of another file")
def manifest_with_part(copy, file):
    copy.header(file)[18:20] = u16(1)


@in_table("1.9", ELSEWHERE)
def other_file_number(copy, file):
    copy.header(file)[24] ^= 1


@case("1.9", "empty", "MANIFEST", "the manifest has the header of another file")
def manifest_with_file_number(copy, file):
    copy.header(file)[24] = 1


@in_table("1.10", ELSEWHERE)
def other_database(copy, file):
    copy.header(file)[32] ^= 1


@in_table("1.11", "it comes from a copy or a backup of the database")
def other_nonce(copy, file):
    copy.header(file)[48] ^= 1


@case("1.11", "empty", "MANIFEST", "the manifest has the header of another file")
def manifest_with_nonce(copy, file):
    copy.header(file)[48] = 1


@in_table("2.1", "bytes, the manifest says")
def byte_too_many(copy, file):
    copy.after(file, lambda data: data.append(0))
    copy.unnamed.add(file)


@in_table("3.1", "the file does not end with the end mark")
def end_mark(copy, file):
    copy.after(file, lambda data: data.__setitem__(-1, 0))


@in_table("3.2", "the footer does not match its checksum")
def footer_checksum(copy, file):
    copy.after(file, lambda data: data.__setitem__(-12, data[-12] ^ 1))


@in_table("3.3", "the footer is too long")
def long_meta(copy, file):
    copy.paged(file).meta += bytes(4073 - len(copy.paged(file).meta))


@case("3.3", "user-many-ids", "0000000003000000.ids", "the footer is too long")
def meta_longer_than_file(copy, file):
    def change(data):
        data[-16:-12] = u32(len(data) - 23)
        seal_footer(data)
    copy.after(file, change)


@in_table("3.5", "the body length in the footer does not match the file's length")
def other_body_length(copy, file):
    def change(data):
        data[-24:-16] = u64(int.from_bytes(data[-24:-16], "little") + 4)
        seal_footer(data)
    copy.after(file, change)


@in_table("4.1", "the page does not match its checksum", USE)
def page_checksum(copy, file):
    def change(data):
        at = len(copy.paged(file).body)
        data[at] ^= 1
        data[at + 4:at + 8] = checksum(data[16:56], u64(2**63), data[at:at + 4])
    copy.after(file, change)


@in_table("4.2", "the page checksums do not match their own checksum", USE)
def checksum_page(copy, file):
    copy.after(file, lambda data: data.__setitem__(len(copy.paged(file).body) + 4,
                                                   data[len(copy.paged(file).body) + 4] ^ 1))


def short_meta(database, file, last):
    """A case of a meta that ends before its last field, which is at this offset."""
    @case("5.1", database, file, "bytes expected, only 0 left")
    def meta_without_last_field(copy, file):
        del copy.paged(file).meta[last:]
    return meta_without_last_field


short_meta("user-half-2", TABLE, 41)
short_meta("user-half-2", TABLE, 41 + 64)
short_meta("sketches-many-leaves", "0000000003000000.b00", 5)
short_meta("user-half-2", "0000000003000000.ids", 16)
short_meta("user-half-2", "0000000005000000.del", 0)
short_meta("names-ring-3", "0000000006000000.docs", 88)


@in_table("17.1", "does not match", FULL)
def checksum_of_the_file(copy, file):
    copy.manifest["checksum of table 0 of 0"] ^= 1


@in_table("20.1", "a file that the manifest names is missing")
def missing_table(copy, file):
    del copy.files[file]


@case("20.1", "user-log-only", "0000000001000001.log", "a file that the manifest names is missing")
def missing_log(copy, file):
    del copy.files[file]


@case("20.2", "user-half-2", "MANIFEST", "the manifest is missing")
def missing_manifest(copy, file):
    del copy.files[file]


@case("20.3", "user-half-2", "000000000a000000.log", "is newer than the manifest")
def newer_log(copy, file):
    copy.files[file] = b""
