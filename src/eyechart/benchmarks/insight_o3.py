"""The six benchmarks of InSight-o3 and HR-Bench 8K, each declared once in a table.

Paper: https://arxiv.org/abs/2512.18745. The data lie below one folder, laid out as the authors' repository
lays them out (commit 21acec8). Parity: the scorer ``insight-o3``, tests/golden/insight_o3.jsonl; by default
replies are scored by our own rules, and by ``judged`` where there is a judge.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from eyechart.errors import DataError, UsageError
from eyechart.registry import BenchmarkFactory, benchmark
from eyechart.types import Benchmark, Source

# As the authors ask and score: pictures of at most 3500 x 3500 pixels, always encoded anew.
OFFICIAL = {
    "scorer": "insight-o3",
    "max_pixels": 3500 * 3500,
    "jpeg_quality": 75,
    "params": {"image_detail": "high", "max_completion_tokens": 16384},
    "judge_params": {"max_completion_tokens": 2048},
}


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """Where a benchmark lies below the data folder, and what it holds."""

    name: str
    annotations: str  # the file of questions
    images: str  # the folder that the paths in it start from
    rows: int
    hub: str  # where its data come from
    about: str
    is_rotated: bool = False  # every question four times, its options rotated

    @property
    def images_beside(self) -> str:
        """The folder of the images, seen from that of the file of questions."""
        return os.path.relpath(self.images or ".", Path(self.annotations).parent)


DATASETS = (
    Dataset(
        name="vstar",
        annotations="vstar_bench/vstar_bench.jsonl",
        images="vstar_bench",
        rows=191,
        hub="craigwu/vstar_bench",
        about="V*Bench: attributes and positions of small things in photographs; direct and relative",
    ),
    Dataset(
        name="hr-bench-4k",
        annotations="HR-Bench/hrbench_4k.jsonl",
        images="HR-Bench/images_4k",
        rows=800,
        hub="DreamMr/HR-Bench",
        about="HR-Bench 4K: 200 questions on 4K pictures, each in four rotations; single and cross",
        is_rotated=True,
    ),
    Dataset(
        name="hr-bench-8k",
        annotations="HR-Bench/hrbench_8k.jsonl",
        images="HR-Bench/images_8k",
        rows=800,
        hub="DreamMr/HR-Bench",
        about="HR-Bench 8K: the same on 8K pictures",
        is_rotated=True,
    ),
    Dataset(
        name="treebench",
        annotations="TreeBench/treebench.jsonl",
        images="TreeBench/images",
        rows=405,
        hub="HaochenWang/TreeBench",
        about="TreeBench: perception and reasoning on crowded pictures; ten groups",
    ),
    Dataset(
        name="visual-probe-hard",
        annotations="VisualProbe_Hard/visual_probe_hard.jsonl",
        images="",
        rows=106,
        hub="Mini-o3/VisualProbe_Hard",
        about="VisualProbe Hard: open questions on small things in large pictures",
    ),
    Dataset(
        name="mme-realworld-lite",
        annotations="MME-RealWorld-Lite/MME_RealWorld_Lite.jsonl",
        images="MME-RealWorld-Lite/imgs",
        rows=1919,
        hub="yifanzhang114/MME-RealWorld-Lite",
        about="MME-RealWorld-Lite: driving, monitoring, documents, diagrams, remote sensing",
    ),
    Dataset(
        name="o3-bench",
        annotations="O3-Bench/test/metadata.jsonl",
        images="O3-Bench/test",
        rows=345,
        hub="m-Just/O3-Bench",
        about="O3-Bench: several steps of looking and reasoning on large charts and maps",
    ),
)


def data_folder() -> Path:
    """Where data sets lie unless told otherwise: `$EYECHART_DATA`, or ``data`` in the current folder."""
    return Path(os.environ.get("EYECHART_DATA") or "data").expanduser()


def _factory(dataset: Dataset) -> BenchmarkFactory:
    def declare(
        file: Path | None = None,
        root: Path | None = None,
        image_root: Path | None = None,
        think: bool = False,
    ) -> Benchmark:
        """`file` and `image_root` stand in for the places below `root`; `think` asks for tags."""
        from eyechart.data.lazy import LazySource
        from eyechart.prompt.insight_o3 import insight_o3_prompt, think_prompt

        if file and image_root and root:
            raise UsageError(
                f"{dataset.name}: --set root={root} has no effect beside a file and its image_root",
                hint="leave out --set root",
            )
        folder = (root or data_folder()).expanduser()
        path = _annotations(dataset, file.expanduser()) if file else folder / dataset.annotations
        given = {"file": file, "root": root, "image_root": image_root}
        # A file of one's own has its images beside it, or where those of the published one lie.
        beside = (path.parent, path.parent / dataset.images_beside) if file else ()
        roots = (image_root.expanduser(),) if image_root else (*beside, folder / dataset.images)
        return Benchmark(
            name=dataset.name,
            source=LazySource(
                dataset.name,
                str(path.absolute()),
                lambda: _opened(dataset, path, roots, is_own=file is not None),
            ),
            prompt=think_prompt if think else insight_o3_prompt,
            scorer="default",
            judged_scorer="judged",
            group_by=("category",),
            circular="beside" if dataset.is_rotated else "",
            official=OFFICIAL,
            prompt_settings=("think",),
            files="insight-o3",
            settings={name: str(place) for name, place in given.items() if place} | {"think": think},
            about=f"{dataset.about}; {dataset.rows} rows",
        )

    return benchmark(dataset.name, layout=dataset.annotations)(declare)


def _annotations(dataset: Dataset, given: Path) -> Path:
    """The file of questions: the one that is given, or that of a folder of the published layout."""
    if not given.is_dir():
        return given
    parts = Path(dataset.annotations).parts
    published = (given.joinpath(*parts[n:]) for n in range(len(parts)))
    found = next((path for path in published if path.is_file()), None)
    if found is None:
        from eyechart.data.formats import find_file

        with contextlib.suppress(DataError):  # which is raised again when the questions are wanted
            found = find_file(given).path
    return found or given


def _opened(dataset: Dataset, path: Path, roots: tuple[Path, ...], *, is_own: bool) -> Source:
    from eyechart.data.insight_o3 import AnnotationSource

    if path.is_dir():
        from eyechart.data.formats import find_file

        path = find_file(path).path  # says what the folder holds instead
    if not path.is_file():
        hint = (
            f"download {dataset.hub} from the hub and run eyechart data convert {dataset.name}; "
            "$EYECHART_DATA or --set root=DIR names the data folder, --set file=FILE the file itself"
        )
        raise DataError(
            f"{dataset.name}: there is no file of questions at {path}",
            hint="give the path of a JSON Lines file" if is_own else hint,
        )
    return AnnotationSource(name=dataset.name, path=path, image_roots=roots, is_rotated=dataset.is_rotated)


BENCHMARKS = {dataset.name: _factory(dataset) for dataset in DATASETS}
