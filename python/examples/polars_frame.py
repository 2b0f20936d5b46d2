"""Finds clusters of near-duplicates in a Polars DataFrame.

    pip install polars pyarrow
    python polars_frame.py
"""

from __future__ import annotations

import tempfile

import fpdb_engine as fpdb
import numpy as np
import polars as pl

pages = pl.DataFrame(
    {
        "url": ["https://a.example/", "https://b.example/", "https://c.example/"],
        "text": [
            "Insert the disc, close the tray, and wait for the green light.",
            "Insert the disc; close the tray and wait for the green light!",
            "Remove the battery cover and take out the old battery.",
        ],
    }
).with_row_index("id")

# The strings are read from the memory of the DataFrame, through Arrow.
values, has_one = fpdb.fingerprint_batch(pages["text"])
pages = pages.with_columns(pl.Series("fingerprint", values)).filter(pl.Series(has_one))

with (
    tempfile.TemporaryDirectory() as folder,
    fpdb.Db.create(f"{folder}/pages.fpdb", max_distance=3, durability="buffered") as db,
):
    db.bulk_load(pages["fingerprint"], pages["id"])
    found = db.clusters()

clusters = pl.DataFrame(
    {
        "id": pl.Series(found.ids.astype(np.uint32)),
        "cluster": np.repeat(found.ids[found.offsets[:-1]], np.diff(found.offsets)),
    }
)
pages = pages.join(clusters, "id", how="left", maintain_order="left")
# The document of each cluster that is kept has its own id as the number of the cluster.
kept = pages.filter(pl.col("cluster").is_null() | (pl.col("cluster") == pl.col("id")))
print(pages.select("url", "cluster").rows())
print(kept["url"].to_list())
