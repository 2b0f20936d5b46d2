"""Drops the near-duplicates of a pandas DataFrame, also across runs.

    pip install pandas
    python pandas_frame.py
"""

from __future__ import annotations

import fpdb_engine as fpdb
import pandas as pd

pages = pd.DataFrame(
    {
        "url": ["https://a.example/", "https://b.example/", "https://c.example/", "https://d.example/"],
        "text": [
            "Insert the disc, close the tray, and wait for the green light.",
            "Insert the disc; close the tray and wait for the green light!",
            "Remove the battery cover and take out the old battery.",
            "Too short.",
        ],
    }
)

# A column of uint64. A text that is too short has no fingerprint.
pages["fingerprint"], has_one = fpdb.fingerprint_batch(pages["text"])
pages = pages[has_one]

# Only the first of near-duplicates is inserted. The next run finds it in the folder.
with fpdb.Db.open_or_create("pandas.fpdb", ids="names", max_distance=3, recipe="default") as db:
    result = db.write(pages["fingerprint"], names=pages["url"], unless_near=3)
    pages["distance"] = result.distances
    pages["like"] = db.names(result.ids)

print(pages.loc[result.novel, "url"].to_list())
print(pages.loc[~result.novel, ["url", "like", "distance"]].to_dict("records"))
