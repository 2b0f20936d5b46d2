"""Removes the near-duplicates of a Hugging Face dataset.

    pip install datasets
    python huggingface_dataset.py
"""

from __future__ import annotations

import tempfile

import datasets
import fpdb_engine as fpdb
import numpy as np
import pyarrow as pa

pages = datasets.Dataset.from_dict(
    {
        "text": [
            "Insert the disc, close the tray, and wait for the green light.",
            "Insert the disc; close the tray and wait for the green light!",
            "Remove the battery cover and take out the old battery.",
            "Too short.",
        ]
    }
)


def fingerprints(batch: pa.Table) -> pa.Table:
    """Adds a column of fingerprints, which are missing where a text is too short."""
    values, has_one = fpdb.fingerprint_batch(batch["text"])
    return batch.append_column("fingerprint", pa.array(values, mask=~has_one))


# The function has the Arrow memory of the dataset. num_proc=8 uses eight processes.
pages = pages.with_format("arrow").map(fingerprints, batched=True)

duplicates = []
with (
    tempfile.TemporaryDirectory() as folder,
    fpdb.Db.create(f"{folder}/pages.fpdb", max_distance=3, durability="buffered") as db,
):
    begin = 0
    for batch in pages.iter(batch_size=100_000):
        column = batch["fingerprint"].combine_chunks()
        rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        result = db.write(column.drop_null().to_numpy(), begin + rows, unless_near=3)
        duplicates.append(begin + rows[~result.novel])
        begin += len(batch)

kept = np.setdiff1d(np.arange(len(pages)), np.concatenate(duplicates))
pages = pages.with_format(None).select(kept)
print(pages["text"][:])
