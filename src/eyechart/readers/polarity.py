"""What a sentence states without yes or no: "There is no car." is a no, "The statement is true." a yes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eyechart.readers import languages as r
from eyechart.readers.clauses import Clause, Token, find_clauses, find_tokens, lower, to_plain
from eyechart.replies import Reading, find_answer_start, is_abstention


def read_statement(reply: str, question: str) -> Reading | None:
    """What a reply states without the words: "There is no car." is a no."""
    begin = find_answer_start(reply)
    text = to_plain(reply[begin:])
    tokens, _ = find_tokens(text)
    clauses = find_clauses(tokens)
    if not clauses:
        return None
    first = clauses[0]
    if first.ends_with in ("?", "？") or first.carried & (r.IF | r.REPORT | r.FIRST):
        return None
    sentence = [token for clause in _first_sentence(clauses) for token in tokens[clause.start : clause.end]]
    roles = 0
    for token in sentence:
        roles |= token.roles if not token.roles & r.NEUTRAL else 0
    is_unseen = bool(_UNSEEN.search(lower(text[: sentence[-1].end])))
    if (roles & (r.MAYBE | r.IF) or is_abstention(text)) and not is_unseen:
        return None
    if _ASKING.search(lower(text[: sentence[-1].end])):
        return None
    if roles & r.ANSWER or any(token.roles & r.NEUTRAL and "no" in token.word.split() for token in sentence):
        return None
    is_denied = is_unseen or bool(roles & (r.NOT | r.NOT_LAST | r.NONE | r.WRONG))
    is_true = any(token.roles & (r.TRUE | r.FALSE) for token in sentence)
    is_seen = bool(roles & r.PRESENT) or any(
        tokens[clause.start].word.startswith("there") and clause.end - clause.start > 1
        for clause in _first_sentence(clauses)
    )  # "Based on the image, there are more cats than dogs."
    is_short = sum(clause.starts_sentence for clause in clauses) <= 2
    is_plain_denial = is_denied and is_short and 2 < len(sentence) < 20 and not _UNCLEAR.search(lower(text))
    if not (is_true or is_seen or is_unseen or is_plain_denial or _restates(sentence, question)):
        return None
    if is_true:
        is_denied = bool(roles & r.FALSE) != bool(roles & (r.NOT | r.NOT_LAST))
    return Reading("No" if is_denied else "Yes", "yes-no:statement", (begin, begin + sentence[-1].end))


_UNSEEN = re.compile(
    r"\b(?:do not|don't|cannot|can't|can not|did not|didn't) (?:see|find|spot) (?:an?|any)\b"
)


_ASKING = re.compile(
    r"\b(?:let me|let's|let us|what|whether)\b"
)  # an announcement: "Let me see what it shows."
_UNCLEAR = re.compile(
    r"\b(?:clear|sure|certain|know|enough|determine|(?:see|view|access) the (?:image|picture|photo))\b"
    r"|不知道|不清楚|不确定"
)


def _first_sentence(clauses: Sequence[Clause]) -> Iterator[Clause]:
    for number, clause in enumerate(clauses):
        if number and clause.starts_sentence:
            return
        yield clause


def _restates(sentence: Sequence[Token], question: str) -> bool:
    """Whether a sentence has all the words of a question, in order: it says that it is so, or not."""
    asked = [
        token.word
        for token in find_tokens(to_plain(question))[0]
        if not token.is_mark and not token.roles & _ASKED
    ]
    said = iter(token.word for token in sentence)
    return len(asked) > 1 and all(any(word == other for other in said) for word in asked)


_ASKED = r.BE | r.ARTICLE | r.FUNCTION | r.SMALL | r.IT | r.SOURCE
