"""Removes near-duplicates with several datatrove tasks.

    pip install datatrove orjson regex tokenizers
    python datatrove_ranks.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup.minhash import MinhashDedupFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from fpdb_engine.datatrove import Clusters, Fingerprints

TEXTS = [
    ["Insert the disc, close the tray, and wait for the green light.", "Too short."],
    [
        "Remove the battery cover and take out the old battery.",
        "Insert the disc; close the tray and wait for the green light!",
    ],
]


def run(tasks: int, *steps: Any) -> None:
    # skip_completed=False, so that the example can be repeated.
    LocalPipelineExecutor(
        list(steps), tasks=tasks, workers=1, logging_dir="logs", skip_completed=False
    ).run()


def main() -> None:
    Path("input").mkdir(exist_ok=True)
    for number, texts in enumerate(TEXTS):
        lines = [json.dumps({"id": f"{number}-{i}", "text": text}) for i, text in enumerate(texts)]
        Path(f"input/{number}.jsonl").write_text("\n".join(lines) + "\n")
    # The first and the last pipeline have the same reader and number of tasks.
    run(2, JsonlReader("input"), Fingerprints("fingerprints"))
    run(1, Clusters("fingerprints", "remove", similarity=0.8))
    run(
        2,
        JsonlReader("input"),
        MinhashDedupFilter("remove"),
        JsonlWriter("output", "${rank}.jsonl", compression=None),
    )
    for path in sorted(Path("output").iterdir()):
        print(path.name, [json.loads(line)["id"] for line in path.read_text().splitlines()])


if __name__ == "__main__":
    main()
