"""Multiple choice: the letter that a reply chooses, and whether it is the gold.

There are two readers. `read` is our own: it knows many ways of stating a choice and does not guess;
`read_choice` also says which rule decided, and where.
`infer` is VLMEvalKit's, quirks included, for numbers that must compare with published ones.

Our own reads in five steps: the reply as a whole (here); the places that name an option (`naming`, with the
words of `languages` and the options of `choice_options`); segments of sentences (`clauses`); what each place
says of its option (`assertions`, `groups`); what that comes to (`statements`). docs/scoring.md shows one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from string import ascii_uppercase

import msgspec

from eyechart.errors import API_FAILURE, UsageError
from eyechart.registry import scorer
from eyechart.score.assertions import find_statements
from eyechart.score.choice_options import ChoiceOptions, prepare_options, strip_article
from eyechart.score.languages import LANGUAGES
from eyechart.score.naming import is_unspaced
from eyechart.score.reading import (
    Reading,
    find_answer_start,
    find_contained_answers,
    normalise_characters,
    read_json_object,
    score_reading,
    unwrap,
    unwrap_span,
)
from eyechart.score.statements import HELD, Statement, decide, decide_by_names, give_reason, merge_held
from eyechart.types import Reply, Sample, Score

JUDGE_TRIES = 3  # as published: the judge is called again while its reply names no option


@scorer("choice", version="7")
def score_choice(reply: Reply, sample: Sample) -> Score:
    """Our own reader against the gold, which may be given as the letter or as the option's text.

    A sample without options is read by letters alone. A sample whose gold is not an option is unscored.
    """
    choices = sample.choices or dict.fromkeys(ascii_uppercase, "")
    reading = read_choice(reply.text, choices)
    wanted = {letter for gold in sample.golds if (letter := find_gold_letter(gold, choices))}
    if sample.golds and not wanted:
        return Score(outcome="unscored", value=0.0, read=reading.letter, route="choice:gold-not-an-option")
    return score_reading(reply, sample, reading, float(reading.letter in wanted))


def find_gold_letter(gold: str, choices: Mapping[str, str]) -> str | None:
    """The letter of a gold given as letter or as the option's own text; None when it is neither.

    >>> options = {"A": "cat", "B": "dog"}
    >>> find_gold_letter("b", options), find_gold_letter("Dog", options), find_gold_letter("bird", options)
    ('B', 'B', None)
    """
    options = prepare_options(choices)
    return (
        options.find_by_letter(gold.strip())
        or options.find_by_text(gold)
        or options.find_by_letter(unwrap(normalise_characters(gold)))
    )


# -- Our own reader

_BARE = re.compile(
    r"(?:(?:q(?:uestion)?\s?)?\d{1,3}[.):]\s?)?"
    r"(?:(?:the\s)?(?:correct\s|final\s|my\s)?(?:option|choice|letter|answer|final|ans)[\s:.]*|"
    r"(?:definitely|probably|likely|clearly|certainly|100\s?%)\s|选项?|答案)?"
    r"[\s\"'*`$(\[=>→•-]*([A-Za-z])[)\]\"'*`$\s.]*(?:选项|项)?",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"(?:(?:[Ss]o|[Tt]hus|[Hh]ence|[Tt]herefore),? )?(?:[Tt]he|[Mm]y) (?:correct |right |best |final ){0,2}"
    r"(?:answer|option|choice) (?:is|must be|would be|should be):? (?:option )?"
    r"[*\"'`(\[]{0,4}([A-Z])[)\]\"'*`.]{0,5}"
)
_ARROW = re.compile(r"\\(?:Rightarrow|rightarrow|implies|Longrightarrow|therefore|to)\b")
_BOX = re.compile(r"\\boxed")
_STRUCK_OUT = re.compile(r"~~[^~\n]{1,200}~~")
_NOT_TICKED = re.compile(r"^[ \t]*(?:[-*+] ?)?\[ ?\].*$", re.MULTILINE)
_TICKED = re.compile(r"^[ \t]*(?:[-*+] ?)?\[[xX✓✔]\]", re.MULTILINE)
_MARKUP = re.compile(
    r"</?(?:b|strong|i|em|u|p|br|span|div|code|pre|mark|font|center|h[1-6]|li|ul|ol|td|tr|table|small|big|sub|sup|html|body)\b"
    r"[^<>\n]{0,200}>|&(?:nbsp|amp|quot|lt|gt|#\d{1,5});|\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|operatorname|rm|bf|displaystyle|boldsymbol|mathbb)\b\s{0,3}",
    re.IGNORECASE,
)


def read(reply: str | None, options: Mapping[str, str] | Sequence[str]) -> str | None:
    """The letter of the option that a reply chooses; None where it does not clearly choose one.

    Options are given by letter, or as a list, which is lettered from A.

    >>> options = {"A": "cat", "B": "dog"}
    >>> read("At first I thought A, but it barks: B.", options), read("It might be a dog.", options)
    ('B', None)
    >>> read("dog", ["cat", "dog"])
    'B'
    """
    return None if reply is None else read_choice(reply, _by_letters(options)).letter


def _by_letters(options: Mapping[str, str] | Sequence[str]) -> Mapping[str, str]:
    if isinstance(options, Mapping):
        return options
    if isinstance(options, str) or len(options) > len(ascii_uppercase):
        raise UsageError(
            f"options must be a mapping of letters to texts or a list of texts, not {str(options)[:40]!r}",
            hint='e.g. {"A": "cat", "B": "dog"} or ["cat", "dog"]',
        )
    return dict(zip(ascii_uppercase, options, strict=False))


def read_choice(reply: str, options: Mapping[str, str]) -> Reading:
    """The option that a reply chooses, the rule that found it, and where. Unclear replies are not read.

    The rules, all named in the route of the score:

    - ``choice:bare-letter``: the reply is a letter and what people wrap letters in.
    - ``choice:option-text``: the reply is an option's own words, or a short reply names exactly one option.
    - ``choice:tag``, ``choice:boxed``, ``choice:json``: the answer in a container made for it.
    - ``choice:stated``: a letter or an option's words are called the answer, chosen, concluded or right.
    - ``choice:lettered``: the reply begins "B. ...", "B, because ..."; ``choice:last-line``: it ends so.
    - ``choice:implied``: "it is B", "I think B".
    - ``choice:eliminated``: all options but one are denied.

    Nothing is read, and the rule says why, where options are named but ``choice:denied``,
    ``choice:withdrawn``, ``choice:conditional``, ``choice:reported``, ``choice:considered``, in a
    ``choice:contradiction`` (letter and words disagree), ``choice:ambiguous`` (several), a
    ``choice:part-of-name``, ``choice:not-an-option``; else ``choice:empty`` or ``choice:unread``.

    >>> read_choice("At first A looks right, but the answer is (c).", {"A": "cat", "C": "dog"})
    Reading(answer='C', rule='choice:stated', span=(43, 44), is_whole=False)
    >>> read_choice("A cat is on the mat", {"A": "dog", "B": "bird"}).rule
    'choice:unread'
    """
    plain, prepared = normalise_characters(reply), prepare_options(options)
    if "~~" in plain:
        plain = _STRUCK_OUT.sub(lambda struck: " " * len(struck.group()), plain)
    if "[ ]" in plain and _TICKED.search(plain):  # a list of boxes of which one is ticked
        for boxes in (_NOT_TICKED, _TICKED):
            plain = boxes.sub(lambda box: " " * len(box.group()), plain)
    plain = plain.rstrip()
    begin = find_answer_start(plain)
    begin += len(plain) - begin - len(plain[begin:].lstrip())  # blank lines around a reply say nothing
    start, end = unwrap_span(plain, begin)
    if start >= end:
        return _empty(plain, begin, prepared)
    if whole := _by_whole(plain, start, end, prepared):
        return whole
    if ("<" in plain or "\\" in plain or "&" in plain) and not any(
        "<" in words or "&" in words for words in prepared.by_case
    ):
        plain = _ARROW.sub(lambda arrow: "→".ljust(len(arrow.group())), plain)
        plain = _MARKUP.sub(lambda markup: " " * len(markup.group()), plain)
        start, end = unwrap_span(plain, begin)
        if whole := _by_whole(plain, start, end, prepared):
            return whole
    return _by_whole_json(plain, begin, prepared) or _by_statements(plain, begin, prepared)


def _reading(letter: str | None, rule: str, span: tuple[int, int], *, is_whole: bool = False) -> Reading:
    return Reading(letter, f"choice:{rule}", span, is_whole)


def _empty(text: str, begin: int, options: ChoiceOptions) -> Reading:
    """Nothing but marks: an answer only when an option is written so ("+", "?")."""
    letter = options.find_by_text(text[begin:])
    return Reading(letter, "choice:option-text" if letter else "choice:empty")


def _by_whole(text: str, start: int, end: int, options: ChoiceOptions) -> Reading | None:
    """The reply is a letter, or an option's own words, and nothing else."""
    start, end = _skip_symbols(text, start, end)
    words, span = text[start:end], (start, end)
    if "?" in text[end : end + 8] and not any("?" in known for known in options.by_case):
        return None
    named = options.find_by_words(strip_article(words)) if len(words) <= options.n_chars + 30 else None
    if label := options.find_by_letter(words):
        is_text_too = named not in (None, label) and words not in options.labels
        return (
            _reading(None, "ambiguous", span)
            if is_text_too
            else _reading(label, "bare-letter", span, is_whole=True)
        )
    sign = text[max(0, start - 4) : start].rstrip()[-1:]
    if named and not (
        words[0].isdecimal() and sign in _SIGNS and sign
    ):  # "#3" is a name, ">3" is another number
        return _reading(named, "option-text", span)
    if words[1:3] in (". ", ") ", ": ") and words[0].isupper() and len(words) <= options.n_chars + 30:
        label = options.find_by_letter(words[0])
        if label and options.find_by_words(strip_article(words[2:])) == label:
            return _reading(label, "lettered", span)  # "B. dog"
    # The statement that most replies consist of: what `_by_statements` finds, too, in ten times the time.
    if len(words) <= 60 and (found := _STATED.fullmatch(words)) and found.group(1) not in options.by_case:
        label = options.find_by_letter(found.group(1))
        return _reading(label, "stated", (start + found.start(1), start + found.end(1))) if label else None
    if len(words) > 40 or not (found := _BARE.fullmatch(words)):
        return None
    if label := options.find_by_letter(found.group(1)):
        at = (start + found.start(1), start + found.end(1))
        return _reading(label, "bare-letter", at, is_whole=True)
    return _reading(None, "not-an-option", span)


def _skip_symbols(text: str, start: int, end: int) -> tuple[int, int]:
    """Without emoji and other symbols around: "👉 B", "B ✅"."""
    while start < end and _is_symbol(text[start]):
        start, _ = unwrap_span(text, start + 1, end)
    while start < end and _is_symbol(text[end - 1]):
        _, end = unwrap_span(text, start, end - 1)
    return start, end


def _is_symbol(char: str) -> bool:
    return ord(char) > 0x2000 and char not in _CROSSES and unicodedata.category(char) in _SYMBOLS


_SIGNS = frozenset("#<>≥≤§~≈≠")
_SYMBOLS = frozenset(("So", "Sk", "Mn", "Me", "Sm"))
_CROSSES = frozenset("✗✘❌✖✕❎")


def _by_whole_json(text: str, begin: int, options: ChoiceOptions) -> Reading | None:
    answers = read_json_object(text, begin) if "{" in text else None
    if answers is None:
        return None
    value, others = answers
    span = (begin, len(text))
    if value is None:
        return _reading(None, "empty", span)
    if not isinstance(value, str | int | float | list):
        return None
    content = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    inner = _read_content(content, options)
    for other in others:  # {"answer": "C", "text": "dog"}: does the text choose another option?
        if not inner.letter or not isinstance(other, str) or len(other) >= 1000:
            continue
        named = options.find_all_by_text(other)
        if inner.letter not in (named or (_read_content(other, options).letter or inner.letter,)):
            return _reading(None, "contradiction", span)
    return Reading(inner.letter, "choice:json" if inner.letter else inner.rule, span)


def _by_statements(text: str, begin: int, options: ChoiceOptions, *, is_content: bool = False) -> Reading:
    held = [] if is_content else _contained(text, begin, options)
    if held:
        inside = find_statements(_BOX.sub("      ", text), begin, options)
        said = merge_held(held, inside, find_statements(_blank(text, held), begin, options))
    else:
        said = find_statements(text, begin, options)
    if said and "\n" in text:
        said = [*said[:-1], _conclude(said[-1], text, begin)]
    decision = decide(said, options) or decide_by_names(said, text, begin, options) or give_reason(said)
    if decision is None:
        return Reading(None, "choice:unread")
    rule = decision.rule
    if decision.letter and text.endswith((",", ":", " -", "–", "—")) and rule not in HELD:
        is_cued = any(one.is_cued and one.span == decision.span for one in said)
        is_end = begin < decision.span[0] and decision.span[1] >= len(text) - 3
        if rule in ("implied", "option-text") or (is_end and not is_cued):
            return Reading(None, "choice:unread")  # cut off: "one, two, three,", "I look at each. Option A,"
    if decision.letter and rule in ("implied", "option-text") and _is_cut_off(text, decision.span[1]):
        return Reading(None, "choice:unread")
    if decision.letter and rule in ("stated", "lettered") and _is_last_line(text, begin, decision.span):
        rule = "last-line"
    return _reading(decision.letter, rule, decision.span)


def _blank(text: str, held: Sequence[Statement]) -> str:
    """The text with a full stop in place of each answer in a container."""
    parts, at = [], 0
    for statement in held:
        first, last = statement.span
        if first >= at:
            parts += [_BOX.sub("      ", text[at:first]), ".".ljust(last - first)]
            at = last
    return "".join([*parts, _BOX.sub("      ", text[at:])])


def _is_last_line(text: str, begin: int, span: tuple[int, int]) -> bool:
    """Whether the answer is a last line of its own."""
    newline = text.rfind("\n", begin, span[0])
    return (
        newline >= 0 and unwrap_span(text, newline)[0] == span[0] and unwrap_span(text, span[0])[1] <= span[1]
    )


_JOINTS = frozenset(
    word
    for language in LANGUAGES.values()
    for word in (*language.article, *language.both, *language.either)
    if len(word) > 1 and " " not in word and not is_unspaced(word)
) | {"a", "of", "with", "to", "at", "in", "is", "are", "which", "that", "but", "because"}


def _is_cut_off(text: str, at: int) -> bool:
    """Whether a reply breaks off in a sentence after that place: "5 dogs and the", "it is 2, and x ="."""
    rest = text[at:].rstrip()
    return rest.endswith(("=", "(", "<", "+", "&")) or rest.rpartition(" ")[2] in _JOINTS


def _conclude(last: Statement, text: str, begin: int) -> Statement:
    """A letter on a last line of its own, after sentences, is the answer whatever they went through."""
    is_alone = last.kind == "asserted" and last.is_letter and _is_last_line(text, begin, last.span)
    before = text[begin : last.span[0]].rstrip(" \t\n*_(`\"'$>#")
    is_after_words = len(before) - before.rfind("\n") > 12 and before[-1:] in ".!?:;。！？：…"
    return msgspec.structs.replace(last, is_cued=True) if is_alone and is_after_words else last


def _contained(text: str, start: int, options: ChoiceOptions) -> list[Statement]:
    found: list[Statement] = []
    for place in find_contained_answers(text, start):
        inner = _read_content(place.text(text), options)
        span = (place.start, place.end)
        if inner.letter:
            found.append(Statement(place.kind, (inner.letter,), span, place.kind))
        elif inner.rule in ("choice:ambiguous", "choice:contradiction"):
            found.append(Statement(inner.rule.partition(":")[2], (), span))
        elif inner.rule != "choice:empty":
            found.append(Statement("not-an-option", (), span, "held"))
    return found


def _read_content(content: str, options: ChoiceOptions) -> Reading:
    """What a container holds: a letter, an option's words, or a sentence of its own."""
    start, end = unwrap_span(content)
    if start >= end:
        return _empty(content, 0, options)
    return _by_whole(content, start, end, options) or _by_statements(content, 0, options, is_content=True)


# -- VLMEvalKit's reader
#
# Source: open-compass/VLMEvalKit, commit e8e78f05 and the history of the same file. Golden vectors, produced
# by that code: tests/golden/mcq_infer.jsonl. Its environment switch VERBOSE, which changes verdicts, is not
# reproduced.

REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
NONE_OF_THEM = "Z"
_MARKS_TO_SPACES = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
# As published: letters A to D only, and no word boundary after them, so "the answer is dog" reads D.
_ANSWER_IS = re.compile(r"answer\s+is\s+\**([A-D])", re.IGNORECASE)


def infer(
    reply: str | None, options: Mapping[str, str] | Sequence[str], rules: str = "vlmevalkit"
) -> str | None:
    """The option letter a reply chooses; ``Z`` for a refusal; None when undecided.

    `rules`: ``vlmevalkit``, the official heuristics; ``vlmevalkit-2026-06``, their form until 2026-06-17,
    which does not look for "answer is X"; ``vlmevalkit-2025-08``, their form until 2025-08-04, in which
    moreover a lone letter counts wherever it stands and the text rule has no length limit; or ``eyechart``,
    our own reader (never ``Z``).

    Quirk kept: "the answer is dog" reads D. Quirk not kept: the official code changes the caller's dict.

    >>> options = {"A": "teddy bear", "B": "rabbit", "C": "cat", "D": "dog"}
    >>> infer("I think B", options), infer("b", options), infer("b", options, rules="eyechart")
    ('B', None, 'B')
    """
    options = _by_letters(options)
    if rules == "eyechart":
        return read(str(reply), options)
    if rules not in RULES:
        known = ", ".join([*RULES, "eyechart"])
        raise UsageError(f"no rules named {rules!r} for reading a choice", hint=f"use one of: {known}")
    text = str(reply)
    return _by_letter(text, options, RULES[rules]) or _by_text(text, options, RULES[rules])


class Rules(msgspec.Struct, frozen=True):
    """One historical form of the heuristics."""

    source: str  # the newest commit or release that has it
    last_tokens: int | None  # a lone letter must first occur among so many last tokens; None: anywhere
    has_answer_is: bool
    has_length_limit: bool


RULES: Mapping[str, Rules] = {
    "vlmevalkit": Rules("VLMEvalKit e8e78f05", last_tokens=4, has_answer_is=True, has_length_limit=True),
    "vlmevalkit-2026-06": Rules(
        "ms-vlmeval 0.0.20", last_tokens=4, has_answer_is=False, has_length_limit=True
    ),
    "vlmevalkit-2025-08": Rules(
        "ms-vlmeval 0.0.18", last_tokens=None, has_answer_is=False, has_length_limit=False
    ),
}


def _by_letter(text: str, options: Mapping[str, str], rules: Rules) -> str | None:
    if API_FAILURE in text:
        return None
    if any(refusal in text for refusal in REFUSALS):
        return NONE_OF_THEM
    tokens = text.translate(_MARKS_TO_SPACES).split()
    seen = set(tokens)
    letters = [letter for letter in options if letter in seen]
    if len(letters) == 1:
        first = tokens.index(letters[0])
        if rules.last_tokens is None or first >= len(tokens) - rules.last_tokens:
            return letters[0]
    elif not letters and NONE_OF_THEM in seen:
        return NONE_OF_THEM
    return _by_answer_is(text, options) if rules.has_answer_is else None


def _by_answer_is(text: str, options: Mapping[str, str]) -> str | None:
    found = _ANSWER_IS.search(text)
    letter = found.group(1).upper() if found else ""
    return letter if letter in options else None


def _by_text(text: str, options: Mapping[str, str], rules: Rules) -> str | None:
    text = text.lower()
    texts = {letter: str(option).lower() for letter, option in options.items()}
    if rules.has_length_limit and len(text) > 2 * sum(len(str(option)) for option in options.values()):
        return None
    # As published: no word boundaries, so "cat" is found in "concatenate".
    found = [letter for letter, option in texts.items() if option in text]
    return found[0] if len(found) == 1 else None
