"""MULTI's samples: from problem file, knowledge (MULTI-Extend), hard list (MULTI-Elite) and captions.

https://github.com/OpenDFM/MULTI-Benchmark. A sample is one question of a problem; its id is the problem's id
and the question's position. Its text has numbered images and captions (`MultiSource.prepare`). It holds
images only at input type 2: the question's first, then those of the knowledge. `read_replies` reads a
prediction.json as replies to these samples.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyechart.data.files.json_files import read_bytes, translate_json_errors
from eyechart.data.images.substitutes import IMAGE_PATHS, read_caption_lines
from eyechart.data.samples import MemorySource
from eyechart.errors import DataError, UsageError, join_names
from eyechart.pipelines.multi import files
from eyechart.pipelines.multi.arguments import MultiOptions, Numbering
from eyechart.pipelines.multi.score import KINDS, count_points
from eyechart.types import Replies, Reply, Sample

_WHOLE_NAME = "shjk"  # ids of the driving test, whose `knowledge` may be a text instead of a list
_MOST_DIGITS = 6  # of an image's number; a longer one exceeds any list
_SHOWN_SUBJECTS = 30  # more than the benchmark has


@dataclass(frozen=True, slots=True)
class MultiSource:
    """The selected questions as samples."""

    name: str
    options: MultiOptions
    questions: tuple[ProblemQuestion, ...] = field(repr=False)
    knowledge: Mapping[str, files.Knowledge] = field(repr=False)
    captions: Mapping[str, str] | None = field(repr=False)  # by path; None: no captions
    is_system_empty: bool = False  # the prompt has a separate text before the question, and it is empty
    remarks: tuple[str, ...] = ()  # what can change the score: questions left out, images that no text shows

    @property
    def origin(self) -> str:
        return str(self.options.problems)

    def __iter__(self) -> Iterator[Sample]:
        to_ref = files.ImagePaths(self.options.problems.parent, self.options.find("image_root")).to_ref
        has_images = self.options.input_type == 2
        for question in self.questions:
            placed, background = self.prepare(question)
            images = (*placed.images, *(background.images if background else ()))
            more: dict[str, Any] = {"input_type": self.options.input_type}
            if has_images and images:
                more[IMAGE_PATHS] = list(images)
            if background is not None:
                more["knowledge_content"] = background.text
                more["knowledge_image_number"] = len(background.images)
            if self.is_system_empty:
                more[files.SYSTEM_TEXT] = ""
            sample = question.to_sample(placed.text, len(placed.images), more)
            yield replace(sample, images=tuple(map(to_ref, images))) if has_images else sample

    def prepare(self, question: ProblemQuestion) -> tuple[PlacedText, PlacedText | None]:
        """A question and its knowledge, if there is any, with numbered images and captions."""
        problem, file = question.problem, self.options.problems.name
        placed = self._place(
            question.text, problem.img_paths or [], f"{file}: question {question.id!r}", "img_paths"
        )
        # As published: a missing piece is not an error, and of a text its first character is looked up.
        known_as = (problem.knowledge or [""])[0]
        if (piece := self.knowledge.get(known_as)) is None:
            return placed, None
        where = f"{Path(self.options.knowledge_file).name}: knowledge {known_as!r}"
        text = files.rewrite_marks(piece.knowledge_content)
        return placed, self._place(text, piece.knowledge_images, where, "knowledge_images")

    def _place(self, text: str, paths: Sequence[str], where: str, field: str) -> PlacedText:
        check_marks(text, paths, where=where, field=field)
        said = self.options
        return place_images(
            text, paths, self.captions, in_content=said.cap_in_cnt, numbering=said.renumbering
        )


def pick_knowledge_name(knowledge: Sequence[str] | str, problem_id: str) -> str:
    """The knowledge point in the prompt: the first entry.

    As published, if the file holds a text instead of a list: its first character. In the driving test a first
    entry of one character stands for such a text, and everything is written: the text, or the list.

    >>> pick_knowledge_name(["圆", "切线"], "czsx_0"), pick_knowledge_name([], "czsx_0")
    ('圆', '')
    >>> pick_knowledge_name("交通标志", "shjk_3"), pick_knowledge_name("交通标志", "czsx_3")
    ('交通标志', '交')
    >>> pick_knowledge_name(["圆"], "shjk_3")
    "['圆']"
    """
    first = knowledge[0] if knowledge else ""
    return str(knowledge) if len(first) == 1 and problem_id.startswith(_WHOLE_NAME) else first


def open_multi(options: MultiOptions) -> MultiSource:
    """Read the files, select the questions, and refuse what does not match."""
    root, listed, captioned, known_from = map(
        options.find, ("image_root", "subset", "caption_file", "knowledge_file")
    )
    if root is not None and not root.is_dir():
        raise DataError(f"image_root: no folder {root}", hint="check the path")
    file = options.problems
    problems = files.read_problems(file)
    questions = list_questions(problems)
    remarks: list[str] = []
    subset = None
    if listed is not None:
        hint = 'a JSON list such as ["czsx_0_0", "czsx_0_1"]'
        with translate_json_errors(f"{listed.name}: not a list of question ids", hint=hint):
            names = msgspec.json.decode(read_bytes(listed), type=list[str])
        subset = frozenset(names)
        try:
            refuse_unknown_ids(names, {question.id for question in questions}, file=listed.name, of=file.name)
        except DataError as err:
            if not options.allow_unknown_ids:
                raise
            remarks.append(f"{err.message}; ignored, as published")
    choice = select_questions(questions, options, subset)
    if questions and not choice.asked:
        refuse_empty_choice(choice, options, file=file.name)
    captions = None
    if options.input_type == 1 and captioned:
        captions = read_caption_lines(read_bytes(captioned), captioned.name)
    knowledge = {}
    if known_from:
        pieces = files.read_rows(known_from, "knowledge", "knowledge", missing="name in 'knowledge'")
        for name, row in pieces:
            where = f"{known_from.name}: knowledge {name!r}"
            knowledge[name] = files.convert_row(row, files.Knowledge, where)
    source = MultiSource("multi", options, choice.asked, knowledge, captions)
    remarks += [choice.remark(options), *_list_remarks(source, problems)]
    return replace(source, remarks=tuple(filter(None, remarks)))


def _list_remarks(source: MultiSource, problems: Mapping[str, files.Problem]) -> Iterator[str]:
    """What in the files can change the score; `DataError` for what is not allowed."""
    options, knowledge, captions = source.options, source.knowledge, source.captions
    known_from, captioned = options.find("knowledge_file"), options.find("caption_file")
    if known_from and not any((one.problem.knowledge or [""])[0] in knowledge for one in source.questions):
        yield f"{known_from.name}: it has no knowledge for any of the questions"
    shown: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        name: ([one.problem_content or "", *(one.problem_content_list or ())], one.img_paths or [])
        for name, one in problems.items()
    }
    yield from _marks_remarks(shown, options.problems, "img_paths", must_show=options.input_type > 0)
    if known_from:
        shown = {name: ([one.knowledge_content], one.knowledge_images) for name, one in knowledge.items()}
        yield from _marks_remarks(shown, known_from, "knowledge_images", must_show=False)
    educations = {name: one.education or "" for name, one in problems.items()}
    if levels := files.describe_unknown_educations(educations, "problems"):
        yield f"{options.problems.name}: {levels}"
    if captioned is None or captions is None:
        return
    texts = filter(None, chain.from_iterable(map(source.prepare, source.questions)))
    in_use = dict.fromkeys(image for text in texts for image in text.images)
    if missing := [image for image in in_use if image not in captions]:
        images = f"{len(missing)} image{'s' * (len(missing) != 1)}"
        what = f"{captioned.name}: no line for {images} that the questions show"
        if not options.allow_missing_captions:
            raise DataError(
                f"{what}: {join_names(missing)}",
                hint="write paths as in the problem file (eyechart data caption writes such a file); "
                "allow_missing_captions=true gives those images empty captions",
            )
        yield f"{what}, e.g. {missing[0]}; their captions are empty, as published"


def _marks_remarks(
    entries: Mapping[str, tuple[Sequence[str], Sequence[str]]], file: Path, field: str, *, must_show: bool
) -> Iterator[str]:
    """Remarks on entries (texts and images) with older marks, and on those without marks."""
    if old := [name for name, (texts, _) in entries.items() if any(map(files.OLD_MARK.search, texts))]:
        yield f"{file.name}: <img_n> is read as [IMAGE_n], in {len(old)} of {len(entries)} entries"
    unmarked = {
        name: left
        for name, (texts, images) in entries.items()
        if (left := files.find_unshown_images(texts, images))
    }
    if not unmarked:
        return
    n_all, n_left = sum(len(images) for _, images in entries.values()), sum(map(len, unmarked.values()))
    first, images = next(iter(unmarked.items()))
    what = (
        f"{file.name}: {field}: {n_left} of {n_all} image{'s' * (n_all != 1)} not shown, because "
        f"no text has [IMAGE_n] for {'them' if n_left > 1 else 'it'}, e.g. {images[0]} of {first!r}"
    )
    if must_show and n_left == n_all:
        raise DataError(
            what,
            hint="write [IMAGE_1] where a problem's first image belongs; input_type 0 asks without images",
        )
    yield what


# -- Which questions are asked
#
# By a list of ids, type, subject and number of images. All combine, as the authors' guide says; in their
# program a list of ids overrides types and subject. The order is the problem file's, or a seeded shuffle.


@dataclass(frozen=True, slots=True)
class ProblemQuestion:
    """One question of a problem."""

    problem: files.Problem
    index: int
    row: int  # of the problem in the file, from 1

    @property
    def id(self) -> str:
        return f"{self.problem.problem_id}_{self.index}"

    @property
    def type(self) -> str:
        return self.problem.problem_type_list[self.index]

    @property
    def text(self) -> str:
        """Stem and question; as published, with a line break even if one is empty."""
        stem, questions = self.problem.problem_content, self.problem.problem_content_list or ()
        return files.rewrite_marks(f"{stem or ''}\n{questions[self.index]}")

    @property
    def image_type(self) -> int:
        """No image, one, or more; several marks may show the same image."""
        return min(len(files.MARK.findall(self.text)), 2)

    @property
    def subject(self) -> str:
        return self.problem.problem_id.partition("_")[0]

    def to_sample(self, text: str, n_images: int, more: Mapping[str, Any]) -> Sample:
        """The question as a sample without images; `more` is added to its meta."""
        problem = self.problem
        education, subject = problem.education or "", files.take_first(problem.subject)
        golds = tuple(self.find_own("problem_answer_list"))
        meta = {
            "question_type": KINDS[self.type],
            "type_name": self.type,
            "education": education,
            "subject": subject,
            "level": files.find_level(education, subject),
            "problem_id": problem.problem_id,
            "question_image_number": n_images,
            "image_class": files.classify_images(n_images),
            "knowledge": pick_knowledge_name(problem.knowledge or [], problem.problem_id),
        }
        return Sample(
            id=self.id,
            question=text,
            golds=golds,
            weight=float(count_points(golds[0] if golds else None, self.type)),
            meta={**meta, **more},
            withheld={"analysis": "".join(self.find_own("problem_analysis_list"))},
            row=self.row,
        )

    def find_own(self, field: str) -> list[str]:
        """Its entry in a list of the problem; nothing if there is none, or null."""
        entries = (getattr(self.problem, field) or [])[self.index : self.index + 1]
        return [str(entry) for entry in entries if entry is not None]


def list_questions(problems: Mapping[str, files.Problem]) -> list[ProblemQuestion]:
    """Every question, in the file's order."""
    return [
        ProblemQuestion(problem, index, row)
        for row, problem in enumerate(problems.values(), start=1)
        for index in range(len(problem.problem_type_list))
    ]


@dataclass(frozen=True, slots=True)
class SelectedQuestions:
    """The questions that are asked, in order, and why the others are not."""

    asked: tuple[ProblemQuestion, ...]
    left_out: Mapping[str, Sequence[ProblemQuestion]]  # by the option that leaves them out

    def remark(self, options: MultiOptions) -> str:
        """One line on what is left out, with counts; empty if nothing is."""
        n_left_out = sum(map(len, self.left_out.values()))
        if not n_left_out:
            return ""
        reasons = []
        for name, questions in self.left_out.items():
            value = "" if name == "subset" else f" {getattr(options, name)}"
            types = f" ({_count_types(questions)})" if name == "questions_type" else ""
            reasons.append(f"{len(questions)} by {name}{value}{types}")
        n_all = len(self.asked) + n_left_out
        return f"{len(self.asked)} of {n_all} questions selected; left out: {', '.join(reasons)}"


def select_questions(
    questions: Iterable[ProblemQuestion], options: MultiOptions, subset: frozenset[str] | None = None
) -> SelectedQuestions:
    """The questions that are asked, and those that each option leaves out."""
    types, image_types, names = options.types, options.image_types, list(KINDS)
    by_reason: dict[str, list[ProblemQuestion]] = {
        name: [] for name in ("subset", "questions_type", "subject", "image_type", "eval_num", "")
    }
    for question in questions:
        left_out_by = {
            "subset": subset is not None and question.id not in subset,
            "questions_type": names.index(question.type) not in types,
            "subject": options.subject not in ("", question.subject),
            "image_type": question.image_type not in image_types,
        }
        by_reason[next((name for name, is_so in left_out_by.items() if is_so), "")].append(question)
    asked = by_reason.pop("")
    if options.random:
        random.Random(options.seed).shuffle(asked)  # noqa: S311 - an order, not a secret
    if options.eval_num >= 0:
        asked, by_reason["eval_num"] = asked[: options.eval_num], asked[options.eval_num :]
    return SelectedQuestions(tuple(asked), {name: left for name, left in by_reason.items() if left})


def refuse_empty_choice(choice: SelectedQuestions, options: MultiOptions, *, file: str) -> None:
    """Refuse a selection without questions, with what there is to select from."""
    option, last = list(choice.left_out.items())[-1]  # what the other options left
    if option == "subject":
        subjects = list(dict.fromkeys(question.subject for question in last))
        hint = f"its subjects are: {join_names(subjects, _SHOWN_SUBJECTS)}"
    else:
        counts = Counter(question.image_type for question in last)
        names = ("without images", "with one image", "with more")
        images = ", ".join(f"{counts[n]} {names[n]}" for n in sorted(counts))
        hint = f"without {option} there would be {_count_types(last)}: {images}"
    raise UsageError(f"{file}: {choice.remark(options)}", hint=hint)


def _count_types(questions: Iterable[ProblemQuestion]) -> str:
    """Counts by type, e.g. ``3 OP, 1 other``."""
    counts = Counter(question.type for question in questions)
    return ", ".join(f"{counts[name]} {kind}" for name, kind in KINDS.items() if name in counts)


def refuse_unknown_ids(ids: Iterable[str], known: Container[str], *, file: str, of: str) -> None:
    """Refuse ids without a question, naming the first of them."""
    if unknown := [name for name in dict.fromkeys(ids) if name not in known]:
        raise DataError(
            f"{file}: {len(unknown)} unknown id{'s' * (len(unknown) != 1)}, not in {of}: "
            f"{join_names(unknown)}",
            hint="a question's id is its problem's id, '_' and its position, e.g. czsx_0_0; "
            "is the list for this version of the problem file?",
        )


# -- Image numbers and captions in a text
#
# A text marks its images as ``[IMAGE_n]``, n counting the problem's images from 1. A question shows some of
# them, so they are renumbered. The official code replaces one mark after the other in the whole text, and may
# replace a mark again that it just wrote: ``[IMAGE_2]…[IMAGE_1]`` becomes ``[IMAGE_2]…[IMAGE_2]``. It is the
# default, since models were asked that; ``correct`` numbering gives each mark the number of its image.
# Parity: tests/golden/multi_prepare.jsonl.


class PlacedText(NamedTuple):
    """A text with its images numbered from 1, and their paths, repeats included."""

    text: str
    images: tuple[str, ...]


def place_images(
    text: str,
    paths: Sequence[str],
    captions: Mapping[str, str] | None = None,
    *,
    in_content: bool = False,
    numbering: Numbering = "official",
) -> PlacedText:
    """Renumber the images of a text, and add captions: after the text, or in the marks (`in_content`).

    >>> place_images("A.[IMAGE_3] B.[IMAGE_4]", ["a", "b", "c", "d"])
    PlacedText(text='A.[IMAGE_1] B.[IMAGE_2]', images=('c', 'd'))
    >>> place_images("[IMAGE_1]?", ["a"], {"a": "a cat"}, in_content=True).text
    '[IMAGE_1:a cat]?'
    >>> place_images("[IMAGE_2], [IMAGE_1]", ["a", "b"], numbering="correct").text
    '[IMAGE_1], [IMAGE_2]'
    """
    marks = list(files.MARK.finditer(text))
    images = tuple(paths[int(mark[1]) - 1] for mark in marks)  # as published: 0 is the last one
    said = [(captions or {}).get(path, "") for path in images]
    is_within = captions is not None and in_content
    written = [f"[IMAGE_{n}{':' + one if is_within else ''}]" for n, one in enumerate(said, start=1)]
    if numbering == "official":
        for mark, new in zip(marks, written, strict=True):
            text = text.replace(mark[0], new)
    else:
        names = iter(written)
        text = files.MARK.sub(lambda _: next(names), text)
    if captions is not None and not in_content:
        # As published: right after the text, without a line break before the first.
        text += "".join(f"{mark}: {one}\n" for mark, one in zip(written, said, strict=True))
    return PlacedText(text, images)


def check_marks(text: str, paths: Sequence[str], *, where: str, field: str) -> None:
    """Refuse a mark without an image in the list, naming the place."""
    for mark in files.MARK.finditer(text):
        if len(mark[1]) > _MOST_DIGITS or not 1 <= int(mark[1]) <= len(paths):
            raise DataError(
                f"{where}: the text has {mark[0][:40]}, but {field} holds {len(paths)} "
                f"image{'s' * (len(paths) != 1)}",
                hint=f"images are counted from 1; add the missing path to {field} or correct the mark",
            )


# -- A prediction.json as replies to the questions that were chosen.


def read_replies(path: Path, chosen: MultiSource) -> Replies:
    """The replies in a file. As published, questions that are not in it do not count.

    Ids that are not in the problem file are refused. The number of images decides a question's group.
    """
    predictions = files.read_predictions(path)
    samples = [sample for sample in chosen if sample.id in predictions]
    meant = {sample.id for sample in samples}
    others = [name for name in predictions if name not in meant]
    if others:
        problems = chosen.options.problems
        known = {question.id for question in list_questions(files.read_problems(problems))}
        refuse_unknown_ids(others, known, file=path.name, of=problems.name)
    for place, sample in enumerate(samples):
        if (number := predictions[sample.id].question_image_number) is not None:
            counted = {"question_image_number": number, "image_class": files.classify_images(number)}
            samples[place] = replace(sample, meta={**sample.meta, **counted})
    return Replies(
        by_id={
            name: Reply.read(one.text, earlier=one.earlier)
            for name, one in predictions.items()
            if name in meant
        },
        source=MemorySource(chosen.name, chosen.origin, tuple(samples)),
        skipped=dict.fromkeys(others, "not among the selected questions"),
    )
