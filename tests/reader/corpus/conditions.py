"""The conditions that the section Validity of storage-format.md lists."""

import re
from pathlib import Path

from . import documents, files, bands, logs, manifests, matches, names, postings, segments, tables
from .case import DEEP, FULL

__all__ = ["documents", "files", "bands", "logs", "manifests", "matches", "names", "postings", "segments", "tables"]

DOCUMENT = Path(__file__).parents[3] / "storage-format.md"

# Why there is no case.
WITHOUT_CASE = {
    "3.4": "the page sums would be in the file header, and would have to be its bytes at the same time",
    "10.3": "the blocks would take 512 GiB",
    "10.6": "the filter would take 32 GiB",
    "19.20": "the log would take 4 GiB",
}

# Why a case finds what is to be found by use only by verification.
NOT_USED = {
    "21.6": "only the query with this key reads the row",
}


def listed():
    """All numbers, and whether only verification needs to find what they stand for."""
    text = DOCUMENT.read_text(encoding="utf-8")
    section = text[text.index("\n## Validity\n"):text.index("\n## What damage costs\n")]
    found = re.findall(r"^- (\d+\.\d+) (.*?)$", section, re.M)
    assert len({number for number, _ in found}) == len(found), "a number occurs twice"
    return {number: "*(verify)*" in text for number, text in found}


def check_complete(conditions, cases):
    """Every condition must have a case, or a reason why there is none."""
    covered = {case.condition for case in cases}
    assert covered <= set(conditions), f"not in the document: {covered - set(conditions)}"
    missing = set(conditions) - covered - set(WITHOUT_CASE)
    assert not missing, f"conditions without a case: {sorted(missing)}"
    assert not covered & set(WITHOUT_CASE), f"with a case in spite of a reason: {covered & set(WITHOUT_CASE)}"
    for case in cases:
        assert case.found not in (FULL, DEEP) or conditions[case.condition] or case.condition in NOT_USED, (
            f"the document says that {case.condition} is found without verification")
