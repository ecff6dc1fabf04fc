"""MULTI's prompt: role and instruction, image guide, example, question, knowledge, ending.

The structure, its order and the names of its options are the official ones; the wording is ours, in Chinese
and English, and a file can replace it (``wording=FILE``): the authors' prompts.py, which is found where it
lies, or a file of pieces. What scoring looks for is the same in all: 缺少图片信息, 我的分析如下：,
所以这道题的答案为：{…}, [MASK], [IMAGE_i].
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import DataError, UsageError
from eyechart.files import read_yaml, suppress_warnings
from eyechart.pipelines.multi.arguments import MultiOptions
from eyechart.pipelines.multi.files import MARK
from eyechart.registry import check_texts
from eyechart.types import MODELS_TURN, ImageRef, Message, Sample

Language = Literal["zh", "en"]

# A black image of 224 x 224 pixels: a PNG of 86 bytes.
BLACK = ImageRef(
    kind="data",
    location="iVBORw0KGgoAAAANSUhEUgAAAOAAAADgAQAAAAAyVldMAAAAHUlEQVR42u3BMQEAAADCoPVPbQZ/oAAAAAAAAHgM"
    "GWAAAQrTbh4AAAAASUVORK5CYII=",
)
_OPEN = "解答"
_PIECES = {"单选": "sa", "多选": "ma", "填空": "fb", _OPEN: "op"}  # all others are asked as open ones


@dataclass(frozen=True)
class MultiPrompt:
    """Renders a sample of MULTI as messages.

    With `split_sys` the pieces before the question are the system message, otherwise everything is one text.
    Images follow the text, unless a question with several of them is asked in rounds (`in_turn`), one each.
    """

    options: MultiOptions
    own_words: Mapping[str, str] | None = None  # None: those that the options name

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The wording, read at the first question: declaring a benchmark reads no file."""
        said = self.options
        if self.own_words is not None:
            return self.own_words
        words = read_words(said.wording, said.lang, cot=said.cot) if said.wording else WORDS[said.lang]
        marked = next((name for name, text in words.items() if MARK.search(text)), "")
        if said.in_turn and marked:
            raise UsageError(
                f"{said.wording}: the piece {marked!r} holds an image mark, at which rounds are cut",
                hint="write [IMAGE_i], without a number",
            )
        return words

    def describe_wording(self) -> str:
        """Whose words the prompts have; empty if they are the user's, who knows."""
        said = self.options
        if not said.wording:
            return (
                "the prompts have eyechart's own wording, not the authors', so the score is not exactly "
                "comparable with published ones; for theirs: --set wording=PATH/eval/prompts.py of their "
                "repository"
            )
        if Path(said.wording).suffix != ".py":
            return ""
        theirs = read_authors_words(Path(said.wording), said.lang, cot=said.cot)
        ours = [name for name in WORDS[said.lang] if name not in theirs]
        rest = f", except for {', '.join(ours)}, which it lacks" if ours else ""
        return f"the prompts have the authors' wording, from {said.wording}{rest}"

    def __call__(self, sample: Sample) -> list[Message]:
        """The messages of one question; between rounds there is a place for the model's reply."""
        system, text = self.system_text(sample), self.user_text(sample)
        turns = [Message("system", (system,))] if self.options.split_sys and system else []
        if not self.options.split_sys:
            text = system + text
        images = sample.images if self.options.input_type == 2 else ()
        if self.options.in_turn and len(images) > 1:
            return [*turns, *self._rounds(sample, text)]
        if self._is_black(sample):
            images = (BLACK,)
        return [*turns, Message("user", (text, *images))]

    def system_text(self, sample: Sample) -> str:
        """Role, instruction, image guide, example."""
        if self.options.no_sys:
            return ""
        words, kind = self.words, self._kind(sample)
        begin = words[f"instruction_{kind}"]
        if not self.options.no_background:
            name = str(sample.meta["type_name"])
            role = words["role"].replace("{type}", name if name in _PIECES else _OPEN)
            begin = f"{role.replace('{subject}', str(sample.meta.get('knowledge', '')))}\n{begin}"
        example = ""
        if self.options.few_shot and kind != "op":
            example = f"\n{words[f'example_{kind}']}\n{words['example_end']}\n"  # one line stays empty
        return f"{begin}\n{words[self.guide(sample)]}\n{example}"

    def user_text(self, sample: Sample) -> str:
        """The question, the knowledge if there is any, and the ending."""
        knowledge = sample.meta.get("knowledge_content")
        background = "" if knowledge is None else f"\n{self.words['knowledge']}\n{knowledge}"
        ending = "ending_cot" if self.options.cot and self._kind(sample) != "op" else "ending"
        return f"{sample.question}{background}\n{self.words[ending]}"

    def guide(self, sample: Sample) -> str:
        """The name of the piece that says how images are shown."""
        counts = ("question_image_number", "knowledge_image_number")
        n_images = sum(int(sample.meta.get(name, 0)) for name in counts)
        if n_images == 0:
            return "guide_black_image" if self._is_black(sample) else "guide_text"
        if self.options.input_type == 2:
            return "guide_image_in_turn" if self.options.in_turn and n_images > 1 else "guide_image"
        return "guide_caption" if self.options.input_type == 1 else "guide_no_image"

    def _rounds(self, sample: Sample, text: str) -> list[Message]:
        rounds = split_rounds(text)
        if len(rounds) != len(sample.images):
            raise DataError(
                f"question {sample.id!r}: the prompt marks {len(rounds)} images, but there are "
                f"{len(sample.images)}: it cannot be asked in rounds",
                hint="in the wording, write [IMAGE_i], without a number, to mention marks",
            )
        turns = [Message("user", (image, said)) for image, said in zip(sample.images, rounds, strict=True)]
        if self.options.cot:  # as published: open questions too, though their ending asks for no reasoning
            turns.append(Message("user", (self.words["final_round"],)))
        spoken = [turn for asked in turns for turn in (asked, MODELS_TURN)]
        return spoken[:-1]

    def _is_black(self, sample: Sample) -> bool:
        return self.options.blank_image and self.options.input_type == 2 and not sample.images

    @staticmethod
    def _kind(sample: Sample) -> str:
        return _PIECES.get(str(sample.meta["type_name"]), "op")


def split_rounds(text: str) -> list[str]:
    r"""Cut a text after every image mark; the rest after the last one joins the last round.

    For models that take one image at a time; without a mark there is none.
    Parity: tests/golden/multi_rounds.jsonl.

    >>> split_rounds("甲[IMAGE_1]乙[IMAGE_2]丙")
    ['甲[IMAGE_1]', '乙[IMAGE_2]\n丙']
    """
    *cut, after = MARK.split(text)
    pairs = zip(cut[::2], cut[1::2], strict=True)
    rounds = [f"{said.strip()}[IMAGE_{number}]" for said, number in pairs]
    if rounds:
        rounds[-1] += "\n" + after.strip()  # as published: a line break even if nothing follows
    return rounds


# -- The wording


WORDS: Mapping[Language, Mapping[str, str]] = read_yaml(Path(__file__).with_name("wording.yaml"))
NAMES = tuple(WORDS["zh"])


def read_words(path: str | Path, lang: Language, *, cot: bool = False) -> dict[str, str]:
    """All pieces of a language: those in a file, ours for the rest.

    A YAML or JSON file maps names to texts, or ``zh`` and ``en`` to such maps. A Python file is the authors'
    prompts.py.
    """
    if Path(path).suffix == ".py":
        return {**WORDS[lang], **read_authors_words(Path(path), lang, cot=cot)}
    content = read_yaml(path)
    if isinstance(content, dict) and content and set(content) <= set(WORDS):
        content = content.get(lang, {})
    own = check_texts(content, path, NAMES, what="piece of MULTI's prompt")
    bare = {name: text.strip("\n") for name, text in own.items()}
    if last := own.get("final_round"):  # a message of its own: a line break before it is part of it
        bare["final_round"] = last.rstrip("\n")
    return {**WORDS[lang], **bare}


# -- The authors' wording, in prompts.py of their folder eval: read as text, never executed

OWN_WORDING = "eyechart"  # the setting for our own wording where theirs would be found
PLACES = (Path(), Path(".."), Path("eval"))  # where args.py is looked for, too
_GUIDES = "image_noncot_guide_prompts"
_EXAMPLES = "fs_shot_guide_example"
_INSTRUCTIONS = "question_prompts"  # of the first releases; later ones have two, for cot and without
# Of each piece: the variable in their file, its keys there (the second is that of the first releases in
# English), and what our structure adds before and after the piece, which theirs holds.
_THEIRS: Mapping[str, tuple[str, tuple[str, ...], str, str]] = {
    "role": ("system_prompt", (), "", "\n{instruction}"),
    "instruction_sa": (_INSTRUCTIONS, ("单选", "single_choice"), "", ""),
    "instruction_ma": (_INSTRUCTIONS, ("多选", "multiple_choices"), "", ""),
    "instruction_fb": (_INSTRUCTIONS, ("填空", "fill_in_the_blank"), "", ""),
    "instruction_op": (_INSTRUCTIONS, ("解答", "discussion_questions"), "", ""),
    "guide_image": (_GUIDES, ("image",), "\n", "\n"),
    "guide_image_in_turn": (_GUIDES, ("image_in_turn",), "\n", "\n"),
    "guide_caption": (_GUIDES, ("caption",), "\n", "\n"),
    "guide_no_image": (_GUIDES, ("no_image",), "\n", "\n"),
    "guide_black_image": (_GUIDES, ("pure_text_with_blank_image",), "\n", "\n"),
    "guide_text": (_GUIDES, ("pure_text",), "\n", "\n"),
    "example_sa": (_EXAMPLES, ("单选", "single_choice"), "\n", ""),
    "example_ma": (_EXAMPLES, ("多选", "multiple_choices"), "\n", ""),
    "example_fb": (_EXAMPLES, ("填空", "fill_in_the_blank"), "\n", ""),
    "example_end": ("fs_end_example", (), "\n", "\n"),
    "knowledge": ("knowledge_prompt", (), "\n", "\n{knowledge}"),
    "ending": ("ending_prompt", (), "\n", ""),
    "ending_cot": ("ending_cot_prompt", (), "\n", ""),
    "final_round": ("ending_cot_doublecheck_prompt", (), "", ""),
}
_FILLED = {"role": ("{subject}", "{type}", "{instruction}"), "knowledge": ("{knowledge}",)}  # for their %s


def find_wording() -> str:
    """The authors' prompts.py here, one folder up, or in the folder eval; empty if there is none.

    Other people's files have that name, too: it counts if it holds the dictionaries of the authors'.
    """
    for file in (folder / "prompts.py" for folder in PLACES):
        with contextlib.suppress(UsageError):  # there is none
            if any(_list_pieces(read_literals(file), "zh", cot=False)):
                return file.as_posix()
    return ""


def read_authors_words(path: Path, lang: Language, *, cot: bool = False) -> dict[str, str]:
    """The pieces of a language that prompts.py has; there are no English examples in it."""
    found: dict[str, str] = {}
    for name, place, text in _list_pieces(read_literals(path), lang, cot=cot):
        *_, before, after = _THEIRS[name]
        with contextlib.suppress(TypeError, ValueError):  # not one %s for each value
            filled = text % _FILLED[name] if name in _FILLED else text
            if filled.startswith(before) and filled.endswith(after):
                found[name] = filled[len(before) : len(filled) - len(after)]
        if name not in found:
            frame = f"{before}…{after}".replace("{instruction}", "%s").replace("{knowledge}", "%s")
            raise UsageError(
                f"{path}: {place} has not the form of the authors', {frame!r}",
                hint="write the pieces into a YAML file (eyechart docs multi), "
                f"or use eyechart's own: --set wording={OWN_WORDING}",
            )
    if not found:
        raise UsageError(
            f"{path}: it has none of MULTI's prompts for {lang}, such as system_prompt and ending_prompt",
            hint="give prompts.py of the authors' folder eval, or a YAML file of pieces",
        )
    return found


def _list_pieces(literals: Mapping[str, Any], lang: Language, *, cot: bool) -> Iterator[tuple[str, str, str]]:
    """Our name of each piece, its place in the file, and its text there."""
    if not all(isinstance(literals.get(name), dict) for name in ("system_prompt", "ending_prompt")):
        return  # another file of that name
    instructions = literals.get(f"question_{'' if cot else 'non'}cot_prompts")
    literals = {**literals, **({_INSTRUCTIONS: instructions} if instructions else {})}
    for piece, (variable, keys, *_) in _THEIRS.items():
        said = literals.get(variable)
        said = said.get(lang) if isinstance(said, dict) else None
        if not keys and isinstance(said, str):
            yield piece, f"{variable}[{lang!r}]", said
        texts = said if isinstance(said, dict) else {}
        if key := next((key for key in keys if isinstance(texts.get(key), str)), None):
            yield piece, f"{variable}[{lang!r}][{key!r}]", texts[key]


def read_literals(path: Path) -> dict[str, Any]:
    """The variables of a Python file that are literals, or names of such; the last assignment counts.

    Of a dictionary every entry that is a literal counts, also one that is added later on.
    """
    try:
        with suppress_warnings():  # its patterns are not raw texts, which Python warns of
            tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as err:
        why = err.strerror if isinstance(err, OSError) else err
        raise UsageError(f"{path} cannot be read: {why}", hint="give the authors' file") from err
    found: dict[str, Any] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                found[name] = found.get(other)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                if isinstance(value, ast.Dict):
                    found[name] = dict(_read_pairs(value.keys, value.values))
                else:
                    found.update(_read_pairs([ast.Constant(name)], [value]))
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value):
                _extend(found, name, [key], [value])
            case ast.Expr(
                ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=[ast.Dict() as more]
                )
            ):
                _extend(found, name, more.keys, more.values)
    return found


def _extend(found: dict[str, Any], name: str, keys: list[Any], values: list[ast.expr]) -> None:
    if isinstance(found.get(name), dict):
        found[name] = {**found[name], **dict(_read_pairs(keys, values))}


def _read_pairs(keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Iterator[tuple[Any, Any]]:
    """Those that are literals: code is not executed."""
    for key, value in zip(keys, values, strict=True):
        with contextlib.suppress(ValueError, TypeError, RecursionError, MemoryError):
            pair = ast.literal_eval(key or ast.Name("")), ast.literal_eval(value)
            hash(pair[0])
            yield pair
