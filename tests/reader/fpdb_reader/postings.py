"""Postings: the ids of the fingerprints of a segment."""

from .conventions import Cursor, check, packed_numbers, round_up

GROUPS = 48
HEAD = 64


class Postings:
    """Checked postings. `ids` has a list of ids for each fingerprint of table 0, in order."""

    def __init__(self, paged, table0):
        self.where = paged.where
        self.body = paged.body
        meta = Cursor(paged.meta, "5.1", self.where)
        self.entries, groups, heads = meta.number(8), meta.number(8), meta.number(8)
        counts = [len(block) for block in table0.blocks]
        check(groups == len(counts), "12.2", self.where,
              f"there are {groups} id groups for {len(counts)} blocks")
        sections = [counts[at:at + GROUPS] for at in range(0, len(counts), GROUPS)]
        check(heads + HEAD * len(sections) == len(self.body), "12.1", self.where,
              "the body does not end with one head per section")
        self.ids = []
        at = 64
        for index, section in enumerate(sections):
            head = self.body[heads + HEAD * index:heads + HEAD * (index + 1)]
            at = self.read_section(head, section, at, heads, f"{self.where}, section {index}")
        check(heads == round_up(at, 64) and not any(self.body[at:heads]), "13.6", self.where,
              "the heads do not follow the last section")
        total = sum(len(ids) for ids in self.ids)
        check(total == self.entries, "13.5", self.where, f"there are {total} ids instead of {self.entries}")

    def read_section(self, head, counts, expected_start, heads, where):
        """Reads the ids of a section whose blocks have these counts; returns where its data end."""
        fields = Cursor(head, "12.1", where)
        base, start, scale, width = (fields.number(size) for size in (8, 6, 2, 1))
        has_lists, width = width >> 7, width & 127
        check(width <= 64, "12.4", where, f"an id width of {width} bits")
        check(width > 0 or not has_lists, "12.5", where, "there are lists of ids of 0 bits")
        check(start <= heads, "4.3", where, f"it begins at {start}, after the data")
        check(start == expected_start, "13.1", where,
              f"it begins at {start} instead of {expected_start}, where the previous one ends")
        data = Cursor(self.body, "4.3", where, start=start, end=heads)
        ends = read_ends(data, scale, fields.take(47), len(counts))
        check(differences(ends) == counts, "12.3", where,
              "an id group does not have as many fingerprints as the block")
        firsts = read_lists(data, ends[-1]) if has_lists else [True] * ends[-1]
        ids = [(base + number) % 2**64 for number in packed_numbers(data, width, len(firsts))]
        check(min(ids) == base, "Postings", where, "the base is not the least id")
        self.add(firsts, ids, where)
        return data.at

    def add(self, firsts, ids, where):
        """Adds the lists of a section: an id that is the first of its fingerprint begins a new one."""
        for is_first, identifier in zip(firsts, ids):
            if is_first:
                self.ids.append([identifier])
            else:
                check(self.ids[-1][-1] < identifier, "13.4", where, "the ids of a fingerprint do not ascend")
                self.ids[-1].append(identifier)


def read_ends(data, scale, deviations, groups):
    """The number of fingerprints in the id groups up to each one."""
    check(not any(deviations[groups:]), "Postings", data.where, "an id group that does not exist has a deviation")
    if scale == 0:
        check(not any(deviations), "Postings", data.where, "there are deviations without a scale")
        return [data.number(4) for _ in range(groups)]
    signed = [value - 256 if value > 127 else value for value in deviations] + [0]
    return [(group + 1) * scale // GROUPS + signed[group] for group in range(groups)]


def differences(ends):
    """What each number exceeds the one before it by."""
    return [after - before for before, after in zip([0] + ends, ends)]


def read_lists(data, fingerprints):
    """For each id of a section, whether it is the first of its fingerprint."""
    count = data.number(8)
    check(count <= 8 * (data.end - data.at), "4.3", data.where, f"{count} ids exceed the body")
    samples = [data.number(4) for _ in range((count - 1) // 512)]
    end = data.at + round_up(count, 64) // 8
    firsts = [bit == 1 for bit in packed_numbers(data, 1, count)]
    data.zeros(end)
    check(sum(firsts) >= fingerprints and firsts[0], "12.6", data.where,
          f"{sum(firsts)} lists for {fingerprints} fingerprints")
    check(sum(firsts) <= fingerprints, "13.2", data.where,
          f"{sum(firsts)} lists for {fingerprints} fingerprints")
    for index, sample in enumerate(samples):
        check(sum(firsts[:512 * (index + 1)]) == sample, "13.3", data.where,
              f"sample {index} does not match the beginnings")
    return firsts
