"""TreeBench (Wang et al., 2025) in VLMEvalKit's way; InSight-o3's is in pipelines/insight_o3."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import frame
from eyechart.types import Card

Entry(
    "treebench-vlmevalkit",
    "crowded images, prompt and scoring of VLMEvalKit (`treebench`: those of InSight-o3)",
    Card("perception", "405 questions", "https://arxiv.org/abs/2507.07999", "Apache-2.0"),
    file="TreeBench",
    hub="HaochenWang/TreeBench:TreeBench.tsv",
    prompt=frame("Answer with the correct option's letter directly. \n"),
    parity="VLMEvalKit, its reading of letters; the IoU of boxes in a chain of thought is not computed",
).register()
