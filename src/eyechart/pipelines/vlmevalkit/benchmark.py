"""MMBench (Liu et al., 2023) and CCBench: multiple choice, correct only if every rotation is.

Paper: https://arxiv.org/abs/2307.06281. The TSV files are those of VLMEvalKit, in ``$LMUData`` or
``~/LMUData`` under their published names, or anywhere with `file`. Parity: VLMEvalKit e8e78f05,
tests/golden/circular.jsonl, rotations.jsonl, mcq_infer.jsonl and report_acc.jsonl. MMBench's evaluation
server closed on 31 March 2026; the files of the test splits of v1.1 have had answers since June 2026. A file
without answers is asked and not scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from eyechart.circular import rotate_sample
from eyechart.data.columns.answers import ROTATION_OFFSET
from eyechart.data.files.formats import UnknownFile, find_file, guess_format, resolve_origin
from eyechart.data.files.replies import open_questions
from eyechart.data.samples import ChangedSource, FileSource, LazySource
from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import DataError
from eyechart.prompt.default import build_custom_prompt
from eyechart.registry import BenchmarkFactory, benchmark
from eyechart.types import Benchmark, Card, Message, Prompt, Sample, Source

# Name of the benchmark to name and content of the published file.
SETS: Mapping[str, tuple[str, str]] = {
    "mmbench-dev-en": ("MMBench_DEV_EN", "dev, English: 1,164 questions, 4,329 rows with rotations"),
    "mmbench-dev-cn": ("MMBench_DEV_CN", "dev, Chinese: 1,164 questions, 4,329 rows with rotations"),
    "mmbench-test-en": ("MMBench_TEST_EN", "test, English: 1,784 questions, scored if the file has answers"),
    "mmbench-test-cn": ("MMBench_TEST_CN", "test, Chinese: 1,784 questions, scored if the file has answers"),
    "mmbench-dev-en-v11": ("MMBench_DEV_EN_V11", "v1.1 dev, English"),
    "mmbench-dev-cn-v11": ("MMBench_DEV_CN_V11", "v1.1 dev, Chinese"),
    "mmbench-test-en-v11": ("MMBench_TEST_EN_V11", "v1.1 test, English, with answers since June 2026"),
    "mmbench-test-cn-v11": ("MMBench_TEST_CN_V11", "v1.1 test, Chinese, with answers since June 2026"),
    "ccbench": ("CCBench", "Chinese culture: 510 questions, 2,040 rows with rotations"),
}
# Names under which the same sets were published before.
EARLIER: Mapping[str, tuple[str, ...]] = {
    "mmbench-dev-en": ("MMBench_DEV_EN_legacy", "mmbench_dev_en_20231003", "mmbench_dev_20230712"),
    "mmbench-dev-cn": ("MMBench_DEV_CN_legacy", "mmbench_dev_cn_20231003"),
    "mmbench-test-en": ("MMBench_TEST_EN_legacy", "mmbench_test_en_20231003", "mmbench_test_20230712"),
    "mmbench-test-cn": ("MMBench_TEST_CN_legacy", "mmbench_test_cn_20231003"),
    "ccbench": ("CCBench_legacy", "ccbench_20231003"),
}
# Other published files in the same format: `mmbench` reads them.
RELATED = (
    "MMBench", "MMBench_CN", "MMBench_V11", "MMBench_CN_V11", "MMBench_V11_MINI", "MMBench_DEV_KO",
    *(f"MMBench_dev_{language}" for language in ("ar", "cn", "en", "pt", "ru", "tr")),
)  # fmt: skip
_PAPER = "https://arxiv.org/abs/2307.06281"
_ANY = "a file in MMBench's format, given with --as mmbench or file="
_WHICH = "eyechart run FILE --as mmbench, or a published set by its name: eyechart data list mmbench"
_SITE = "https://opencompass.openxlab.space/utils/benchmarks/MMBench/"
_NO_ANSWERS = (
    "the file has no answers, so nothing will be scored; the files of MMBench's test splits (V11) have had "
    "them since June 2026, and its evaluation server closed on 31 March 2026"
)


_IN_LMMS_EVAL = {
    "ccbench": "mmbench_cn_cc", "mmbench-dev-cn": "mmbench_cn_dev", "mmbench-dev-en": "mmbench_en_dev",
    "mmbench-test-cn": "mmbench_cn_test", "mmbench-test-en": "mmbench_en_test",
}  # fmt: skip


def _declare(name: str, published: str, about: str, others: tuple[str, ...] = ()) -> BenchmarkFactory:
    @benchmark(name, file=(published, *others), aliases=[*filter(None, [_IN_LMMS_EVAL.get(name)])])
    def declared(
        *,
        file: Path | None = None,
        prompt: Literal["vlmevalkit", "note"] = "vlmevalkit",
        cells: Literal["text", "pandas"] | None = None,
    ) -> Benchmark:
        """Return the set. By default `cells` are read like the official loader, pandas, reads them."""

        def opened() -> Source:
            if not (file or published):
                here = sorted(path.name for path in Path().glob("MMBench*.tsv"))
                hint = (
                    f"{' or '.join(f'eyechart run {one}' for one in here[:2])}; {_WHICH}" if here else _WHICH
                )
                raise DataError(f"{name} needs a file", hint=hint)
            if file:
                return open_mmbench(file, cells)
            for one in (published, *others):
                with suppress(UnknownFile):
                    return open_mmbench(one, cells)
            hint = f"eyechart data get {name} says how to get it; --set file=FILE gives another file"
            what = f"{published}.tsv is not in $LMUData, ~/LMUData or the current folder"
            raise DataError(f"{name}: {what}", hint=hint)

        return Benchmark(
            name=name,
            source=LazySource(name, resolve_origin(file) if file else published or "a file", opened),
            prompt=PROMPTS[prompt],
            scorer="choice-vlmevalkit",
            judged_scorer="choice-vlmevalkit",
            circular="headline",
            files="mmbench",
            needs_images=True,
            read_questions=None if file or published else _read_questions,
            settings={"file": str(file) if file else None, "prompt": prompt, "cells": cells or "pandas"},
            prompt_settings=("prompt",),
            about=about,
            card=Card(
                group="mmbench",
                file=published,
                url=f"{_SITE}{published}.tsv" if published.startswith("MMBench") else "",
                paper=_PAPER,
                metric="CircularEval",
                parity="VLMEvalKit",
            ),
        )

    return declared


def _read_questions(replies: Path) -> Source:
    """The questions that VLMEvalKit copies into its files of predictions."""
    file = open_questions(replies)
    official = replace(file, detection=replace(file.detection, keeps_golds=True))
    return ChangedSource(MMBenchSource(official), _add_missing_rotations)


def _add_missing_rotations(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The rows of a file of predictions, and the rows of its questions that it lacks: they have no reply.

    A question with a single row was asked once, unless the file has a part of the rotations of another.
    """
    circles: dict[str, list[Sample]] = {}
    for sample in samples:
        question = find_question(sample)
        if not sample.weight and question is not None:  # the row of the question itself is missing
            sample = replace(sample, circle=str(question), weight=1.0)
        yield sample
        if sample.circle:
            circles.setdefault(sample.circle, []).append(sample)
    missing: list[Sample] = []
    is_partial = False
    for circle, rows in circles.items():
        question_row = next((row for row in rows if row.id == circle), None)
        if question_row is None:
            lacking = [replace(rows[0], id=circle)]
        else:
            known = [row.choices for row in rows]
            turns = rotate_sample(question_row, is_exact=True)
            lacking = [turn for turn in turns if turn.choices not in known]
        missing += lacking
        is_partial |= bool(lacking) and (len(rows) > 1 or question_row is None)
    if is_partial:
        yield from missing


def open_mmbench(spec: str | Path, cells: Literal["text", "pandas"] | None = None) -> Source:
    """Open a file in MMBench's format: a path, or a name in `$LMUData`.

    By default the cells of tables are read like the official loader, pandas, reads them.
    """
    found = find_file(spec)
    is_table = guess_format(found.path)[0] in ("tsv", "csv")  # pandas' rules apply to tables only
    reading = SourceOptions(cells=cells or ("pandas" if is_table else "text"), is_official=True)
    file = open_source(found.path, reading)
    columns = file.detection.columns
    if not file.detection.letters and not file.detection.fields.get("options"):
        missing = next((letter for letter in "AB" if letter not in columns), "A")
        raise DataError(
            f"{found.path.name}: no column {missing!r} (found: {', '.join(columns)})",
            hint="MMBench's options are in columns A, B, ...; leave out --as to read a custom file",
        )
    return MMBenchSource(file)


@dataclass(frozen=True, slots=True)
class MMBenchSource:
    """The rows of a file that holds every rotation of a question, each with its circle (`mark_circle`).

    Rows without an image are left out, as by the official loader.
    """

    file: FileSource = field(repr=False)
    _left_out: list[int] = field(default_factory=list, repr=False, compare=False)  # rows
    _golds: set[bool] = field(default_factory=set, repr=False, compare=False)  # whether rows have answers

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on rows that were left out and on missing answers, once the rows were read."""
        remarks = [_NO_ANSWERS] if self._golds == {False} else []
        if self._left_out:
            n, first = len(self._left_out), self._left_out[0]
            remarks.append(
                f"rows without an image, left out as by the official loader: {n}; first: row {first}"
            )
        return tuple(remarks)

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def origin(self) -> str:
        return self.file.origin

    def __iter__(self) -> Iterator[Sample]:
        seen: set[int] = set()
        all_indices: set[int] | None = None  # read ahead only if a rotation stands above its question
        for sample in self._with_images():
            index = read_index(sample.id)
            question = None if index is None else find_question(sample)
            if index is None or question is None:
                yield sample
                continue
            seen.add(index)
            if question not in seen and all_indices is None:
                all_indices = {i for one in self._with_images() if (i := read_index(one.id)) is not None}
            yield mark_circle(sample, question, is_known=question in seen or question in (all_indices or ()))

    def _with_images(self) -> Iterator[Sample]:
        has_images = bool(self.file.detection.fields.get("image"))
        self._left_out.clear()
        self._golds.clear()
        for sample in self.file:
            if sample.images or not has_images:
                self._golds.add(bool(sample.golds))
                yield sample
            else:
                self._left_out.append(sample.row)


def find_question(sample: Sample) -> int | None:
    """The index of the question that a row is a rotation of; None if the row has no number.

    Rows of one question share the column `g_index`, or else the remainder of their index by 1,000,000.
    """
    group, index = read_index(sample.meta.get("g_index")), read_index(sample.id)
    return group if group is not None or index is None else index % ROTATION_OFFSET


def mark_circle(sample: Sample, question: int, *, is_known: bool) -> Sample:
    """The row with the circle of its question.

    The row whose index is that of the question is the question itself. The official code does not score
    rotations without it (`is_known` is false), so they have no weight.
    """
    return replace(sample, circle=str(question)) if is_known else replace(sample, weight=0.0)


def read_index(value: object) -> int | None:
    """An index as a number, also as pandas writes it in a column with gaps; None if it is not one.

    >>> read_index("1000007"), read_index("7.0"), read_index("q7"), read_index(None)
    (1000007, 7, None, None)
    """
    text = str(value).removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


# -- Prompts: published numbers use different ones, so the run records which one it uses


def build_vlmevalkit_prompt(sample: Sample) -> list[Message]:
    r"""One user turn in VLMEvalKit's frame, which labels the question even without options.

    >>> [message] = build_vlmevalkit_prompt(Sample(id="1", question="Which?", hint="At sea."))
    >>> message.text
    'Hint: At sea.\nQuestion: Which?\n'
    """
    if sample.choices or sample.choices_text:
        return build_custom_prompt(sample)
    hint = f"Hint: {sample.hint}\n" if sample.hint else ""
    return [Message("user", (*sample.images, f"{hint}Question: {sample.question}\n"))]


def build_note_prompt(sample: Sample) -> list[Message]:
    r"""One user turn: the images, then context, question and options without labels.

    As in the note's code, options beyond E are not shown, and the lead is there without any option.

    >>> [message] = build_note_prompt(
    ...     Sample(id="1", question="Which?", hint="At sea.", choices={"A": "cat", "B": "dog"})
    ... )
    >>> message.text
    'At sea. Which? There are several options:\nA. cat\nB. dog\n'
    """
    options = "".join(f"{letter}. {text}\n" for letter, text in sample.choices.items() if letter in "ABCDE")
    context = f"{sample.hint} " if sample.hint else ""
    text = f"{context}{sample.question} There are several options:\n{options}"
    return [Message("user", (*sample.images, text))]


PROMPTS: Mapping[str, Prompt] = {"vlmevalkit": build_vlmevalkit_prompt, "note": build_note_prompt}
for _name, (_published, _about) in SETS.items():
    _declare(_name, _published, _about, EARLIER.get(_name, ()))
mmbench = _declare("mmbench", "", _ANY, RELATED)
