"""Multiple choice: the option that a reply chooses, by ordered rules.

1. The whole reply is a letter or an option's words.
2. A container holds the answer: a tag, a box, a JSON key.
3. The answer is headed or stated: "Answer: B", "the correct option is B".
4. The last line, or the last sentence, names one option.
5. A short reply names exactly one option.
6. If the options are yes and no: a sentence that states what was asked, or denies it.

Rules 3 to 5 look at what each clause says of the options it names (`stance`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from eyechart.readers import languages as r
from eyechart.readers.clauses import (
    Clause,
    Token,
    find_clauses,
    find_tokens,
    join_roles,
    lower,
    mark_quoted,
    to_plain,
)
from eyechart.readers.mentions.options import Options, mark_mentions, prepare_options
from eyechart.readers.stance import (
    CONCLUDED,
    HEADED,
    HELD,
    IMPLIED,
    NAMED,
    STATED,
    Statement,
    Strength,
    find_statements,
)
from eyechart.replies import (
    MAX_BOX_CHARS,
    Reading,
    find_answer_start,
    is_abstention,
    normalise_characters,
    unwrap,
    unwrap_span,
)

SHORT = 300
MAX_BESIDE_CHARS = 40  # between containers that stand side by side
MIN_RESTATED = 7  # words of a sentence that says what was asked, without a yes or no
MAX_NAMED_CHARS = 400  # a longer reply may speak of an option without choosing it

_BARE = re.compile(
    r"(?:(?:q(?:uestion)?\s?)?\d{1,3}[.):]\s?)?"
    r"(?:(?:the\s)?(?:correct\s|final\s|my\s)?(?:option|choice|letter|answer|final|ans)[\s:.]*|"
    r"(?:definitely|probably|likely|clearly|certainly|100\s?%)\s|选项?|答案)?"
    r"[\s\"'*`$(\[=>→•-]*([A-Za-z])[)\]\"'*`$\s.]*(?:选项|项)?",
    re.IGNORECASE,
)
_NOT_TICKED = re.compile(r"^[ \t]*(?:[-*+] ?)?\[ ?\].*$", re.MULTILINE)
_TICKED = re.compile(r"^[ \t]*(?:[-*+] ?)?\[[xX✓✔]\]", re.MULTILINE)


def read_choice(reply: str, choices: Mapping[str, str]) -> Reading:
    """The option that a reply chooses, the rule that found it, and where. Unclear replies are not read.

    >>> read_choice("At first A looks right, but the answer is (c).", {"A": "cat", "C": "dog"})
    Reading(answer='C', rule='choice:stated', span=(43, 44), is_whole=False)
    >>> read_choice("A cat is on the mat", {"A": "dog", "B": "bird"}).rule
    'choice:unread'
    """
    options = prepare_options(choices)
    reply = reply.rstrip()
    if "[ ]" in reply and _TICKED.search(reply):  # a list of boxes of which one is ticked
        for boxes in (_NOT_TICKED, _TICKED):
            reply = boxes.sub(lambda box: " " * len(box.group()), reply)
    text = to_plain(reply)
    begin = find_answer_start(text)
    begin = len(reply) - len(reply[begin:].lstrip())
    start, end = unwrap_span(text, begin)
    if start >= end:
        letter = options.find_text(text[begin:])
        if not letter and "~~" not in reply:
            letter = options.find_letter(unwrap(reply[begin:]))
        return Reading(letter, "choice:option-text" if letter else "choice:empty")
    held = find_contained(reply, begin)
    whole = None if held else _by_whole(text, start, end, options)
    reading = whole or _by_statements(reply, text, begin, options)
    is_open = reading.rule == "choice:unread" and options.polar
    stated = read_statement(reply, "") if is_open else None
    if stated is None or len(stated.evidence(reply).split()) < MIN_RESTATED:
        return reading
    return Reading(options.polar[stated.answer or ""], "choice:statement", stated.span)


def find_gold_letter(gold: str, choices: Mapping[str, str]) -> str | None:
    """The letter of a gold given as letter or as the option's own text; None when it is neither.

    >>> options = {"A": "cat", "B": "dog"}
    >>> find_gold_letter("b", options), find_gold_letter("Dog", options), find_gold_letter("bird", options)
    ('B', 'B', None)
    """
    options = prepare_options(choices)
    return (
        options.find_letter(gold.strip())
        or options.find_text(gold)
        or options.find_letter(unwrap(normalise_characters(gold)))
    )


def _reading(letter: str | None, rule: str, span: tuple[int, int], *, is_whole: bool = False) -> Reading:
    return Reading(letter, f"choice:{rule}", span, is_whole)


def _by_whole(text: str, start: int, end: int, options: Options) -> Reading | None:
    """The reply is a letter, or an option's own words, and nothing else."""
    words, span = text[start:end], (start, end)
    if "?" in text[end : end + 8]:
        return None
    named = options.find_all(words) if len(words) <= options.n_chars + 30 else ()
    if letter := options.find_letter(words):
        return _reading(letter, "bare-letter", span, is_whole=True)
    if named and not (start and text[start - 1] in "<>≥≤≠~±#-$€£§№"):
        is_one = len(named) == 1
        return _reading(named[0] if is_one else None, "option-text" if is_one else "ambiguous", span)
    if len(words) > 40 or not (found := _BARE.fullmatch(words)):
        return None
    at = (start + found.start(1), start + found.end(1))
    if letter := options.find_letter(found.group(1)):
        return _reading(letter, "bare-letter", at, is_whole=True)
    return _reading(None, "not-an-option", at)


def read_content(content: str, options: Options) -> Reading:
    """What a container holds: a letter, an option's words, or a sentence."""
    text = to_plain(content)
    start, end = unwrap_span(text)
    if start >= end:
        letter = options.find_text(text)
        return Reading(letter, "choice:option-text" if letter else "choice:empty")
    return _by_whole(text, start, end, options) or _decide(text, 0, options, [])


def _by_statements(reply: str, text: str, begin: int, options: Options) -> Reading:
    held: list[Statement] = []
    for place in find_contained(reply, begin):
        inner = read_content(place.text, options)
        span = (place.start, place.end)
        if inner.letter:
            held.append(Statement("asserted", (inner.letter,), span, HELD, is_letter=True, rule=place.kind))
        elif inner.rule in ("choice:ambiguous", "choice:contradiction"):
            held.append(Statement("several", (), span, HELD))
        elif inner.rule != "choice:empty" or place.kind == "json":
            held.append(Statement("not-an-option", (), span, HELD))
    return _decide(text, begin, options, held)


def _decide(text: str, begin: int, options: Options, held: Sequence[Statement]) -> Reading:
    return decide_tokens(text, begin, mark_tokens(text, begin, options), options, held)


def mark_tokens(text: str, begin: int, options: Options) -> list[Token]:
    """The tokens of the answer in a reply, its mentions of options marked."""
    tokens, codes = find_tokens(" " * begin + text[begin:])
    return mark_mentions(text, tokens, options, codes)


def decide_tokens(
    text: str, begin: int, tokens: Sequence[Token], options: Options, held: Sequence[Statement] = ()
) -> Reading:
    """The option that a reply asserts, whose mentions are marked in its tokens."""
    mark_quoted(tokens)
    clauses = find_clauses(tokens)
    statements = find_statements(clauses)
    if is_cut_off(tokens, clauses):
        enough = {True: CONCLUDED, False: STATED}
        statements = [
            one for one in statements if one.kind != "asserted" or one.strength >= enough[one.is_letter]
        ]
    if held:
        inside = {at for place in held for at in range(*place.span)}
        outside = (one for one in statements if one.span[0] not in inside)
        statements = sorted([*held, *outside], key=lambda one: one.span[0])
    return weigh(statements, text, begin, options)


def is_cut_off(tokens: Sequence[Token], clauses: Sequence[Clause]) -> bool:
    """Whether a reply breaks off in a sentence: "It is 8. Then we", "one, two,"."""
    if not tokens or tokens[-1].is_end or tokens[-1].letters is not None:
        return False
    last = tokens[-1]
    if last.is_mark:
        return last.word in ",:=(+-"
    if last.word in _DANGLING and len(tokens) > 6:
        return True
    if last.roles & _UNFINISHED and (not last.roles & r.BE or last.word in ("is", "are", "为", "是")):
        return True
    first = max(place for place, clause in enumerate(clauses) if clause.starts_sentence)
    has_mention = any(token.letters is not None for token in tokens[clauses[first].start :])
    return first > 0 and not has_mention and clauses[first].before in tuple(".!?。")


_DANGLING = r.words(
    "of in on at to from by with has have shows show is are was the and or but because that which who"
    " whose into near under between than as for if be been being would should must may might can could"
    " will do does did says said then we i you they a an its their his her"
)
_UNFINISHED = r.ARTICLE | r.OR | r.AND | r.BE | r.BUT | r.BECAUSE | r.THAT | r.IF | r.THOUGH


def weigh(statements: Sequence[Statement], text: str, begin: int, options: Options) -> Reading:
    """The option that the statements come to, or why none is read."""
    current: Statement | None = None
    denied: set[str] = set()
    reason, where = "unread", (0, 0)
    turned = is_none = False
    is_short = len(text) - begin < SHORT
    for one in statements:
        kind = one.kind
        if turned and kind == "mentioned":  # "The answer is A. Wait, no: B."
            kind, one = "asserted", replace(one, kind="asserted", strength=CONCLUDED)
        if is_none and kind == "asserted" and one.strength < HEADED and (one.is_change or not one.is_turn):
            continue
        is_choice = kind in ("asserted", "contradiction", "not-an-option")
        if is_choice or (kind == "several" and one.strength > NAMED):
            if not one.is_part:
                current, turned = _choose(current, one, turned, is_short=is_short), False
        elif kind == "denied":
            denied.update(one.letters)
            is_same = current and current.letters and set(current.letters) <= set(one.letters)
            if current and is_same and current.strength < (HELD if is_short else STATED):
                current = None
            reason, where = "denied", one.span
        elif kind in ("withdrawn", "turned", "but"):
            turned = True
            if kind == "withdrawn" and current and current.strength < HELD:
                current, reason, where = None, "withdrawn", one.span
        elif kind == "none":
            current, reason, where, is_none = None, "denied", one.span, True
        elif (kind == "also" and current and current.letters != one.letters) or (
            kind == "possible" and current and current.strength < STATED
        ):
            current = replace(one, kind="several")
        else:
            reason, where = kind, one.span
    if current is None:
        left = [letter for letter in options.labels.values() if letter not in denied]
        if len(left) == 1 and len(options.labels) > 2 and options.n_chars:
            return _reading(left[0], "eliminated", where)
        return _reading(None, _REASONS.get(reason, reason), where)
    n_chars = len(text) - begin
    is_stray = current.strength < HELD and turned and n_chars < MAX_NAMED_CHARS
    doubt = _find_doubt(current, statements, text[begin:], options) or ("withdrawn" if is_stray else "")
    if not doubt and is_short and options.n_chars and _leaves_open(current, statements, text):
        doubt = "ambiguous"
    if not doubt and current.kind == "asserted" and len(current.letters) == 1:
        return _reading(current.letters[0], current.rule or _name_rule(current, text, begin), current.span)
    is_several = current.kind in ("several", "asserted")
    return _reading(None, doubt or ("ambiguous" if is_several else current.kind), current.span)


def _find_doubt(current: Statement, statements: Sequence[Statement], text: str, options: Options) -> str:
    """Why an answer that is only named or implied is not one; empty if it is."""
    is_weak = current.strength == NAMED or (current.strength == IMPLIED and not current.is_turn)
    if is_weak and is_abstention(text) and not any(map(is_abstention, options.texts.values())):
        return "unread"
    if current.strength > NAMED:
        return ""
    said = ("asserted", "mentioned", "possible", "several")
    named = {one.letters for one in statements if one.kind in said}
    if len(named) > 1 and not current.is_turn:
        return "ambiguous"
    return "unread" if len(text) > MAX_NAMED_CHARS + options.n_chars else ""


def _leaves_open(current: Statement, statements: Sequence[Statement], text: str) -> bool:
    """Whether an answer leaves another option open: "It's B with wheels, C without"."""
    if current.is_turn or current.is_pair or current.strength >= HEADED or current.kind != "asserted":
        return False
    at = next((place for place, one in enumerate(statements) if one.span == current.span), len(statements))

    def is_other(one: Statement) -> bool:
        is_open = one.kind not in ("denied", "possible", "given-up")
        is_considered = one.kind == "considered" and not current.is_letter
        return bool(one.letters) and is_open and not is_considered and not {*one.letters} & {*current.letters}

    after = list(filter(is_other, statements[at + 1 :]))
    if current.strength <= IMPLIED:
        before = filter(is_other, statements[:at])
        return bool(after) or (not current.is_letter and any(one.is_letter for one in before))
    return current.is_letter and any(
        one.kind in ("mentioned", "listed", "reported", "several")
        and not _APART.search(text, current.span[1], one.span[0])
        for one in after
    )


_APART = re.compile(r"[.!?。！？\n]|\b(?:because|since|as|while|denn|weil|car|porque|perché)\b|因为")


_REASONS = {
    "given-up": "withdrawn", "supposed": "conditional", "several": "ambiguous", "listed": "ambiguous",
    "also": "ambiguous", "possible": "considered", "mentioned": "unread",
}  # fmt: skip


def _name_rule(statement: Statement, text: str, begin: int) -> str:
    """How an answer was found, for the route of a score."""
    start, end = statement.span
    newline = text.rfind("\n", begin, start)
    if newline >= 0 and unwrap_span(text, newline)[0] >= start and unwrap_span(text, start)[1] <= end:
        return "last-line"
    if statement.strength == CONCLUDED and statement.is_letter and unwrap_span(text, begin)[0] >= start:
        return "lettered"
    return ("option-text", "implied", "stated", "stated", "stated")[statement.strength]


def _choose(current: Statement | None, later: Statement, turned: bool, *, is_short: bool) -> Statement:
    """Which of two assertions stands, or that they contradict each other."""
    if current is None:
        return later
    if current.letters == later.letters:
        return later if later.strength >= current.strength else current
    if (later.is_change or turned) and (is_short or later.strength > NAMED):
        return later if later.strength >= IMPLIED else replace(later, kind="several")
    weaker, stronger = sorted((current.strength, later.strength))
    if (
        current.is_letter != later.is_letter
        and is_short
        and current.kind == later.kind == "asserted"
        and not (later.is_pair or current.is_pair)
        and weaker >= IMPLIED < stronger
    ):
        return replace(later, kind="contradiction", strength=stronger)
    if current.strength == HELD == later.strength:
        is_beside = later.span[0] - current.span[1] < MAX_BESIDE_CHARS
        return replace(later, kind="several") if is_beside else later
    if later.strength > current.strength or (
        later.is_turn and later.strength >= min(current.strength, STATED)
    ):
        return later
    is_second = later.is_letter and later.strength == IMPLIED and current.strength < HELD
    if later.strength < current.strength and not (is_short and is_second and later.kind == current.kind):
        return current
    together = tuple(dict.fromkeys((*current.letters, *later.letters)))
    return replace(later, kind="several", letters=together)


# -- Answers in containers made for them: a tag, a box, a JSON key; all in linear time

MAX_CONTAINERS = 64  # the last ones; no real reply states an answer this often
_NAMES = r"(?:answer|final_answer|final|response|conclusion|output|ans|choice|option)"
_TAG = re.compile(rf"<\s{{0,3}}{_NAMES}\s{{0,3}}>", re.IGNORECASE)
_TAG_END = re.compile(rf"<\s{{0,3}}/\s{{0,3}}{_NAMES}\s{{0,3}}>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,3}\{")
_KEY = r"(?:final[_ ]?|correct[_ ]?|selected[_ ]?|predicted[_ ]?)?(?:answer|choice|option|letter|答案|选项)"
_JSON_PAIR = re.compile(
    rf"""["']{_KEY}["']\s{{0,8}}:\s{{0,8}}(?:"([^"\n]{{0,400}})"|'([^'\n]{{0,400}})'|(-?[\w.]{{1,40}}))""",
    re.IGNORECASE,
)


class Slot(msgspec.Struct, frozen=True):
    """A place where a reply may give its answer."""

    kind: str  # json, tag, boxed, bold, quoted, stated or whole
    text: str
    start: int
    end: int
    line: str = ""  # of a stated answer: all of its line, "Ft. Worth." beside "Ft"

    def read(self, kind: str, answer: str | None = None, where: str = "") -> Reading:
        """The answer that was read here; by default all of the text."""
        said = self.text if answer is None else answer
        return Reading(said, f"{kind}:{where or self.kind}", (self.start, self.end))


def find_contained(text: str, start: int = 0) -> list[Slot]:
    r"""Answers in containers, in order: `<answer>`, `\boxed{}`, a JSON key.

    >>> text = r"So \boxed{\text{B}}"
    >>> [(found.kind, found.text) for found in find_contained(text)]
    [('boxed', '\\text{B}')]
    """
    found: list[Slot] = []
    if "<" in text:
        found += _find_tags(text, start)
    if "\\" in text:
        found += _find_boxes(text, start)
    if ":" in text:
        found += [
            Slot("json", pair[pair.lastindex or 0], *pair.span(pair.lastindex or 0))
            for pair in list(_JSON_PAIR.finditer(text, start))[-MAX_CONTAINERS:]
        ]
    return sorted(found, key=lambda contained: contained.start)[-MAX_CONTAINERS:]


def _find_tags(text: str, start: int) -> Iterator[Slot]:
    for tag in list(_TAG.finditer(text, start))[-MAX_CONTAINERS:]:
        stop = min(len(text), tag.end() + MAX_BOX_CHARS)
        close = _TAG_END.search(text, tag.end(), stop)
        stop = close.start() if close else stop
        yield Slot("tag", text[tag.end() : stop], tag.end(), stop)


def _find_boxes(text: str, start: int) -> Iterator[Slot]:
    for box in list(_BOX.finditer(text, start))[-MAX_CONTAINERS:]:
        depth = 1
        for place in range(box.end(), min(len(text), box.end() + MAX_BOX_CHARS)):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0:
                yield Slot("boxed", text[box.end() : place], box.end(), place)
                break


# -- What a sentence states without yes or no


def read_statement(reply: str, question: str) -> Reading | None:
    """What a reply states without the words: "There is no car." is a no, "The statement is true." a yes."""
    begin = find_answer_start(reply)
    text = to_plain(reply[begin:])
    tokens, _ = find_tokens(text)
    clauses = find_clauses(tokens)
    if not clauses or clauses[0].ends_with in ("?", "？") or clauses[0].carried & (r.IF | r.REPORT | r.FIRST):
        return None
    starts = [clause.start for clause in clauses if clause.starts_sentence]
    first = [clause for clause in clauses if clause.start < (*starts, len(tokens), len(tokens))[1]]
    sentence = [token for clause in first for token in clause.words]
    span = (begin, begin + sentence[-1].end)
    said = lower(text[: sentence[-1].end])
    roles = join_roles(token for token in sentence if not token.roles & r.NEUTRAL)
    is_unseen = bool(_UNSEEN.search(said))
    if ((roles & (r.MAYBE | r.IF) or is_abstention(text)) and not is_unseen) or _ASKING.search(said):
        return None
    if roles & r.ANSWER or any(token.roles & r.NEUTRAL and "no" in token.word.split() for token in sentence):
        return None
    is_denied = bool(roles & (r.NOT | r.NOT_LAST))
    if any(token.roles & (r.TRUE | r.FALSE) for token in sentence):
        return Reading("No" if bool(roles & r.FALSE) != is_denied else "Yes", "yes-no:statement", span)
    is_denied = is_unseen or is_denied or bool(roles & (r.NONE | r.WRONG))
    is_seen = bool(roles & r.PRESENT) or any(
        clause.words[0].word.startswith("there") and len(clause.words) > 1 for clause in first
    )  # "Based on the image, there are more cats than dogs."
    is_plain_denial = (
        is_denied and len(starts) <= 2 and 2 < len(sentence) < 20 and not _UNCLEAR.search(lower(text))
    )
    if not (is_seen or is_unseen or is_plain_denial or _restates(sentence, question)):
        return None
    return Reading("No" if is_denied else "Yes", "yes-no:statement", span)


_UNSEEN = re.compile(
    r"\b(?:do not|don't|cannot|can't|can not|did not|didn't) (?:see|find|spot) (?:an?|any)\b"
)


_ASKING = re.compile(r"\b(?:let me|let's|let us|what|whether)\b")  # "Let me see what it shows."
_UNCLEAR = re.compile(
    r"\b(?:clear|sure|certain|know|enough|determine|(?:see|view|access) the (?:image|picture|photo))\b"
    r"|不知道|不清楚|不确定"
)


def _restates(sentence: Sequence[Token], question: str) -> bool:
    """Whether a sentence has all the words of a question, in order: it says that it is so, or not."""
    tokens, _ = find_tokens(to_plain(question))
    asked = [token.word for token in tokens if not token.is_mark and not token.roles & _ASKED]
    said = iter([token.word for token in sentence])
    return len(asked) > 1 and all(word in said for word in asked)


_ASKED = r.BE | r.ARTICLE | r.FUNCTION | r.SMALL | r.IT | r.SOURCE


# -- Why a reply is read as it is

_TOLD = ("if", "report", "first", "else")  # what reaches a clause from its sentence


def explain_choice(reply: str, choices: Mapping[str, str]) -> Iterator[str]:
    r"""The steps by which an option is read from a reply.

    >>> reply = "At first A, but it is not A. So the answer is B."
    >>> print(*explain_choice(reply, {"A": "cat", "B": "dog"}), sep="\n")
    mentions   A (2 times) B
    clauses    At first A | but it is not A | So the answer is B
    stance     A given-up, A denied, B asserted (stated)
    decision   B by choice:stated: 'B'
    """
    options = prepare_options(choices)
    text = to_plain(reply)
    begin = find_answer_start(text)
    tokens = mark_tokens(text, begin, options)
    mark_quoted(tokens)
    clauses = find_clauses(tokens)
    for place in find_contained(reply, begin):
        yield f"container  {place.kind}: {place.text!r}"
    yield f"mentions   {_count_mentions(tokens) or 'none'}"
    yield f"clauses    {' | '.join(_show_clause(reply, clause) for clause in clauses)}"
    said = ", ".join(map(_show_statement, find_statements(clauses)))
    yield f"stance     {said or 'nothing is said of an option'}"
    reading = read_choice(reply, choices)
    evidence = f": {reading.evidence(reply)!r}" if reading.span != (0, 0) else ""
    yield f"decision   {reading.letter or 'nothing'} by {reading.rule}{evidence}"


def _count_mentions(tokens: Sequence[Token]) -> str:
    counts = Counter(
        ("/".join(token.letters) or f"{token.word.upper()}, which is no option")
        + ("" if token.is_letter else f" ({token.word})")
        for token in tokens
        if token.letters is not None
    )
    return " ".join(name if n == 1 else f"{name} ({n} times)" for name, n in counts.items())


def _show_clause(reply: str, clause: Clause) -> str:
    said = " ".join(reply[clause.words[0].start : clause.words[-1].end].split())
    told = [name for name in _TOLD if clause.carried & r.ROLES[name] and not clause.roles & r.ROLES[name]]
    return f"{said} [{', '.join(told)}]" if told else said


def _show_statement(one: Statement) -> str:
    strength = f" ({Strength(one.strength).name.lower()})" if one.kind in ("asserted", "several") else ""
    return f"{'/'.join(one.letters)} {one.kind}{strength}".strip()
