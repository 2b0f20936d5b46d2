"""Match rule: which fingerprints are near-duplicates."""

from .conventions import check, ones

BY_DISTANCE, BY_SIMILARITY = 0, 1


class MatchRule:
    """The rule, read from the manifest."""

    def __init__(self, cursor, layout):
        self.layout = layout
        self.distance = cursor.bounded(1, 0, 12 if layout.bits == 64 else 24, "18.10", "max distance")
        self.kind = cursor.bounded(1, BY_DISTANCE, BY_SIMILARITY, "18.11", "kind of the match rule")
        self.staircases = []
        if self.kind == BY_SIMILARITY:
            self.similarity = cursor.bounded(2, 5000, 10000, "18.12", "similarity")
            self.recall = cursor.bounded(2, 5000, 9990, "18.13", "recall")
            self.staircases = [read_steps(cursor) for _ in range(layout.tables())]
            self.check_steps(cursor)

    def check_steps(self, cursor):
        """Checks that all steps are allowed."""
        with_steps = [table for table, steps in enumerate(self.staircases) if steps]
        check(with_steps, "18.18", cursor.where, "no table of the match rule has steps")
        first_cells = [self.layout.orders[table][0] for table in with_steps]
        check(len(set(first_cells)) == len(first_cells), "18.19", cursor.where,
              "two tables with steps have the same first cell")
        for table in with_steps:
            steps = self.staircases[table]
            for (depth, limit), (next_depth, next_limit) in zip(steps, steps[1:]):
                check(depth < next_depth and limit < next_limit, "18.14", cursor.where,
                      "the steps of the match rule do not rise")
            check(0 < steps[0][0] and steps[-1][0] < self.layout.bits, "18.15", cursor.where,
                  "the depth of a step of the match rule is out of its bounds")
            check(steps[-1][1] < self.distance, "18.16", cursor.where,
                  "the limit of a step of the match rule is not below the max distance")
            in_first_cell = steps[:-1] if len(steps) > 1 else steps
            check(all(depth <= self.layout.first_width(table) for depth, _ in in_first_cell),
                  "18.17", cursor.where, "a step of the match rule is deeper than the first cell")

    def matches(self, a, b):
        """Whether two fingerprints are near-duplicates."""
        difference = a ^ b
        if ones(difference) > self.distance:
            return False
        if self.kind == BY_DISTANCE:
            return True
        return any(steps and self.accepts(table, steps, difference)
                   for table, steps in enumerate(self.staircases))

    def accepts(self, table, steps, difference):
        """Whether the difference exceeds the limit of none of a table's steps."""
        permuted = self.layout.permute(table, difference)
        return all(ones(permuted >> self.layout.bits - depth) <= limit for depth, limit in steps)


def read_steps(cursor):
    """The (depth, limit) of each step of a table."""
    return [(cursor.number(1), cursor.number(1)) for _ in range(cursor.number(1))]
