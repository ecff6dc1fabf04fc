"""Why a reply is read as it is: the steps of the readers, with their intermediate values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eyechart.readers.answers import find_kind, find_slots, judge_answer
from eyechart.readers.clauses import Clause, Token, find_clauses, mark_quoted, to_plain
from eyechart.readers.decide import find_contained, mark_tokens, read_choice
from eyechart.readers.languages import ROLES
from eyechart.readers.mentions.options import prepare_options
from eyechart.readers.stance import Statement, Strength, find_statements
from eyechart.replies import find_answer_start

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
    yield f"clauses    {' | '.join(_show_clause(reply, tokens, clause) for clause in clauses)}"
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


def _show_clause(reply: str, tokens: Sequence[Token], clause: Clause) -> str:
    said = " ".join(reply[tokens[clause.start].start : tokens[clause.end - 1].end].split())
    told = [name for name in _TOLD if clause.carried & ROLES[name] and not clause.roles & ROLES[name]]
    return f"{said} [{', '.join(told)}]" if told else said


def _show_statement(one: Statement) -> str:
    strength = f" ({Strength(one.strength).name.lower()})" if one.kind in ("asserted", "several") else ""
    return f"{'/'.join(one.letters)} {one.kind}{strength}".strip()


def explain_answer(reply: str, golds: Sequence[str], question: str = "") -> Iterator[str]:
    r"""The steps by which an open answer is read from a reply and compared with the golds.

    >>> print(*explain_answer("Let me see. The answer is Dr. Smith.", ["dr smith"]), sep="\n")
    gold       'dr smith' is text
    places     stated 'Dr. Smith', whole 'Let me see. The answer is Dr. Smith.'
    decision   right: 'Dr. Smith' by text:stated
    """
    yield "gold       " + ", ".join(f"{gold!r} is {find_kind(gold)}" for gold in golds)
    slots = find_slots(reply)
    yield "places     " + (", ".join(f"{slot.kind} {slot.text[:80]!r}" for slot in slots) or "none")
    verdict = judge_answer(reply, golds, question)
    read = verdict.reading.answer
    outcome = "right" if verdict.is_right else "unparsed" if read is None else "wrong"
    yield f"decision   {outcome}: {read!r} by {verdict.reading.rule}"
