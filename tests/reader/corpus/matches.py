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


for database in ("user-128-ring-4", "sketches-unique", "names-log-only"):
    sound(database)(remove_segments)


def sound_setting(database, name, value):
    """A setting that fpdb does not choose, and that a reader must accept."""
    @sound(database)
    def that_is_not_chosen(copy):
        remove_segments(copy)
        copy.manifest[name] = value


sound_setting("user-half-2", "max distance", 64)
sound_setting("user-128-ring-4", "max distance", 128)
for share in ("similarity", "recall"):
    sound_setting("sketches-unique", share, 0)
    sound_setting("sketches-unique", share, 10000)


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


@in_manifest("18.10", "max distance 65 of 64 bits")
def distance_65(copy, _):
    copy.manifest["max distance"] = 65


@in_manifest("18.10", "max distance 129 of 128 bits", "user-128-ring-4")
def distance_129(copy, _):
    copy.manifest["max distance"] = 129


@in_manifest("18.11", "kind of index 2")
def kind_of_index_2(copy, _):
    copy.manifest["kind of index"] = 2


def of_sketches(condition, words, name, value):
    """A case of a setting of an empty database of sketches."""
    @in_manifest(condition, words, "sketches-unique")
    def setting_of_sketches(copy, _):
        remove_segments(copy)
        copy.manifest[name] = value
    return setting_of_sketches


for condition, share in (("18.12", "similarity"), ("18.13", "recall")):
    of_sketches(condition, "a similarity or recall of more than 1", share, 10001)
NO_RULE = "a rule that no database has"
for condition, part, values in (("18.14", "bands", (0, 17)), ("18.15", "minima", (0, 9)),
                                ("18.16", "max distance", (129,))):
    for value in values:
        of_sketches(condition, NO_RULE, part, value)
of_sketches("18.8", "sketches have no ids that belong to no document", "kind of ids", 0)
of_sketches("18.17", "an index of kind 0 is not for 1824 bits", "kind of index", 0)


@in_manifest("18.17", "an index of kind 1 is not for 64 bits")
def fingerprints_by_bands(copy, _):
    copy.manifest["kind of index"] = 1


NO_SEGMENT = "a segment that no database of sketches has"


@in_manifest("18.18", NO_SEGMENT, "sketches-unique")
def sketch_that_is_no_entry(copy, _):
    copy.manifest["fingerprints of 0"] += 1


@in_manifest("18.18", NO_SEGMENT, "sketches-unique")
def tombstones_of_sketches(copy, _):
    copy.manifest["length of tombstones of 0"] = 200
