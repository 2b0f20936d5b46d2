"""Postings and tombstones."""

from functools import wraps

from .case import FULL, USE, case, sound
from .segment import Single

DATABASE, FILE = "user-single-4096", "0000000007000000.ids"
BLOCKS = [[1, 2], [3 << 60]]
IDS = [[[10**6], [10**6 + 7]], [[10**6 + 2]]]
LISTS = [[[10**6], [10**6 + 7, 10**6 + 9]], [[10**6 + 2]]]
OTHER_LENGTH = "the length of the body does not match the counts in the footer"


MANY = [[[1], [2]], [list(range(3, 700))]]
for all_ids in (IDS, LISTS, MANY):
    @sound(DATABASE)
    def postings_of_these_ids(copy, ids=all_ids):
        Single(copy, BLOCKS, ids).write()


def in_postings(condition, words, found="opening", ids=IDS):
    """A case in postings. The function changes the segment before it is written."""
    def add(change):
        @case(condition, DATABASE, FILE, words, found)
        @wraps(change)
        def changed(copy, _):
            segment = Single(copy, BLOCKS, ids)
            change(segment.postings)
            segment.write()
        return change
    return add


@case("12.1", DATABASE, FILE, OTHER_LENGTH)
def second_head(copy, file):
    copy.paged(file).body += bytes(64)


@in_postings("12.2", "does not have the counts that the manifest says")
def one_more_id_group(postings):
    postings.groups += 1


@in_postings("12.3", "an id group is not for as many fingerprints as the block has", USE)
def end_of_an_id_group(postings):
    postings.ends[0] -= 1


NO_WIDTH = "the ids of a section have a width that is not allowed"


@in_postings("12.4", NO_WIDTH, USE)
def ids_of_65_bits(postings):
    postings.width = 65


@in_postings("12.5", NO_WIDTH, USE, ids=[[[10**6], [10**6]], [[10**6]]])
def lists_of_ids_of_0_bits(postings):
    postings.firsts = [True, True, True]


@in_postings("12.6", "does not have as many lists as fingerprints", USE, ids=LISTS)
def fingerprint_without_ids(postings):
    postings.firsts[1] = False


@in_postings("4.3", "4 bytes expected here, but the body ends at byte 192", USE)
def section_after_the_body(postings):
    postings.start = 2**40


@in_postings("13.1", "a section of the postings does not begin where the previous one ends", FULL)
def byte_before_a_section(postings):
    postings.start += 1
    postings.gap = 1


@in_postings("13.2", "a section of the postings has more lists than fingerprints", FULL, ids=LISTS)
def list_too_many(postings):
    postings.firsts[2] = True


@in_postings("13.3", "does not have as many lists as fingerprints", FULL,
             ids=[[[1], list(range(2, 700))], [[10**6 + 2]]])
def sample_of_one_more(postings):
    postings.samples = [3]


@in_postings("13.3", "a sample of a section's lists is not the number of lists before it", FULL,
             ids=MANY)
def sample_of_one_more_than_all(postings):
    postings.samples = [4]


@in_postings("13.4", "the ids of a fingerprint do not ascend or are not its own", FULL, ids=LISTS)
def ids_of_a_fingerprint(postings):
    postings.ids[1:3] = postings.ids[2:0:-1]


@in_postings("13.5", "the id groups do not hold as many ids as the footer says", FULL)
def number_of_entries(postings):
    postings.entries += 1


@case("13.6", DATABASE, FILE, "the heads of the sections do not follow the last section", FULL)
def heads_64_bytes_later(copy, file):
    paged = copy.paged(file)
    paged.body[-64:-64] = bytes(64)
    paged.meta[16:] = (int.from_bytes(paged.meta[16:], "little") + 64).to_bytes(8, "little")


REMOVED = "user-half-2", "0000000005000000.del"


@case("14.1", *REMOVED, OTHER_LENGTH)
def byte_after_the_records(copy, file):
    copy.paged(file).body.append(0)


@case("14.2", *REMOVED, "the tombstones do not ascend", FULL)
def records_out_of_order(copy, file):
    body = copy.paged(file).body
    body[64:96] = body[80:96] + body[64:80]
