"""Steps for datatrove pipelines that remove near-duplicates.

One process: NearDuplicateFilter compares each document with all earlier ones, and remembers them for
the next run.

    pipeline = [
        JsonlReader("input"),
        NearDuplicateFilter("corpus.fpdb", exclusion_writer=JsonlWriter("duplicates")),
        JsonlWriter("output"),
    ]
    LocalPipelineExecutor(pipeline, tasks=1).run()

Many ranks: Fingerprints writes a file per rank, Clusters reads them all in one process and decides
what to remove, and datatrove's own MinhashDedupFilter removes that. Give the first and the last
pipeline the same reader and the same number of tasks, so that documents have the same positions.

    LocalPipelineExecutor([JsonlReader("input"), Fingerprints("fingerprints")], tasks=8).run()
    LocalPipelineExecutor([Clusters("fingerprints", "remove")], tasks=1).run()
    LocalPipelineExecutor(
        [JsonlReader("input"), MinhashDedupFilter("remove"), JsonlWriter("output")], tasks=8
    ).run()
"""

from __future__ import annotations

from ._clusters import Clusters
from ._filter import NearDuplicateFilter
from ._fingerprints import Fingerprints

__all__ = ["Clusters", "Fingerprints", "NearDuplicateFilter"]
