"""What a reply says of each answer that it names: asserted, denied, or neither.

One check for all kinds of answers. A place that names an answer is *denied* ("not B", "B is wrong"),
*supposed* ("if it barks, B"), *reported* ("some say B"), *given up* ("at first B"), *considered* ("let me
check B", "B?"), *possible* ("maybe B"), *listed* among the options, one of *several* ("A and B"), or
*asserted*. How strongly it is asserted depends on the words around it: an answer that is called the
answer counts more than one that is only named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import accumulate, pairwise
from operator import or_

import msgspec
from msgspec.structs import replace

from eyechart.readers import languages as r
from eyechart.readers.clauses import QUESTIONS, Clause, Token, skip_back


class Strength(IntEnum):
    """How strongly an answer is asserted."""

    NAMED = 0  # "the dog on the left barks"
    IMPLIED = 1  # "it is a dog", "I think B"
    CONCLUDED = 2  # "so B"; a reply that begins "B, ..."
    STATED = 3  # "the answer is B", "I choose B", "B is correct"
    HEADED = 4  # "Answer: B"
    HELD = 5  # in a box, a tag, a JSON key


OPERATORS = frozenset(("minus", "plus", "times", *"+-×·*/÷^²√"))
MAX_LEAD = 12  # words before an answer that are looked at
MAX_JUDGED = 8  # statements of a sentence that a verdict after them is about
NAMED, IMPLIED, CONCLUDED, STATED, HEADED, HELD = map(int, Strength)


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One thing that a reply says of some options, and where."""

    kind: str
    letters: tuple[str, ...]
    span: tuple[int, int]
    strength: int = NAMED
    is_letter: bool = False
    is_turn: bool = False  # it concludes, or replaces what was said before
    is_change: bool = False  # the turn is a change of mind
    rule: str = ""
    is_part: bool = False  # of a longer name, perhaps
    is_pair: bool = False  # letter and words together


class Group(msgspec.Struct, gc=False):
    """Mentions of a clause that are one ("(B) dog") or joined ("A and B")."""

    places: list[int]  # of its clause
    letters: tuple[str, ...]
    is_letter: bool
    is_joined: bool = False  # "A or B"
    is_denied: bool = False
    is_left: bool = False  # all others are excluded
    before: int = 0  # the roles of all words before it in its clause
    after: int = 0
    is_alone: bool = False  # with words that say nothing else
    is_bare: bool = False  # with nothing but an article


def find_statements(clauses: Sequence[Clause]) -> list[Statement]:
    """What the clauses say of the options that they name, in order."""
    items = _find_items(clauses)
    found: list[Statement] = []
    first = turn = n_sentences = 0  # statement of the sentence; how the sentence turns
    looked_at: tuple[str, ...] | None = None
    for number, clause in enumerate(clauses):
        if clause.starts_sentence and not _is_tick(clause):
            first = len(found)
        verdict = _find_verdict(clause) if len(found) > first else 0
        if verdict:
            first = max(first, len(found) - MAX_JUDGED)
            found[first:] = [_pronounce(one, verdict) for one in found[first:]]
            if verdict != r.BUT:
                continue
        opening = _open_roles(clause.words)
        turn = opening if clause.starts_sentence else turn | opening
        for one in _judge(clause, opening, turn):
            is_item = number in items and one.kind in _SAID and one.strength < STATED
            if one.is_letter and one.kind == "considered":
                looked_at, n_sentences = one.letters, 0
            is_item = is_item or (one.letters == looked_at and not one.is_letter and one.strength <= IMPLIED)
            is_reason = clause.words[0].roles & r.BECAUSE and one.strength <= IMPLIED
            if is_reason and found and found[-1].kind == "denied":
                one = replace(one, kind="mentioned")  # "A is wrong because July has 31 days."
            found.append(replace(one, kind="listed") if is_item else one)
        n_sentences += clause.is_last
        looked_at = looked_at if n_sentences < 2 else None  # "Consider option B. It shows a dog."
    return found


def _is_tick(clause: Clause) -> bool:
    """Whether a clause is only a mark that approves or rejects: "B. dog: it barks. ✓"."""
    return len(clause.words) == 1 and not clause.words[0].word[0].isalnum()


_SAID = frozenset(("asserted", "mentioned", "not-an-option", "several", "contradiction"))
_TURNS = r.SO | r.BUT | r.WAIT


def _find_items(clauses: Sequence[Clause]) -> frozenset[int]:
    """The clauses of a list of options: "A. cat", "(B) dog", on lines of their own or in a row."""
    found: dict[int, str] = {}
    paired: dict[int, str] = {}
    for number, clause in enumerate(clauses):
        words = clause.words
        leads = (
            token.letters is None and (token.is_mark or token.roles & r.OPTION or token.word.isdecimal())
            for token in words
        )
        place = next((place for place, is_lead in enumerate(leads) if not is_lead), len(words))
        if clause.previous is not None and clause.previous.roles & r.ANSWER:
            continue  # it is headed
        for at in range(place, len(words) - 1):
            if words[at].is_letter and _is_pair(words, at):
                paired[number] = paired.get(number, "") + words[at].word
        if place == len(words) or not words[place].is_letter or (number and clause.before not in "\n;."):
            continue
        if place + 1 == len(words) or words[place + 1].is_mark:
            found[number] = words[place].word
    letters = list(found.values())
    is_numbered = bool(clauses) and clauses[0].words[0].word.isdecimal()
    if len(letters) > 1 and 0 in found and ord(letters[1]) != ord(letters[0]) + 1 and not is_numbered:
        paired.pop(0, None)
        del found[0]  # the answer, before the others are gone through
    lines = frozenset(found) if len(set(found.values())) > 1 else frozenset()
    return lines | (frozenset(paired) if len(set("".join(paired.values()))) > 2 else frozenset())


def _is_pair(words: Sequence[Token], place: int) -> bool:
    """Whether a letter is followed by its own words: "B) dog"."""
    rest = (token for token in words[place + 1 :] if not (token.is_mark or token.roles & r.ARTICLE))
    after = next(rest, words[place])
    return not after.is_letter and after.letters == words[place].letters


def _find_verdict(clause: Clause) -> int:
    """Whether a clause that names no option says that what was named before is wrong, or right."""
    part = clause.words
    if len(part) > 5 or any(token.letters is not None for token in part):
        return 0
    if all(token.is_mark or token.roles & (r.YES | r.NO) for token in part):
        return r.WRONG if clause.roles & r.NO else r.RIGHT
    if clause.roles & r.WRONG and not clause.roles & r.NOT:
        return r.WRONG
    if clause.roles & r.RIGHT:
        return r.WRONG if clause.roles & (r.NOT | r.NOT_NEXT) else r.RIGHT
    if clause.roles & r.BUT and clause.roles & r.NOT:
        return r.BUT  # "B looks right but isn't"
    unknown = [token for token in part if not token.roles]
    is_other = clause.roles & r.BUT and unknown == [part[-1]]
    is_denied = clause.roles & r.NOT_NEXT and not unknown
    return r.WRONG if is_denied or is_other else 0  # "but it isn't one", "but it is a wolf"


def _pronounce(statement: Statement, verdict: int) -> Statement:
    if statement.kind not in ("asserted", "mentioned", "listed", "possible"):
        return statement
    if verdict in (r.WRONG, r.BUT):
        return replace(statement, kind="denied")
    return replace(statement, kind="asserted", strength=STATED)


def _judge(clause: Clause, opening: int, turn: int) -> Iterator[Statement]:
    part = clause.words
    groups = _find_groups(part)
    span = (part[0].start, part[-1].end)
    is_withdrawn = clause.roles & r.WITHDRAW and clause.ends_with not in QUESTIONS
    if turn & r.SO and (result := _find_other_result(part)):
        yield Statement("not-an-option", (), result, CONCLUDED, is_turn=True)
        return
    if not groups:
        if clause.roles & r.NONE:
            yield Statement("none", (), span)
        elif is_withdrawn:
            yield Statement("withdrawn", (), span)
        elif opening & r.WAIT:
            yield Statement("turned", (), span)
        elif clause.starts_sentence and opening & r.BUT:
            yield Statement("but", (), span)
        return
    _deny(part, groups)
    near = clause.roles | (clause.previous.roles if clause.previous else 0)
    is_sum = bool(near & r.TOTAL)  # "Total: 7"
    is_last = groups[0].is_alone and clause.is_last_line
    is_turn, is_change = is_sum or is_last or bool(turn & _TURNS), bool(turn & (r.BUT | r.WAIT))
    found: list[Statement] = []
    for group in groups:
        kind, strength = _find_context(part, group, clause), NAMED
        if kind == "asserted":
            strength = _find_strength(clause, group)
            kind = _find_kind(part, group, strength)
        if kind in ("asserted", "mentioned") and clause.roles & r.ALSO:
            kind = "also"
        first, last = part[group.places[0]], part[group.places[-1]]
        made = Statement(
            kind, group.letters, (first.start, last.end), strength, group.is_letter, is_turn, is_change
        )
        is_pair = first is not last and len(group.letters) == 1
        found.append(replace(made, is_part=first is last and first.is_part, is_pair=is_pair))
    subject = next((one.letters for one in found if one.kind == "mentioned" and one.is_letter), None)
    if subject is not None:  # "option B shows a dog"
        found = [
            replace(one, kind="listed") if one.letters == subject and not one.is_letter else one
            for one in found
        ]
    if part[0].roles & r.OR and clause.previous:  # "B. Or C.", "B (or C)"
        said = ("asserted", "mentioned", "possible", "considered")
        found = [replace(one, kind="also") if one.kind in said else one for one in found]
    yield from _settle(found, span)


def _find_kind(part: Sequence[Token], group: Group, strength: int) -> str:
    """What an assertion comes to: one option, several, one that is no option, or only a mention."""
    is_word = not group.is_letter
    if group.is_joined or (is_word and strength < STATED and _is_one_of_several(part, group)):
        return "several"
    if not group.letters:
        return "contradiction" if len(group.places) > 1 else "not-an-option"
    if strength > NAMED:
        return "asserted"
    if is_word:
        is_other = _is_general(part, group) or _is_loose(part, group) or _is_aside(part, group)
    else:
        is_other = not part[group.places[0]].is_bracketed
    return "mentioned" if is_other else "asserted"


def _find_other_result(part: Sequence[Token]) -> tuple[int, int] | None:
    """Where a conclusion comes to a number that is no option: "so the area is 6 - 2 = 4"."""
    signs = [place for place, token in enumerate(part) if token.word == "="]
    if not signs or signs[-1] + 1 >= len(part):
        return None
    result = part[signs[-1] + 1]
    return (result.start, result.end) if result.keys and result.letters is None else None


def _settle(found: list[Statement], span: tuple[int, int]) -> list[Statement]:
    """Of several assertions in one clause, the strongest; several if two are equally strong."""
    asserted = [one for one in found if one.kind == "asserted"]
    if len({one.letters for one in asserted}) < 2:
        return found
    if not any(one.is_letter for one in asserted) and asserted[-1].strength < asserted[0].strength < STATED:
        asserted = [replace(one, strength=NAMED) for one in asserted]  # "2 cats and 3 dogs"
    top = max(one.strength for one in asserted)
    strongest = [one for one in asserted if one.strength == top]
    rest = [one for one in found if one.kind != "asserted"]
    if len({one.letters for one in strongest}) == 1:
        return [*rest, strongest[0]]
    together = tuple(dict.fromkeys(letter for one in strongest for letter in one.letters))
    return [*rest, replace(strongest[-1], kind="several", letters=together, span=span)]


def _open_roles(part: Sequence[Token]) -> int:
    """How a clause turns from what was said before, by its first words."""
    roles = 0
    for place, token in enumerate(part[:3]):
        is_only_no = token.roles & r.NOT and place + 1 < len(part) and not part[place + 1].is_mark
        roles |= token.roles & ~r.WAIT if is_only_no else token.roles
    return roles & _TURNS


# -- Mentions that belong together


def _find_groups(part: Sequence[Token]) -> list[Group]:
    groups: list[Group] = []
    for place, token in enumerate(part):
        if token.letters is None:
            continue
        if groups and _extend(groups[-1], part, place, token):
            continue
        groups.append(Group([place], token.letters, token.is_letter))
    if groups:
        _look_around(part, groups)
    return groups


def _look_around(part: Sequence[Token], groups: Sequence[Group]) -> None:
    """Note what the words around the mentions of a clause do."""
    words = [token.roles for token in part if token.letters is None and not token.is_mark]
    before, after = (
        [0, *accumulate((token.roles for token in tokens), or_)] for tokens in (part, reversed(part))
    )
    for group in groups:
        group.before = before[group.places[0]]
        group.after = after[len(part) - 1 - group.places[-1]]
    groups[0].is_alone = len(groups) == 1 and all(roles & _BESIDE for roles in words)
    groups[0].is_bare = len(groups) == 1 and all(roles & r.ARTICLE for roles in words)


def _extend(group: Group, part: Sequence[Token], place: int, token: Token) -> bool:
    """Add a mention to the group before it: "(B) dog" is one, "A or B" are several."""
    last = group.places[-1]
    between = part[last + 1 : place]
    letters = token.letters or ()
    linking = r.ARTICLE | r.OPTION | r.OR | r.AND
    if not all(other.is_mark or other.roles & linking for other in between):
        return False
    is_joint = any(other.roles & (r.OR | r.AND) or other.word in "/&+|" for other in between)
    has_comma = any(other.word in ",،、" for other in between)
    is_next = token.is_letter and letters != group.letters and has_comma
    is_pair = token.is_letter != part[last].is_letter and not (is_joint or is_next)
    if is_pair and not group.letters:
        group.letters = letters  # "C) Aubrey", where there is no C
    elif is_pair:
        group.letters = tuple(letter for letter in group.letters if letter in letters)
        group.is_letter = True
    elif letters != group.letters:
        if not is_joint and not (token.is_letter and (has_comma or not between)):
            return False
        group.letters = tuple(dict.fromkeys((*group.letters, *letters)))
        group.is_joined = True
    group.places.append(place)
    return True


def _deny(part: Sequence[Token], groups: Sequence[Group]) -> None:
    """Mark the groups of a clause that are denied."""
    by_place = {group.places[0]: group for group in groups}
    is_denied = is_wrong = is_except = False
    since: list[Group] = []  # what a verdict would be about
    last_not = -1
    for place, token in enumerate(part):
        roles = token.roles
        if place in by_place:
            by_place[place].is_denied = is_denied or is_wrong
            since.append(by_place[place])
        if roles & r.NOT_LAST:
            _deny_all(since)
            since = []
        elif roles & r.NOT_NEXT:
            is_denied = is_except = True
        elif roles & r.NOT:
            is_denied, last_not = True, place
            if place and part[place - 1].roles & r.AND:
                since = []  # "nine birds and no cats"
        elif roles & r.WRONG and since and is_except:
            since[-1].is_denied, since[-1].is_left = False, True  # "everything except C is wrong"
        elif roles & r.WRONG or (roles & r.TOO and place + 1 < len(part) and not part[place + 1].is_mark):
            _deny_all(since)  # "A is too wide"
            is_wrong = is_wrong or not since
        elif roles & r.BE and 0 <= last_not < place - 1 and _is_in_phrase(part, last_not):
            is_denied, last_not = False, -1  # "the functions with no zeros are B"
    if last_not > groups[-1].places[-1]:
        _deny_all(since)


def _is_in_phrase(part: Sequence[Token], place: int) -> bool:
    """Whether a denial belongs to a noun: "functions with no zeros", "the cube that is not the same"."""
    before = skip_back(part, place - 1, r.BE)
    return before >= 0 and part[before].word in ("with", "that", "which", "who", "have", "has")


def _deny_all(groups: Sequence[Group]) -> None:
    for group in groups:
        group.is_denied = True


# -- What keeps a mention from being asserted, and how strongly it is


def _find_context(part: Sequence[Token], group: Group, clause: Clause) -> str:
    """A condition, a report, a question, a denial, a hedge; else "asserted"."""
    if clause.carried & r.REPORT:
        return "reported"
    if clause.carried & (r.IF | r.ELSE):
        return "supposed"
    if clause.ends_with and clause.ends_with in QUESTIONS:
        return "considered"
    if group.is_denied:
        return "denied"
    if clause.carried & r.FIRST:
        return "given-up"
    if part[group.places[0]].is_quoted:
        return "considered"
    if (group.before | group.after) & r.MAYBE or (
        clause.roles & r.WOULD and not clause.roles & (r.SELF | r.ANSWER) and not group.is_alone
    ):
        return "possible"
    if not group.is_letter and _is_qualified(part, group.places):
        return "considered"
    for place in range(group.places[0] - 1, -1, -1):
        if part[place].letters is not None or part[place].word[0].isdecimal():
            break
        if part[place].roles & r.LOOK and not part[place].roles & r.NEUTRAL:
            return "considered"
    return "asserted"


def _is_qualified(part: Sequence[Token], places: Sequence[int]) -> bool:
    """Whether a number is only a bound, or points somewhere: "at least 3", "3 or more", "Figure 3"."""
    first = part[places[0]]
    if not first.keys and not first.word[0].isdecimal():
        return False
    lead = part[max(0, places[0] - MAX_LEAD) : places[0]]
    at = next((at for at in reversed(range(len(lead))) if lead[at].keys), -1)
    if at >= 0:  # "from 12 to 30 it rose by 18": only what follows 30 belongs to 18
        lead = lead[at + 1 :]
    elif part[0].roles & r.BOUND:
        return True
    lead = [token for token in lead if token.word not in OPERATORS]
    is_round = bool(first.keys) and first.keys[0].endswith("0")
    if any(token.roles & r.BOUND or (token.roles & r.ABOUT and not is_round) for token in lead[-3:]):
        return True
    if lead and lead[-1].roles & (r.LABEL | r.OPTION):
        return lead[-1].word != "number"
    after = part[places[-1] + 1 : places[-1] + 3]
    is_bound = any(token.roles & (r.BOUND | r.ABOUT) for token in after)
    return is_bound or bool(after and after[0].word in ("ish", "o'clock", "o", "th", "rd", "st", "nd"))


def _is_one_of_several(part: Sequence[Token], group: Group) -> bool:
    """Whether words are joined to another thing that is no option: "a dog or a wolf", "cat and mouse"."""
    joints = r.OR | (r.AND if len(part) < 6 else 0)
    last, first = group.places[-1] + 1, skip_back(part, group.places[0] - 1, r.ARTICLE | r.ADJECTIVE)
    if last + 1 < len(part) and part[last].roles & joints and not part[last].is_mark:
        return True
    return first > 0 and bool(part[first].roles & joints) and not part[first].is_mark


def _is_subject(part: Sequence[Token], group: Group) -> bool:
    """Whether a mention begins its clause and something is said of it: "B has long ears"."""
    before, after = part[: group.places[0]], part[group.places[-1] + 1 : group.places[-1] + MAX_LEAD]
    begins = all(token.is_mark or token.roles & _BEFORE_SUBJECT for token in before)
    follows = next((token for token in after if not token.is_mark), None)
    return begins and follows is not None and not follows.roles & (r.BECAUSE | r.AND | r.OR)


_BEFORE_SUBJECT = r.ARTICLE | r.OPTION | r.ADJECTIVE | r.THOUGH | r.BECAUSE | r.SMALL | r.FUNCTION


_ASIDE = r.words(
    "to for off from after before until towards toward into without as become replaced beside behind near"
)


def _is_aside(part: Sequence[Token], group: Group) -> bool:
    """Whether words only follow a preposition that leads away from an answer: "married to a nurse"."""
    place = skip_back(part, group.places[0] - 1, r.ARTICLE | r.ADJECTIVE)
    first = part[group.places[0]]
    if place < 0 or part[place].word not in _ASIDE or first.keys or first.word in ("left", "right"):
        return False
    return not (place and part[place - 1].roles & r.BE)  # "the advertisement is for Coca-Cola"


def _is_loose(part: Sequence[Token], group: Group) -> bool:
    """Whether words are an aim, another's, or one of several amounts: "to buy a truck", "my dog's bed"."""
    first, last = group.places[0], group.places[-1]
    lead, rest = part[max(0, first - MAX_LEAD) : first], part[last + 1 : last + 1 + MAX_LEAD]
    if first < 2 and len(rest) > 1 and rest[0].roles & r.BE and rest[1].word[0].isdecimal():
        return True  # "Coal is 20, gas 29."
    if any(token.roles & r.SELF and token.word not in _OWN_WORDS for token in lead):
        return True
    if any(token.word == "to" and not after.roles & r.ARTICLE for token, after in pairwise(lead)):
        return True
    joints = (place for place, token in enumerate(rest) if token.roles & r.AND and not token.is_mark)
    return bool(part[first].keys) and any(
        after.keys or after.word.endswith(("others", "more"))
        for place in joints
        for after in rest[place + 1 : place + 4]
    )


_OWN_WORDS = ("i", "we", "let's", "i'd", "i'm", "we'd")


def _is_general(part: Sequence[Token], group: Group) -> bool:
    """Whether a subject is any of its kind: "A bus has ...", "Trucks carry ..."."""
    first, last = group.places[0], group.places[-1]
    rest = part[last + 1 : last + 1 + MAX_LEAD]
    if part[first].keys or not _is_subject(part, group):
        return False
    if not rest[0].roles and rest[0].word.endswith("s"):
        return True  # "The nucleus stores DNA."
    is_plural = first == 0 and part[first].word.endswith("s")
    if is_plural and len(rest) > 1:  # "Buses are large vehicles."
        return not rest[1].roles or bool(rest[1].roles & r.ADJECTIVE)
    is_usual = rest[0].word in ("has", "have", "would", "can", "may", "usually", "often")
    return is_plural or (is_usual and first > 0)


def _find_strength(clause: Clause, group: Group) -> int:
    """How strongly a mention is asserted, by the words before it and after it."""
    if group.is_left:
        return STATED
    part = clause.words
    lead = tail = heading = 0
    begin = group.places[0]
    while begin and part[begin - 1].letters is None:
        begin -= 1
        lead |= part[begin].roles
    for place in range(group.places[-1] + 1, len(part)):
        if part[place].letters is not None:
            break
        tail |= _find_role_after(part, place)
    before = clause.previous
    if before is not None and before.is_heading and group.places[0] <= 3:
        heading = before.roles
        if heading & (r.LISTING | r.NOT | r.WRONG):
            return NAMED
        is_open = before.words[-1].roles & r.BE or heading & (r.ANSWER | r.RIGHT)
        heading = heading if is_open else 0
    if heading & r.ANSWER:
        return HEADED
    if lead & r.ANSWER or (lead & r.CHOOSE and (group.is_letter or lead & r.SELF)):
        return STATED
    if lead & r.CHOOSE:
        return CONCLUDED
    if heading or (lead & (r.RIGHT | r.ONLY) and lead & (r.BE | r.OPTION)):
        return STATED
    is_called = tail & (r.RIGHT | r.ANSWER) and (tail & (r.BE | r.BE_LAST) or group.is_letter)
    if is_called or (tail & r.CHOOSE and _is_chosen(part, group)):
        return STATED
    follows_so = before is not None and len(before.words) < 4 and before.roles & r.SO
    if lead & r.SO or (follows_so and not clause.starts_sentence):
        return CONCLUDED
    has_it_is = group.is_letter and _has_it_is(part[begin : group.places[0]])
    if lead & (r.THINK | r.ONLY) or tail & r.BE_LAST or has_it_is:
        return IMPLIED
    if _is_result(part, group):
        return CONCLUDED
    if not part[group.places[0]].is_letter and _follows(part, group, r.BE):
        return IMPLIED
    if group.is_letter and group.is_alone:
        return STATED if clause.is_last_line else IMPLIED if before else CONCLUDED
    if group.is_bare or _follows(part, group, r.PRESENT):
        return IMPLIED
    is_pair = len(group.places) > 1 and len(group.letters) == 1
    is_first = group.is_letter and not before and group.places[0] <= 3 and not lead
    return CONCLUDED if is_first and (is_pair or not _is_subject(part, group)) else NAMED


def _find_role_after(part: Sequence[Token], place: int) -> int:
    """What a word after an answer does; "right" may be a side ("on the right"), "answer" a verb."""
    word, previous = part[place], part[place - 1]
    if word.word == "right" and previous.roles & r.ARTICLE:
        return word.roles & ~r.RIGHT
    return word.roles & ~r.ANSWER if previous.word in ("you", "i", "to") else word.roles


def _is_chosen(part: Sequence[Token], group: Group) -> bool:
    """Whether the writer chooses a mention: "B is selected", not "B was chosen by most"."""
    rest = part[group.places[-1] + 1 : group.places[-1] + 1 + MAX_LEAD]
    words = [token for token in rest if not token.is_mark]
    return bool(words) and bool(words[-1].roles & r.CHOOSE) and group.is_letter


def _has_it_is(lead: Sequence[Token]) -> bool:
    """Whether "it is", "that's", "it would be" or the like leads to a mention."""
    words = [token.roles for token in lead if token.roles & r.BE or not token.roles & (r.SMALL | r.WOULD)]
    return any(one & r.IT and (one | other) & r.BE for one, other in pairwise([*words, 0]))


def _is_result(part: Sequence[Token], group: Group) -> bool:
    """Whether a number is what an expression comes to: the 14 of "20 - 6 = 14"."""
    first = group.places[0]
    before = part[max(0, first - MAX_LEAD) : first]
    is_equal = bool(before) and before[-1].word == "=" and bool(part[first].keys)
    return is_equal and any(token.word in OPERATORS for token in before)


def _follows(part: Sequence[Token], group: Group, role: int) -> bool:
    """Whether a verb leads to a mention at once: "the size is 55", not "shows a man with a dog"."""
    place = skip_back(part, group.places[0] - 1, (r.ARTICLE | r.ADJECTIVE | r.SMALL) & ~role)
    return place >= 0 and bool(part[place].roles & role)


_BESIDE = r.OPTION | r.ARTICLE | r.SMALL | r.BUT | r.SO | r.WAIT | r.THINK | r.BE | r.NEUTRAL | r.IT
_BESIDE |= r.RIGHT | r.ONLY | r.WOULD
