"""Tables of a segment, and segments with each other."""

from .case import DEEP, FULL, case
from .segment import Single, TableParts


@case("16.1", "user-paper-10", "0000000007000000.t03",
      "the table does not hold the same fingerprints as table 0", FULL)
def other_fingerprints_in_a_table(copy, file):
    TableParts(64, [[1 << 20 | step for step in range(15)]]).write(copy.paged(file))


@case("22.1", "user-half-2", "", "which older segments do not have", DEEP)
def tombstone_of_no_entry(copy, _):
    copy.paged("0000000005000000.del").body[64 + 8] ^= 1


@case("22.2", "user-single-4096", "", "two segments have the entry", DEEP)
def entry_of_an_older_segment(copy, _):
    Single(copy, [[0x035E2AA2E7F47ACA]], [[[100 * 100]]]).write()


@case("22.3", "unique-half-2", "", "originals have other fingerprints than the entries", FULL)
def fingerprint_of_an_original(copy, _):
    body = copy.paged("0000000008000000.docs").body
    at = body.index((0x34E71684C8B1CE67).to_bytes(8, "little"))
    body[at] ^= 1


@case("2.6", "sketches-unique", "", "there are 199 entries and 217 documents, but 198 and 217 were counted", FULL)
def replaced_originals(copy, _):
    copy.manifest["tombstones of 1"] += 1


@case("2.6", "unique-half-2", "", "there are 199 entries and 217 documents, but 199 and 216 were counted", FULL)
def replaced_documents(copy, _):
    copy.manifest["replaced of 1"] += 1
