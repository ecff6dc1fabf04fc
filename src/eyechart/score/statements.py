"""What a reply says of each option, in order, and what that comes to.

Every place that names an option, by its letter or in its own words, is asserted, denied, or neither:
supposed, reported, considered, asked. `eyechart.score.assertions` finds these statements; `decide` takes them
in order. A later assertion replaces an earlier one only where the reply turns ("but", "wait", "so");
otherwise the two contradict each other and nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from eyechart.score.choice_options import ChoiceOptions
from eyechart.score.reading import is_abstention

MAX_MENTION_CHARS = 400  # a longer reply may speak of an option without choosing it
HELD = frozenset(("tag", "boxed", "json"))  # answers in a container made for them
ASSERTIONS = frozenset(("asserted", "implied", "ambiguous", "contradiction", "not-an-option")) | HELD
# Why an option that is named is not the answer; the last such place gives the reason where nothing is read.
REASONS = frozenset(("conditional", "reported", "given-up", "considered", "denied", "part-of-name", "listed"))


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One thing that a reply says: which options, how (`kind`), and where."""

    kind: str  # one of ASSERTIONS or REASONS, or named, possible, renamed, withdrawn
    letters: tuple[str, ...]
    span: tuple[int, int]
    rule: str = "stated"
    is_turn: bool = False  # from what was said before
    is_letter: bool = True
    is_subject: bool = False  # of a sentence, so that it is not what is seen: "the cat behind it is a toy"
    is_cued: bool = False  # it is called the answer, or chosen
    is_change: bool = False  # the turn is a change of mind, not a conclusion


class Decision(msgspec.Struct, frozen=True, gc=False):
    """What the statements come to: a letter, or None; the rule, or the reason; and the place."""

    letter: str | None
    rule: str
    span: tuple[int, int] = (0, 0)


def merge_held(
    held: Sequence[Statement], said: Sequence[Statement], outside: Sequence[Statement]
) -> list[Statement]:
    """The statements of a reply in order: answers in containers, and what is said outside of them."""
    return sorted([*_turn_held(held, said), *outside], key=lambda statement: statement.span[0])


def _turn_held(held: Sequence[Statement], said: Sequence[Statement]) -> Iterator[Statement]:
    """The answers in containers, which turn from what was said before where the words around do."""
    for statement in held:
        first, last = statement.span
        inside = [other for other in said if first <= other.span[0] < last]
        is_turn = any(other.is_turn for other in inside)
        yield msgspec.structs.replace(statement, is_turn=True) if is_turn else statement


def decide(said: Sequence[Statement], options: ChoiceOptions) -> Decision | None:
    """The option that the statements come to: the one asserted last, or the only one that is not denied."""
    current: Statement | None = None
    withdrawn: Statement | None = None
    none: Statement | None = None
    denied: set[str] = set()
    named: tuple[str, ...] = ()
    has_turned = False  # "It is 80. But the rest is asked for. The answer is A."
    for statement in said:
        has_turned = has_turned or statement.kind == "turned"
        if statement.kind in ASSERTIONS:
            if has_turned and statement.is_turn:
                statement = msgspec.structs.replace(statement, is_change=True)
            has_turned = False
            current = _weigh(current, statement)
            if statement.is_turn and not statement.is_change:
                none = None  # "none of these looks like it, so C"
        elif statement.kind == "none":
            is_of_others = current is not None and current.is_cued and named not in ((), current.letters)
            none = none if is_of_others else statement
        elif statement.kind == "denied":
            if statement.rule != "heading":  # "Wrong answers: B, C, D" need not be all of them
                denied.update(statement.letters)
            if current and current.letters and set(current.letters) <= set(statement.letters):
                current, withdrawn = None, statement
        elif current and current.is_change and statement.rule == "past":
            pass  # "D. Correction: B. I misread the scale."
        elif current and (
            statement.kind == "withdrawn" or (statement.kind == "renamed" and not current.is_letter)
        ):
            current, withdrawn = None, statement
        elif (
            statement.kind == "possible"
            and current
            and statement.letters != current.letters
            and not denied.issuperset(statement.letters)  # "B, not D. D counts the seats, too."
        ):
            current = Statement("ambiguous", (), statement.span)
        named = statement.letters or named
    if none is not None:
        return Decision(None, "denied", none.span)
    if current is not None:
        if _is_contradicted(current, said):
            return Decision(None, "contradiction", current.span)
        if doubt := _find_doubt(current, said):
            return Decision(None, doubt, current.span)
        if len(current.letters) == 1 and current.kind not in ("ambiguous", "contradiction"):
            return Decision(current.letters[0], current.rule, current.span)
        return Decision(None, "ambiguous" if current.kind == "implied" else current.kind, current.span)
    if withdrawn is not None:
        return Decision(None, "withdrawn", withdrawn.span)
    left = [letter for letter in options.labels.values() if letter not in denied]
    if len(left) == 1 and len(options.labels) > 2:
        last = next(at for at in reversed(range(len(said))) if said[at].kind == "denied")
        if any(one.kind == "considered" and left[0] in one.letters for one in said[last + 1 :]):
            return Decision(None, "considered", said[-1].span)  # "Not A, not B. And C? Who knows."
        return Decision(left[0], "eliminated", said[last].span)
    return None


def _find_doubt(current: Statement, said: Sequence[Statement]) -> str:
    """What follows the answer, is not understood, and could take it back: "B. However, D is odd."."""
    last = len(said) - 1
    while last > 0 and not (said[last].kind in ASSERTIONS and said[last].letters == current.letters):
        last -= 1
    named, others = current.letters, set[str]()
    if not (current.is_turn or current.is_cued or current.kind in HELD):
        gone = {letter for one in said if one.kind == "denied" for letter in one.letters}
        kinds = ("mentioned",) if current.is_letter else ("mentioned", "part-of-name")
        before = {letter for one in said[:last] if one.kind in kinds for letter in one.letters}
        if len(before - gone - set(current.letters)) == 1:
            return "ambiguous"  # "first C, then D"
    for statement in said[last + 1 :]:
        if statement.kind == "turned" and named == current.letters:
            return "withdrawn"
        if statement.kind == "reported" and statement.letters != current.letters:
            return "ambiguous"
        if statement.kind == "mentioned" and statement.letters != current.letters:
            others.update(statement.letters)
            if statement.is_turn:
                return "ambiguous"
        named = statement.letters or named
    return "ambiguous" if len(others) == 1 else ""  # several others are gone through


def _is_contradicted(current: Statement, said: Sequence[Statement]) -> bool:
    """Whether a letter begins the reply and the only option after it is another one: "B. I see a cat."."""
    is_letter_alone = current.is_letter and current.span[1] - current.span[0] <= 1  # not "B. The dog ..."
    if not is_letter_alone:
        return False
    others = [statement for statement in said if not statement.is_letter and statement.letters]
    if not others or any(set(one.letters) & set(current.letters) for one in others):
        return False
    return len({one.letters for one in others}) == 1 and all(
        one.kind in ("named", "implied") and not one.is_subject for one in others
    )


def _weigh(current: Statement | None, later: Statement) -> Statement:
    """Which of two assertions stands, or that they contradict each other."""
    if current is None:
        return later
    is_held, was_held = later.kind in HELD, current.kind in HELD
    if current.letters == later.letters:
        is_weaker = current.kind == "asserted" and later.kind == "implied" and not later.is_turn
        return current if was_held or is_weaker else later
    is_new_letter = later.kind == "asserted" and later.is_letter and len(later.letters) == 1
    is_word = current.kind in ("implied", "asserted") and not (current.is_letter or current.is_cued)
    if is_word and is_new_letter and not later.is_change:
        return Statement("contradiction", (), later.span)  # "It is a cat. The answer is B."
    is_plain_word = later.kind in ("asserted", "implied") and not (later.is_letter or later.is_cued)
    if current.is_cued and current.is_letter and is_plain_word:
        return Statement("contradiction", (), later.span)  # "The answer is B. However, it is a cat."
    if was_held and later.kind in ("asserted", "implied") and not (later.is_letter or later.is_change):
        return Statement("contradiction", (), later.span)  # "\\boxed{A} So it is a dog."
    is_value = current.rule == "held" and later.is_cued  # "\\boxed{5}. The answer is B."
    if later.is_turn or (is_held and not was_held) or is_value:
        return later
    if later.kind == "implied" and current.kind != "implied" and (was_held or not later.is_letter):
        return current
    if current.kind == "implied" and later.kind != "implied":
        return later
    if (
        current.kind == "ambiguous"
        and later.kind != "ambiguous"
        and set(later.letters) & set(current.letters)
    ):
        return later
    if was_held and not is_held:
        return current
    return Statement("ambiguous", tuple(sorted({*current.letters, *later.letters})), later.span)


def decide_by_names(
    said: Sequence[Statement], text: str, start: int, options: ChoiceOptions
) -> Decision | None:
    """The one option that a short reply names without saying more of it."""
    if len(text) - start > MAX_MENTION_CHARS + options.n_chars:
        return None
    named: list[Statement] = []
    for statement in said:
        if statement.kind == "named":
            named.append(statement)
        elif statement.kind in ("renamed", "withdrawn", "turned"):
            named.clear()
        elif statement.kind == "denied":  # "One would expect a bus, but no."
            named = [one for one in named if not set(one.letters) & set(statement.letters)]
    if named and is_abstention(
        text[start:]
    ):  # "I cannot tell if it is a dog" names a dog; it does not choose one
        named = [statement for statement in named if is_abstention(text[slice(*statement.span)])]
    if not named:
        return None
    body = text.rstrip()
    begins = max(body.rfind(". ", start), body.rfind(".\n", start))
    if body.endswith(",") or (body[-1:].isalnum() and begins >= 0):
        return None  # cut off before it came to an answer
    others = {statement.letters for statement in said if statement.kind == "part-of-name"}
    others |= {statement.letters for statement in said if statement.kind == "possible"}  # "4, maybe 5"
    if len({statement.letters for statement in named} | others) > 1 or len(named[0].letters) > 1:
        return Decision(None, "ambiguous", named[0].span)
    return Decision(named[0].letters[0], "option-text", named[0].span)


def give_reason(said: Sequence[Statement]) -> Decision | None:
    """Why nothing is read: what is said of the option that is named last."""
    for statement in reversed(said):
        if statement.kind in REASONS:
            reason = {"given-up": "withdrawn", "listed": "ambiguous"}.get(statement.kind, statement.kind)
            return Decision(None, reason, statement.span)
    return None
