"""Tests of the pictures: `cd tools && python3 -m unittest pictures.tests`."""

import re
import unittest
import xml.etree.ElementTree
from pathlib import Path

from . import draw
from .document import Missing, number, printed_tables, row_of, section, tables
from .drawing import Axis, Picture

BENCHMARKS = (Path(__file__).resolve().parents[2] / "docs/benchmarks.md").read_text(encoding="utf-8")
DOCUMENT = """# Title

## First

Of 1,000 such texts:

| program | s |
| --- | ---: |
| one | 1.5 |
| two | 2,000 |

### Below

```text
8 fingerprints

code       bits  ratio
two words  3.5   0.5
```

## Second

| other |
| --- |
"""


class Tables(unittest.TestCase):
    def test_a_section_ends_at_the_next_heading_of_its_level(self):
        self.assertIn("### Below", section(DOCUMENT, "First"))
        self.assertNotIn("other", section(DOCUMENT, "First"))
        self.assertNotIn("program", section(DOCUMENT, "Below"))

    def test_a_table_has_rows_by_column_and_what_stands_before_it(self):
        [(before, rows)] = tables(DOCUMENT, "First", "program", "s")
        self.assertEqual(before.strip(), "Of 1,000 such texts:")
        self.assertEqual(number(row_of(rows, "program", "two")["s"]), 2000)

    def test_a_printed_table_has_rows_by_column_and_its_caption(self):
        [(caption, [row])] = printed_tables(DOCUMENT, "Below", "code", "bits")
        self.assertEqual((caption, row), ("8 fingerprints", {"code": "two words", "bits": "3.5", "ratio": "0.5"}))

    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(Missing, "no heading `Third`"):
            section(DOCUMENT, "Third")
        with self.assertRaisesRegex(Missing, "no table below `Second` has the columns `program`"):
            tables(DOCUMENT, "Second", "program")
        with self.assertRaisesRegex(Missing, "nothing printed below `First` has the columns `us`"):
            printed_tables(DOCUMENT, "First", "us")
        with self.assertRaisesRegex(Missing, "no row of the table with `program` starts with `three`"):
            row_of(tables(DOCUMENT, "First", "program")[0][1], "program", "three")
        with self.assertRaisesRegex(Missing, "a row with 1 cells, not 2: one"):
            tables(DOCUMENT.replace("| one | 1.5 |", "| one |"), "First", "program")
        with self.assertRaisesRegex(Missing, "`fast` is no number"):
            number("fast")


class Pictures(unittest.TestCase):
    def test_each_picture_needs_its_table(self):
        for words in ("| lmdb |", "uniform fingerprints, k = 3", "entropy bound  ", "found at .71, .75", "| datatrove",
                      "### Published costs", "| published |"):
            with self.assertRaises(Missing, msg=words):
                draw(BENCHMARKS.replace(words, "gone"))

    def test_a_picture_follows_its_table(self):
        changed = re.sub(r"\| lmdb \| [\d.]+ \|", "| lmdb | 4.00 |", BENCHMARKS, count=1)
        differ = [name for name, picture in draw(BENCHMARKS).items() if draw(changed)[name] != picture]
        self.assertEqual(differ, ["query-time.svg"])
        self.assertIn("LMDB 4<", draw(changed)["query-time.svg"])

    def test_points_are_where_the_axes_say(self):
        logarithmic = Axis("", 1, 100, [], is_log=True)
        self.assertEqual([logarithmic.share(value) for value in (1, 10, 100)], [0, 0.5, 1])
        picture = Picture("", "", Axis("", 0, 10, []), logarithmic, left=40, right=0)
        self.assertEqual(picture.at(0, 100), (40, 84))
        self.assertEqual(picture.at(10, 1), (640, 354))

    def test_a_figure_that_an_axis_does_not_reach_is_reported(self):
        with self.assertRaisesRegex(Missing, "the axis of `microseconds, median` does not reach 0.01"):
            draw(re.sub(r"\| lmdb \| [\d.]+ \|", "| lmdb | 0.01 |", BENCHMARKS, count=1))

    def test_no_point_or_label_is_outside(self):
        for name, picture in draw(BENCHMARKS).items():
            root = xml.etree.ElementTree.fromstring(picture)
            width, height = float(root.get("width")), float(root.get("height"))
            for element in root.iter():
                for axis, limit in (("x", width), ("cx", width), ("y", height), ("cy", height)):
                    self.assertLessEqual(0, float(element.get(axis, 0)), name)
                    self.assertLessEqual(float(element.get(axis, 0)), limit, name)


if __name__ == "__main__":
    unittest.main()
