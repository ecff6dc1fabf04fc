"""MULTI's samples: from problem file, knowledge (MULTI-Extend), hard list (MULTI-Elite) and captions.

https://github.com/OpenDFM/MULTI-Benchmark. A sample is one question of a problem; its id is the problem's id
and the question's position. Its text has numbered images and captions (`MultiSource.prepare`). It holds
images only at input type 2: the question's first, then those of the knowledge. `read_replies` reads a
prediction.json as replies to these samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyechart.data.images.texts import IMAGE_PATHS
from eyechart.data.wrappers import MemorySource
from eyechart.errors import DataError
from eyechart.pipelines.multi.arguments import MultiOptions
from eyechart.pipelines.multi.files import (
    OLD_MARK,
    SYSTEM_TEXT,
    TYPES,
    ImagePaths,
    Knowledge,
    Problem,
    decode_rows,
    describe_unknown_educations,
    find_level,
    find_unshown_images,
    read_captions,
    read_hard_list,
    read_knowledge,
    read_problems,
    refuse_missing,
    rewrite_marks,
    take_first,
)
from eyechart.pipelines.multi.select import (
    InputType,
    PlacedText,
    Placement,
    ProblemQuestion,
    Selection,
    check_marks,
    list_questions,
    pick_knowledge_name,
    place_images,
    refuse_empty_choice,
    refuse_unknown_ids,
    select_questions,
)
from eyechart.types import Replies, Reply, Sample, Source


@dataclass(frozen=True, slots=True)
class MultiSource:
    """The selected questions as samples."""

    name: str
    options: MultiOptions
    questions: tuple[ProblemQuestion, ...] = field(repr=False)
    knowledge: Mapping[str, Knowledge] = field(repr=False)
    wanted: Placement = field(repr=False)
    is_system_empty: bool = False  # the prompt has a separate text before the question, and it is empty
    remarks: tuple[str, ...] = ()  # what can change the score: questions left out, images that no text shows

    @property
    def origin(self) -> str:
        return str(self.options.problems)

    def __iter__(self) -> Iterator[Sample]:
        to_ref = ImagePaths(self.options.problems.parent, self.options.find("image_root")).to_ref
        for question in self.questions:
            placed, background = self.prepare(question)
            images = (*placed.images, *(background.images if background else ()))
            has_images = self.options.input_type == 2
            meta = _meta(question, placed, self.options.input_type)
            if has_images and images:
                meta[IMAGE_PATHS] = list(images)
            if background is not None:
                meta["knowledge_content"] = background.text
                meta["knowledge_image_number"] = len(background.images)
            if self.is_system_empty:
                meta[SYSTEM_TEXT] = ""
            yield Sample(
                id=question.id,
                question=placed.text,
                images=tuple(to_ref(path) for path in images) if has_images else (),
                golds=tuple(question.find_own("problem_answer_list")),
                meta=meta,
                withheld={"analysis": "".join(question.find_own("problem_analysis_list"))},
                row=question.row,
            )

    def prepare(self, question: ProblemQuestion) -> tuple[PlacedText, PlacedText | None]:
        """A question and its knowledge, if there is any, with numbered images and captions."""
        problem = question.problem
        text = problem.question_text(question.index)
        paths = problem.img_paths or []
        where = f"{self.options.problems.name}: question {question.id!r}"
        check_marks(text, paths, where=where, field="img_paths")
        placed = place_images(text, paths, self.wanted)
        # As published: a missing piece is not an error, and of a text its first character is looked up.
        known_as = (problem.knowledge or [""])[0]
        piece = self.knowledge.get(known_as)
        if piece is None:
            return placed, None
        name = Path(self.options.knowledge_file).name
        text = rewrite_marks(piece.knowledge_content)
        where = f"{name}: knowledge {known_as!r}"
        check_marks(text, piece.knowledge_images, where=where, field="knowledge_images")
        return placed, place_images(text, piece.knowledge_images, self.wanted)

    def images_in_use(self) -> Iterator[str]:
        for question in self.questions:
            for text in filter(None, self.prepare(question)):
                yield from text.images


def open_multi(options: MultiOptions, selection: Selection | None = None) -> MultiSource:
    """Read the files, select the questions, and refuse what does not match."""
    root, subset, captioned, known_from = map(
        options.find, ("image_root", "subset", "caption_file", "knowledge_file")
    )
    if root is not None and not root.is_dir():
        raise DataError(f"image_root: no folder {root}", hint="check the path")
    file = options.problems
    problems = read_problems(file)
    questions = list_questions(problems)
    selection = selection or options.selection()
    if subset is not None:
        ids = read_hard_list(subset)
        if not options.allow_unknown_ids:
            known = (question.id for question in questions)
            refuse_unknown_ids(ids, known, file=subset.name, of=file.name)
        selection = replace(selection, subset=frozenset(ids))
    choice = select_questions(questions, selection)
    if questions and not choice.asked:
        refuse_empty_choice(choice, selection, file=file.name)
    captions = read_captions(captioned) if options.input_type == 1 and captioned else None
    source = MultiSource(
        "multi",
        options,
        choice.asked,
        read_knowledge(known_from) if known_from else {},
        Placement(captions, options.cap_in_cnt, options.renumbering),
    )
    levels = describe_unknown_educations(
        {name: one.education or "" for name, one in problems.items()}, "problems"
    )
    has_knowledge = any((one.problem.knowledge or [""])[0] in source.knowledge for one in choice.asked)
    no_knowledge = (
        f"{known_from.name}: it has no knowledge for any of the questions"
        if known_from and not has_knowledge
        else ""
    )
    remarks = (
        choice.remark(selection),
        no_knowledge,
        *_images_remarks(problems, source),
        levels and f"{file.name}: {levels}",
    )
    source = replace(source, remarks=tuple(filter(None, remarks)))
    if captions is not None and captioned is not None and not options.allow_missing_captions:
        refuse_missing(source.images_in_use(), captions, captioned)
    return source


def _images_remarks(problems: Mapping[str, Problem], source: MultiSource) -> Iterator[str]:
    """Remarks on images whose marks have an older form or are missing."""
    options = source.options
    of_problems = {name: (problem.texts(), problem.img_paths or []) for name, problem in problems.items()}
    yield from _marks_remarks(of_problems, options.problems, "img_paths", must_show=options.input_type > 0)
    if (knowledge_file := options.find("knowledge_file")) is not None:
        of_pieces = {
            name: ([piece.knowledge_content], piece.knowledge_images)
            for name, piece in source.knowledge.items()
        }
        yield from _marks_remarks(of_pieces, knowledge_file, "knowledge_images", must_show=False)


def _marks_remarks(
    entries: Mapping[str, tuple[Sequence[str], Sequence[str]]], file: Path, field: str, *, must_show: bool
) -> Iterator[str]:
    """Remarks on entries (texts and images) with older marks, and on those without marks."""
    if old := [name for name, (texts, _) in entries.items() if any(map(OLD_MARK.search, texts))]:
        yield f"{file.name}: <img_n> is read as [IMAGE_n], in {len(old)} of {len(entries)} entries"
    unmarked = {
        name: left
        for name, (texts, images) in entries.items()
        if (left := find_unshown_images(texts, images))
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


def _meta(question: ProblemQuestion, placed: PlacedText, input_type: InputType) -> dict[str, Any]:
    problem: Problem = question.problem
    type_name, n_images = problem.problem_type_list[question.index], len(placed.images)
    subject = take_first(problem.subject)
    education = problem.education or ""
    return {
        "question_type": TYPES[type_name][1],
        "type_name": type_name,
        "education": education,
        "subject": subject,
        "level": find_level(education, subject),
        "problem_id": problem.problem_id,
        "question_image_number": n_images,
        "image_class": classify_images(n_images),
        "knowledge": pick_knowledge_name(problem.knowledge or [], problem.problem_id),
        "input_type": input_type,
    }


def classify_images(n_images: int) -> str:
    """No, a single, or multiple images.

    >>> [classify_images(n) for n in (0, 1, 3)]
    ['NI', 'SI', 'MI']
    """
    return ("NI", "SI", "MI")[min(max(n_images, 0), 2)]


# -- MULTI's prediction.json: an object of question id to the answered question.


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One entry, as far as it is scored. As published, a missing prediction counts as an empty one."""

    question_id: str | None = None
    question_image_number: int | None = None
    prediction: Any = None
    answer_history: Any = None

    @property
    def text(self) -> str:
        return self.prediction or ""

    @property
    def earlier(self) -> tuple[str, ...]:
        """The replies of earlier rounds, if the file has them; the history may include the last one."""
        history = self.answer_history
        if not isinstance(history, list) or not all(isinstance(said, str) for said in history):
            return ()
        return tuple(history[:-1] if history[-1:] == [self.text] else history)


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by question id. Repeated ids, and entries under another id, are refused."""
    found: dict[str, Prediction] = {}
    keep = "keep one prediction per question"
    for name, entry in decode_rows(path, Prediction, "question", "question_id", keep=keep):
        if entry.question_id not in (None, name):
            raise DataError(
                f"{path.name}: question {name!r}: field question_id is {entry.question_id!r}",
                hint="the key of an entry is its question id",
            )
        if not isinstance(entry.prediction, str | None):
            raise DataError(
                f"{path.name}: question {name!r}: field prediction is {type(entry.prediction).__name__}, "
                "not text",
                hint="in a file of the answer extractor, keep one text per question",
            )
        if (entry.question_image_number or 0) < 0:
            raise DataError(
                f"{path.name}: question {name!r}: field question_image_number is "
                f"{entry.question_image_number}",
                hint="give the number of images of the question: 0, 1, ...",
            )
        found[name] = entry
    if not found:
        raise DataError(f"{path.name}: it has no predictions", hint="is it the right file?")
    return found


# -- A prediction.json as replies to the questions that were chosen.


def read_replies(path: Path, chosen: Source, everything: Source) -> Replies:
    """The replies in a file. As published, questions that are not in it do not count.

    Ids that are not in `everything` are refused. The file's number of images decides a question's group.
    """
    predictions = read_predictions(path)
    samples = [sample for sample in chosen if sample.id in predictions]
    meant = {sample.id for sample in samples}
    others = [name for name in predictions if name not in meant]
    if others:
        known = (sample.id for sample in everything)
        refuse_unknown_ids(others, known, file=path.name, of=Path(chosen.origin).name)
    answered = []
    for sample in samples:
        number = predictions[sample.id].question_image_number
        if number is not None:
            counted = {"question_image_number": number, "image_class": classify_images(number)}
            sample = replace(sample, meta={**sample.meta, **counted})
        answered.append(sample)
    return Replies(
        by_id={
            name: Reply.read(predictions[name].text, earlier=predictions[name].earlier)
            for name in predictions
            if name in meant
        },
        source=MemorySource(chosen.name, chosen.origin, tuple(answered)),
        skipped=dict.fromkeys(others, "not among the selected questions"),
    )
