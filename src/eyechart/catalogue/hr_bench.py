"""HR-Bench (Wang et al., 2024) in VLMEvalKit's way; InSight-o3's is in pipelines/insight_o3."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry
from eyechart.types import Card

for _side in ("4k", "8k"):
    Entry(
        f"hr-bench-{_side}-vlmevalkit",
        f"{_side.upper()} images, prompt and scoring of VLMEvalKit (`hr-bench-{_side}`: those of InSight-o3)",
        Card(
            "perception",
            "800 rows: 200 questions in four rotations",
            "https://arxiv.org/abs/2408.15556",
            "Apache-2.0",
        ),
        file=(f"HRBench{_side.upper()}", f"hr_bench_{_side}"),
        hub=f"DreamMr/HR-Bench:hr_bench_{_side}.parquet",
        also_hub=[f"DreamMr/HR-Bench:hrbench_version_split/hrbench_{_side}"],
        group_by=("category", "cycle_category"),
        metric="accuracy over all rotations",
    ).register()
