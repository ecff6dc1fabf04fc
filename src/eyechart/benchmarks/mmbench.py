"""MMBench (Liu et al., 2023) and CCBench: multiple choice, right only if every rotation is.

Paper: https://arxiv.org/abs/2307.06281. The TSV files are those of VLMEvalKit, in ``$LMUData`` or
``~/LMUData`` under their published names, or anywhere with `file`. Parity: VLMEvalKit e8e78f05,
tests/golden/circular.jsonl, mcq_infer.jsonl and report_acc.jsonl. Test splits have no public answers:
their replies go into the file to upload.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from eyechart.errors import DataError
from eyechart.registry import BenchmarkFactory, benchmark
from eyechart.types import Benchmark, Source

# Our name to that of the published file, and what it holds.
SETS: Mapping[str, tuple[str, str]] = {
    "mmbench-dev-en": ("MMBench_DEV_EN", "dev, English: 1,164 questions, 4,329 rows with rotations"),
    "mmbench-dev-cn": ("MMBench_DEV_CN", "dev, Chinese: 1,164 questions, 4,329 rows with rotations"),
    "mmbench-test-en": ("MMBench_TEST_EN", "test, English: 1,784 questions, answers not public"),
    "mmbench-test-cn": ("MMBench_TEST_CN", "test, Chinese: 1,784 questions, answers not public"),
    "mmbench-dev-en-v11": ("MMBench_DEV_EN_V11", "v1.1 dev, English"),
    "mmbench-dev-cn-v11": ("MMBench_DEV_CN_V11", "v1.1 dev, Chinese"),
    "mmbench-test-en-v11": ("MMBench_TEST_EN_V11", "v1.1 test, English, answers not public"),
    "mmbench-test-cn-v11": ("MMBench_TEST_CN_V11", "v1.1 test, Chinese, answers not public"),
    "ccbench": ("CCBench", "Chinese culture: 510 questions, 2,040 rows with rotations"),
}
_ANY = "a file of MMBench's form, given with --as mmbench or file="


def _declare(name: str, published: str, about: str) -> BenchmarkFactory:
    @benchmark(name, file=published)
    def declared(
        *,
        file: Path | None = None,
        prompt: Literal["vlmevalkit", "note"] = "vlmevalkit",
        cells: Literal["text", "pandas"] | None = None,
    ) -> Benchmark:
        """Return the set; `cells` are read as the official loader reads them unless asked otherwise."""
        from eyechart.data.formats import origin_of
        from eyechart.data.lazy import LazySource
        from eyechart.data.mmbench import open_mmbench
        from eyechart.prompt.mmbench import mmbench_prompt

        def opened() -> Source:
            if not (file or published):
                raise DataError(f"{name} is read from a file of yours", hint="eyechart run FILE --as mmbench")
            try:
                return open_mmbench(file or published, cells)
            except DataError as err:
                if file or "no file of that name" not in err.message:
                    raise
                hint = f"put {published}.tsv into $LMUData or ~/LMUData, or name it with --set file=FILE"
                raise DataError(f"{name}: {err.message}", hint=hint) from err

        return Benchmark(
            name=name,
            source=LazySource(name, origin_of(file) if file else published or "a file of yours", opened),
            prompt=mmbench_prompt(prompt),
            scorer="choice-vlmevalkit",
            judged_scorer="choice-vlmevalkit",
            circular="headline",
            files="mmbench",
            needs_images=True,
            read_questions=None if file or published else _read_questions,
            settings={"file": str(file) if file else None, "prompt": prompt, "cells": cells or "pandas"},
            prompt_settings=("prompt",),
            about=about,
        )

    return declared


def _read_questions(replies: Path) -> Source:
    """The questions that VLMEvalKit copies beside its predictions."""
    from eyechart.data.mmbench import MMBenchSource
    from eyechart.data.replies import questions_of

    return MMBenchSource(questions_of(replies))


for _name, (_published, _about) in SETS.items():
    _declare(_name, _published, _about)
mmbench = _declare("mmbench", "", _ANY)
