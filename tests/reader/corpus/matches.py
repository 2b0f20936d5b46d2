"""Layout and match rule, in the manifest."""

from .case import case, sound

MANIFEST = "MANIFEST"
NAME = "expected 1 to 64 visible ASCII characters"
ORDER = "is not an order of 2 cells"


def in_manifest(condition, words, database="empty", file=MANIFEST):
    """A case in a manifest."""
    return case(condition, database, file, words)


def remove_segments(copy):
    """Leaves an empty database with the same settings."""
    fields = list(copy.manifest.fields)
    for name in fields[fields.index("logs") + 1:fields.index("segments")]:
        del copy.manifest.fields[name]
    for name in fields[fields.index("segments") + 1:fields.index("extensions")]:
        del copy.manifest.fields[name]
    copy.manifest["logs"] = copy.manifest["segments"] = 0
    copy.files = {name: data for name, data in copy.files.items() if name in (MANIFEST, "LOCK")}


for with_layout in ("user-128-ring-4", "sketches-unique", "names-log-only"):
    sound(with_layout)(remove_segments)


def name_layout(copy, name):
    """Gives the layout a name."""
    copy.manifest["length of layout's name"] = len(name)
    copy.manifest["layout's name"] = name.encode()


@in_manifest("6.1", NAME)
def layout_without_name(copy, _):
    name_layout(copy, "")


@in_manifest("6.1", NAME)
def long_name_of_layout(copy, _):
    name_layout(copy, 65 * "a")


@in_manifest("6.2", NAME)
def space_in_name_of_layout(copy, _):
    name_layout(copy, "a b")


@in_manifest("6.3", "layout cells: 65, at most 64 expected", "user-128-ring-4")
def cells_65(copy, _):
    remove_segments(copy)
    copy.manifest["cells"] = 65
    copy.manifest["widths"] = bytes(63 * [2] + [1, 1])
    for table in range(4):
        copy.manifest[f"bit order {table}"] = bytes(range(65))


@in_manifest("6.4", "layout cells [32, 0, 32]: expected 1 to 64 cells of at least one bit")
def cell_of_0_bits(copy, _):
    copy.manifest["cells"] = 3
    copy.manifest["widths"] = bytes([32, 0, 32])
    copy.manifest["bit order 0"] = copy.manifest["bit order 1"] = bytes(range(3))


@in_manifest("6.5", "layout cells sum to 63 bits, not 64")
def cell_of_63_bits(copy, _):
    copy.manifest["widths"] = bytes([32, 31])


@in_manifest("6.6", "layout of 0 tables: expected 1 to 64")
def layout_without_tables(copy, _):
    copy.manifest["tables"] = 0
    copy.manifest["bit order 0"] = copy.manifest["bit order 1"] = b""


@in_manifest("6.6", "layout tables: 65, at most 64 expected")
def tables_65(copy, _):
    copy.manifest["tables"] = 65
    copy.manifest["bit order 1"] = 64 * bytes([0, 1])


@in_manifest("6.7", ORDER)
def cell_twice(copy, _):
    copy.manifest["bit order 1"] = bytes([1, 1])


@in_manifest("6.7", ORDER)
def unknown_cell(copy, _):
    copy.manifest["bit order 1"] = bytes([1, 2])


@in_manifest("6.8", "layout table 0: its cells must be in ascending order")
def table_0_out_of_order(copy, _):
    copy.manifest["bit order 0"] = bytes([1, 0])


@in_manifest("18.10", "max distance 13: expected 0 to 12 at 64 bits")
def distance_13(copy, _):
    copy.manifest["max distance"] = 13


@in_manifest("18.10", "max distance 11: expected 0 to 10 at 128 bits", "user-128-ring-4")
def distance_11(copy, _):
    copy.manifest["max distance"] = 11


@in_manifest("18.11", "kind of match rule 2")
def kind_of_rule_2(copy, _):
    copy.manifest["kind of rule"] = 2


def of_sketches(condition, words, name, value):
    """A case of a setting of an empty database of sketches."""
    @in_manifest(condition, words, "sketches-unique")
    def setting_of_sketches(copy, _):
        remove_segments(copy)
        copy.manifest[name] = value
    return setting_of_sketches


for similarity in (4999, 10001):
    of_sketches("18.12", f"Jaccard similarity {similarity / 10000}: expected 0.5 to 1", "similarity", similarity)
for recall in (4999, 9991):
    of_sketches("18.13", f"recall {recall / 10000}: expected 0.5 to 0.999", "recall", recall)
NO_RULE = "a rule that no database has"
for condition, part, values in (("18.14", "bands", (0, 17)), ("18.15", "minima", (0, 9)),
                                ("18.16", "max distance", (129,))):
    for value in values:
        of_sketches(condition, NO_RULE, part, value)
OTHER_LAYOUT = "the layout does not fit the bands"
of_sketches("18.17", OTHER_LAYOUT, "layout's name", b"bands-7")
of_sketches("18.17", OTHER_LAYOUT, "bands", 7)
of_sketches("18.17", OTHER_LAYOUT, "bit order 1", bytes([1, 0, *range(2, 16)]))
of_sketches("6.5", "layout cells sum to 129 bits, not 128", "widths", bytes([9, *15 * [8]]))
NOT_OF_WIDTH = "a rule or ids that no database of this width has"
of_sketches("18.8", NOT_OF_WIDTH, "kind of ids", 0)


@in_manifest("18.18", NOT_OF_WIDTH, "sketches-unique")
def sketches_by_distance(copy, _):
    remove_segments(copy)
    copy.manifest["kind of rule"] = 0
    copy.manifest["max distance"] = 3
    for name in ("similarity", "recall", "bands", "minima"):
        del copy.manifest.fields[name]


NO_SEGMENT = "a segment that no database of sketches has"


@in_manifest("18.19", NO_SEGMENT, "sketches-unique")
def sketch_that_is_no_entry(copy, _):
    copy.manifest["fingerprints of 0"] += 1


@in_manifest("18.19", NO_SEGMENT, "sketches-unique")
def tombstones_of_sketches(copy, _):
    copy.manifest["length of tombstones of 0"] = 200
