"""From words to statements: what each place that names an option says of it.

Within a segment of a sentence (`eyechart.score.clauses`), names are denied by the words around them, or all
of them are supposed, reported or considered. What is left is asserted if a cue leads to it ("the answer is
B"), if it is called right ("B fits"), if it stands alone ("so B", "B.", "it is B"); else it is merely named.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from eyechart.score import clauses as c
from eyechart.score.choice_options import ChoiceOptions
from eyechart.score.clauses import Segment, Unit, find_quoted, find_segments
from eyechart.score.groups import MAX_BETWEEN, MAX_LEAD, VERDICT, Groups, find_items, may_join
from eyechart.score.naming import Names, find_named_units, is_unspaced
from eyechart.score.statements import Statement

_CHANGES = c.CORRECTION | c.WITHDRAW | c.CONTRAST
_TURNS = c.CONCLUDE | c.CORRECTION | c.WITHDRAW | c.CONTRAST | c.ONLY
# What may stand between a cue and the name it leads to, and between a name and what is said of it.
_LEADS = _TURNS | c.ANSWER | c.OPTION | c.COPULA | c.PRONOUN | c.CHOOSE | c.BELIEVE | c.RIGHT | c.MATCH
_LEADS |= c.ARTICLE | c.FILLER | c.LABEL | c.YES | c.NO | c.EITHER | c.BOTH | c.SELF | c.LISTING | c.TOTAL
_CUES = (
    c.ANSWER
    | c.OPTION
    | c.RIGHT
    | c.CHOOSE
    | c.CONCLUDE
    | c.MATCH
    | c.ONLY
    | c.BELIEVE
    | c.TOTAL
    | c.CORRECTION
)
_SAYS = c.COPULA | c.COPULA_LAST | c.RIGHT | c.MATCH | c.ANSWER | c.OPTION | c.CHOOSE | c.PRONOUN
_SAYS |= c.ARTICLE | c.FILLER | c.ONLY | c.LABEL | c.SELF
_PAUSES = (
    c.CONCLUDE | c.CORRECTION | c.WITHDRAW | c.BELIEVE | c.CONTRAST | c.YES | c.NO | c.FILLER
)  # a comma may follow
_BARE = c.FILLER | c.ARTICLE | c.OPTION | c.ANSWER | c.YES | c.CONCLUDE | c.PRONOUN | c.COPULA | c.SELF
_ENDS_NAME = (
    c.REASON | c.CONTRAST | c.DENY_NEXT | c.CONCLUDE | c.CONDITION | c.NEUTRAL | c.BOTH | c.EITHER | c.CONCEDE
)
_STOPS = c.DENY | c.WRONG | c.CONSIDER | c.POSSIBLE
_STOPS_AFTER = c.DENY | c.WRONG | c.CONTRAST | c.CORRECTION
_FRAMES = c.SELF | c.SOURCE | c.MATCH | c.CONCLUDE | c.DENY_NEXT | c.BELIEVE | c.REASON | c.ANSWER
_PRAISE = c.RIGHT | c.ANSWER | c.MATCH | c.CHOOSE | c.OPTION
_PASSED_BEFORE = frozenset("()[]{}<>\"'`*_~$:=>|#-")
_PASSED_AFTER = frozenset("()[]*_\"'`$")


def find_statements(text: str, start: int, options: ChoiceOptions) -> list[Statement]:
    """Everything that a reply says of its options from `start` on, in order.

    >>> from eyechart.score.choice_options import prepare_options
    >>> options = prepare_options({"A": "cat", "B": "dog", "C": "rabbit"})
    >>> said = find_statements("If it purrs, A. But it is no cat. So B.", 0, options)
    >>> [(statement.kind, statement.letters) for statement in said]
    [('conditional', ('A',)), ('denied', ('A',)), ('asserted', ('B',))]
    """
    body = " " * start + text[start:] if start else text
    units, codes = find_named_units(body, options)
    names = [place for place, unit in enumerate(units) if unit.letters is not None]
    return list(_Reader(body, units, names, options, codes).read()) if names else []


class _Reader:
    """One pass over the segments of a reply."""

    def __init__(
        self,
        text: str,
        units: list[Unit],
        names: list[int],
        options: ChoiceOptions,
        codes: tuple[str, ...],
    ) -> None:
        self._text, self._units, self._options = text, units, options
        self._segments = find_segments(units)
        self._whole_names = Names(text, units, options, codes)
        self._groups = Groups(text, units, self._segments, self._whole_names)
        self._quoted = find_quoted(units) if '"' in text or text.count("'") > 1 else set[int]()
        self._items = find_items(text, units, names, self._segments)
        self._n_units = len(units)  # without the line breaks at the end
        while self._n_units and units[self._n_units - 1].mark == "\n":
            self._n_units -= 1
        self._all_names = names
        self._named_letters = {units[place].letters for place in names if units[place].is_letter}
        self._last_named = -1  # the unit that "this is wrong" speaks of
        self._last_number = -1  # the last option that is named as a number, once it was looked for
        self._done = -1  # the last unit of a name that was bound to another: "B. dog"
        self._said_to_be: Statement | None = (
            None  # what the first part of the sentence says: "it is a dog, so"
        )
        self._sentence = 0  # roles of the sentence so far
        self._is_described = False  # the sentence speaks of what an option says: "Option B shows ..."
        self._stated = set[str]()  # what the sentence calls the answer
        # Of the segment that is read:
        self._number = 0
        self._segment = Segment(0, "", starts_sentence=True)
        self._names: list[int] = []
        self._roles_before: list[int] = []  # of all units before, for each unit

    def read(self) -> Iterator[Statement]:
        has_turned, first, all_names = False, 0, self._all_names
        for number, segment in enumerate(self._segments):
            self._number, self._segment = number, segment
            self._sentence = segment.roles if segment.starts_sentence else self._sentence | segment.roles
            if segment.starts_sentence:
                self._is_described = self._describes_option()
                self._stated = set()
            has_turned = has_turned or bool(segment.roles & (c.CORRECTION | c.WITHDRAW))
            stop = bisect_left(all_names, segment.end, first)
            self._names, first = all_names[first:stop], stop
            for said in map(self._check, self._read_names() if self._names else self._read_verdict()):
                if said.kind == "asserted" and said.is_cued:
                    self._stated.update(said.letters)
                if has_turned and said.kind in ("asserted", "implied"):
                    has_turned = False
                    yield msgspec.structs.replace(said, is_turn=True, is_change=True)
                else:
                    yield said

    def _describes_option(self) -> bool:
        """Whether a sentence says what the option says that was looked at before: "It states that ..."."""
        units, start = self._units, self._segment.start
        before = self._get_segment(self._number - 1)
        is_looked_at = before is not None and before.roles & c.CONSIDER and self._last_named >= before.start
        if not is_looked_at or not units[self._last_named].is_letter or not units[start].roles & c.PRONOUN:
            return False
        return not any(unit.roles & c.COPULA for unit in units[start : start + 2])

    def _check(self, said: Statement) -> Statement:
        """The statement, or the contradiction that it makes: "It is a dog, so the answer is A."."""
        if self._segment.starts_sentence:
            self._said_to_be = None
        if said.kind == "named" and len(self._names) == 1 and self._segment.starts_sentence:
            place = self._names[0]
            is_all = self._is_closed(place) or self._whole_names.is_number(place)
            if is_all and self._look_back(place)[0] & c.COPULA:
                self._said_to_be = said
        elif self._said_to_be is not None and said.kind != "asserted":
            self._said_to_be = None
        elif (
            self._said_to_be is not None
            and self._segment.roles & c.CONCLUDE
            and said.is_letter
            and set(said.letters).isdisjoint(self._said_to_be.letters)
        ):
            return Statement("contradiction", (), said.span, is_turn=True)
        return said

    def _read_verdict(self) -> Iterator[Statement]:
        """What a segment without a name says of the one before: "this is wrong", "- incorrect", "✓"."""
        segment, roles = self._segment, self._segment.roles
        words = [unit for unit in self._units[segment.start : segment.end] if not unit.mark or unit.roles]
        if not words:
            return
        span = (words[0].start, words[-1].end)
        if roles & c.WITHDRAW:
            yield Statement("withdrawn", (), span, "past" if roles & c.GIVEN_UP else "stated")
        elif not self._is_remark() and (
            words[0].roles & (c.CONTRAST | c.CORRECTION)
            or (words[0].roles & c.DENY_NEXT and all(unit.roles for unit in words))
        ):
            yield Statement("turned", (), span)
        following = self._get_segment(self._number + 1)
        if roles & c.NONE and not (following is not None and following.roles & c.DENY_NEXT):
            yield Statement("none", (), span)  # not "none of the options except C"
        # Of an item of a list more may be said: "B. dog: does not match", "B. dog: matches the outline".
        is_of_item = (
            segment.before in (":", "-") and not segment.starts_sentence and self._last_named in self._items
        )
        known = VERDICT | c.FUNCTION if is_of_item else VERDICT
        is_plain = all(unit.roles & known and not unit.roles & c.NEUTRAL for unit in words)
        is_plain = is_plain or (
            is_of_item and bool(words[0].roles & (c.MATCH | c.RIGHT | c.YES | c.WRONG | c.DENY))
        )
        if roles & c.CONTRAST and roles & c.PRONOUN and roles & c.COPULA and not is_plain:
            yield Statement("renamed", (), span)  # "it looks like a dog, but it is a wolf"
        is_heading = following is not None and following.before == ":"
        if self._last_named < 0 or not is_plain:
            return
        last = self._units[self._last_named]
        is_asked = self._text[last.end : words[0].start].strip(" \n)*\"'.") in c.QUESTION_MARKS
        if is_heading and not (roles & c.YES and is_asked):  # "Is it D? Yes: it has hooves."
            return
        if segment.ends_with in c.QUESTION_MARKS:
            if roles & c.EITHER:  # "B ... or is it?"
                yield Statement("withdrawn", (), span)
        elif roles & (c.WRONG | c.DENY | c.DENY_NEXT) and not (roles & c.WRONG and roles & c.DENY):
            is_said_of_it = roles & (c.RIGHT | c.WRONG | c.MATCH | c.CONTRAST) or len(words) <= 2
            is_doubted = roles & c.CONTRAST and roles & c.SELF  # "yes, but I'm not sure"
            is_name = last.is_letter or not self._whole_names.is_yes_or_no(self._last_named)
            if is_said_of_it and (is_name or is_doubted):
                yield Statement("denied", last.letters or (), span)
        elif (
            roles & (c.RIGHT | c.MATCH | c.YES)
            and not roles & c.DENY
            and last.letters
            and (self._last_named in self._items or (roles & c.YES and is_asked))
        ):
            yield Statement("asserted", last.letters, (last.start, last.end), is_turn=True)

    def _is_remark(self) -> bool:
        """Whether a segment is an idiom that takes nothing back: "but I'm not 100% sure", "but note"."""
        following, segment = self._get_segment(self._number + 1), self._segment
        goes_on = following is not None and not following.starts_sentence and segment.end - segment.start == 1
        return bool((segment.roles | (following.roles if following and goes_on else 0)) & c.NEUTRAL)

    def _read_names(self) -> Iterator[Statement]:
        segment = self._segment
        self._groups.enter(self._number, self._names)
        self._roles_before = self._add_roles()
        stance = _find_stance(segment)
        for place in self._names:
            if place <= self._done:
                continue
            unit = self._units[place]
            span = (unit.start, unit.end)
            bound = self._groups.bind(place)
            last = bound.last if bound else place
            letters = bound.letters if bound else unit.letters or ()
            self._done = max(self._done, last)
            self._last_named = place
            is_open = False
            if place in self._groups.denied or last in self._groups.denied:
                rule = "heading" if self._groups.is_heading else "stated"
                yield Statement("denied", letters or unit.letters or (), span, rule, is_letter=unit.is_letter)
            elif place in self._quoted:
                kind = "reported" if unit.is_letter else "part-of-name"
                yield Statement(kind, letters or unit.letters or (), span, is_letter=unit.is_letter)
            elif bound and not bound.letters:
                yield Statement("contradiction", (), span)
            elif not bound and not unit.is_letter and not self._whole_names.is_whole(place):
                if self._whole_names.is_counted(place):
                    yield Statement("part-of-name", letters, span, is_letter=False)
            elif segment.roles & c.ALSO and unit.is_letter and stance in ("", "possible", "given-up"):
                yield Statement("possible", letters, span)
            elif stance:
                is_second = (stance == "possible" and self._is_bare(place, last, c.POSSIBLE | c.EITHER)) or (
                    stance == "considered" and bool(self._units[segment.start].roles & c.EITHER)
                )  # "B, maybe D", "B ... or is it D?"
                kind = "considered" if stance == "possible" else stance
                yield Statement("possible" if is_second else kind, letters, span, is_letter=unit.is_letter)
            elif self._is_considered(place):
                yield Statement("considered", letters, span, is_letter=unit.is_letter)
            else:
                said = self._read_open(place, last, letters, is_stated=bound is not None and bound.is_stated)
                is_open = said is not None and said.kind not in ("mentioned", "listed")
                if said is not None:
                    yield said
            self._is_described = self._is_described or (unit.is_letter and bool(letters) and not is_open)

    def _read_open(
        self, place: int, last: int, letters: tuple[str, ...], *, is_stated: bool
    ) -> Statement | None:
        """A name that is neither denied nor supposed: asserted, merely named, or one of several."""
        unit = self._units[place]
        span = (unit.start, unit.end)
        if is_stated:  # "a dog, which is option B"
            return Statement(
                "asserted",
                letters,
                (unit.start, self._units[last].end),
                is_turn=bool(self._sentence & _TURNS),
                is_cued=True,
            )
        said = self._assert(place, last, letters)
        if said is not None and said.kind == "asserted" and self._is_reason(letters):
            return Statement("listed", letters, span, is_letter=unit.is_letter)
        is_said = said is not None and said.kind in ("asserted", "implied")
        joined = self._groups.find_joined(place, last, letters)
        if joined and (is_said or (unit.is_letter and self._is_list())):
            return Statement("ambiguous" if is_said else "listed", tuple(sorted({*letters, *joined})), span)
        if (
            not joined
            and unit.is_letter
            and place > self._segment.start
            and self._units[place - 1].roles & c.EITHER
        ):
            return Statement("ambiguous", letters, span)  # "Or B."
        if said is not None and not unit.is_letter and self._is_described:
            before = self._look_back(place)[0]
            is_given = said.kind == "asserted" and before & c.CHOOSE and not before & (c.ANSWER | c.CONCLUDE)
            if said.kind == "named" or is_given:  # "Option B shows a dog", "option B gives 4/3"
                return Statement("listed", letters, said.span, is_letter=False)
        return said

    def _is_reason(self, letters: tuple[str, ...]) -> bool:
        """Whether a reason speaks of another option than its sentence calls the answer."""
        is_reason = self._units[self._segment.start].roles & c.REASON and not self._segment.starts_sentence
        return bool(is_reason and self._stated and self._stated.isdisjoint(letters))

    def _get_segment(self, number: int) -> Segment | None:
        return self._segments[number] if 0 <= number < len(self._segments) else None

    def _get_unit(self, place: int) -> Unit | None:
        return self._units[place] if 0 <= place < len(self._units) else None

    def _add_roles(self) -> list[int]:
        roles, total = [], 0
        for unit in self._units[self._segment.start : self._segment.end]:
            roles.append(total)
            total |= unit.roles
        return roles

    def _is_considered(self, place: int) -> bool:
        looked = c.CONSIDER | c.DOUBT | c.ALSO  # "let me check B", "I doubt it is B", "too heavy to be a dog"
        return bool(self._roles_before[place - self._segment.start] & looked)

    def _is_list(self) -> bool:
        segment = self._segment
        return segment.end - segment.start < 200 and all(
            map(may_join, self._units[segment.start : segment.end])
        )

    def _is_bare(self, place: int, last: int, also: int = 0) -> bool:
        """Whether a segment is this option and nothing else."""
        if any(not place <= name <= last for name in (self._names[0], self._names[-1])):
            return False
        allowed, segment = _BARE | also, self._segment
        return all(
            unit.mark or unit.letters is not None or unit.roles & allowed
            for unit in self._units[segment.start : segment.end]
        )

    # -- What is asserted

    def _assert(self, place: int, last: int, letters: tuple[str, ...]) -> Statement | None:
        """How a name that is neither denied nor supposed is used."""
        unit, segment = self._units[place], self._segment
        span = (unit.start, self._units[last].end)
        before, reached = self._look_back(place)
        subject = self._roles_before[reached + 1 - segment.start] if reached >= segment.start else 0
        if (
            segment.before == "," and before & c.COPULA and reached < segment.start
        ):  # "the answer, however, is B"
            subject |= self._sentence
        after, stopped = self._look_ahead(last)
        kind = self._find_kind(place, last, before, subject, after, stopped)
        if kind in ("asserted", "implied") and unit.is_letter and self._is_framed(place, before, reached):
            return Statement("reported", letters, span)
        if self._is_announced(before, subject):
            return Statement("listed", letters, span)
        is_item = place in self._items and not before & (c.ANSWER | c.CHOOSE)
        if is_item and not self._items[place] and not after & (c.RIGHT | c.ANSWER):
            return Statement("listed", letters, span)
        if is_item and kind in ("", "named"):
            kind = "asserted"
        said_before = before | subject | self._sentence
        is_turn, is_change = bool(said_before & _TURNS), bool(said_before & _CHANGES)
        is_turn = is_turn or (kind == "asserted" and self._is_total(place, before))
        if not kind:
            return self._mention(place, last, letters)
        if not letters:
            is_meant = kind == "asserted" and (self._is_closed(last) or is_item)
            return Statement("not-an-option", (), span, is_turn=is_turn) if is_meant else None
        is_called = (before | subject) & (c.ANSWER | c.CHOOSE) or is_item  # not "the letter shown is B"
        is_unclear = kind == "implied" or (kind == "asserted" and before & c.COPULA and not is_called)
        if len(letters) > 1 or (is_unclear and unit.is_letter and self._is_text_too(unit)):
            kind = "named" if kind == "named" else "ambiguous"
            return Statement(kind, letters, span, is_turn=is_turn, is_letter=False)
        called = c.ANSWER if segment.roles & c.TOTAL else c.ANSWER | c.CHOOSE
        rule = "stated"
        if kind == "implied":
            rule = "implied" if unit.is_letter else "option-text"
        elif self._number == 0 and not before & ~c.OPTION:
            rule = "lettered" if unit.is_letter else "option-text"
        return Statement(
            kind,
            letters,
            span,
            rule,
            is_turn=is_turn,
            is_letter=unit.is_letter,
            is_change=is_change,
            is_cued=bool((before | subject) & called or (unit.is_letter and after & c.ANSWER)),
            is_subject=not unit.is_letter and self._is_subject(place, last),
        )

    def _mention(self, place: int, last: int, letters: tuple[str, ...]) -> Statement | None:
        """A letter of which something is said that no rule knows; explanations and lists are left out."""
        roles = self._sentence | self._segment.roles
        unit, following = self._units[place], self._get_unit(last + 1)
        if not letters:
            return None
        is_alone = self._is_bare(place, last) and not self._segment.roles & c.COPULA
        is_would = following is not None and following.roles & c.WOULD and self._has_content(last)
        is_listed = is_alone or roles & c.REASON or is_would or not unit.is_letter
        kind = "listed" if is_listed else "mentioned"
        span, is_turn = (unit.start, unit.end), bool(roles & _CHANGES)
        return Statement(kind, letters, span, is_turn=is_turn, is_letter=unit.is_letter)

    def _is_subject(self, place: int, last: int) -> bool:
        """Whether a name begins its segment and something is said of it: "the cat in the background is"."""
        first = self._segment.start
        head = self._units[first : min(place, first + 6)]
        return not self._is_closed(last) and all(unit.roles & (c.ARTICLE | c.MODIFIER) for unit in head)

    def _has_content(self, last: int) -> bool:
        """Whether a segment says after a name what it is like: "D would be red", not "D would be as good"."""
        said = self._units[last + 1 : min(self._segment.end, last + MAX_LEAD)]
        return any(not unit.mark and not unit.roles & ~c.MODIFIER for unit in said)

    def _find_kind(self, place: int, last: int, before: int, subject: int, after: int, stopped: int) -> str:
        """Asserted, implied, named or nothing, by what leads to a name and what is said of it."""
        unit, segment = self._units[place], self._segment
        is_closed, is_name = self._is_closed(last), not unit.is_letter and last == place
        if stopped >= self._n_units and self._is_cut_off(after):
            return ""
        following = self._get_unit(last + 1)
        is_would = last == place and following is not None and bool(following.roles & c.WOULD)
        if is_would and not before & c.ONLY and (not after & _PRAISE or stopped < segment.end):
            return ""  # "a dog would be smaller", "to say B would be a stretch"
        if place in self._groups.excepted or (is_name and self._is_total(place, before)):
            return "asserted"
        if before & (c.ANSWER | c.CHOOSE):
            return "asserted" if is_closed or after or not is_name else "named"
        if after & (c.RIGHT | c.ANSWER) or (
            not is_name
            and (
                after & c.MATCH
                or (after & c.CHOOSE and (stopped >= segment.end or after & (c.COPULA | c.SELF)))
                or (after & c.OPTION and after & c.SELF)
            )
        ):
            return "asserted"
        if (
            before & c.MATCH
            or (before & c.RIGHT and before & (c.COPULA | c.OPTION))
            or (before & c.ONLY and before & c.OPTION)
        ):
            return "asserted"
        if before & (c.CONCLUDE | c.CORRECTION | c.WITHDRAW) and is_closed:
            return "asserted"
        if not is_name and after & c.ONLY and after & c.OPTION:
            return "asserted"
        if before & c.COPULA and subject & (c.ANSWER | c.OPTION if unit.is_letter else c.ANSWER):
            return "asserted"
        if before & c.COPULA and (before | subject) & c.PRONOUN and is_closed:
            return "implied"
        if before & (c.BELIEVE | c.CONTRAST) and is_closed:
            return "implied"
        if stopped >= segment.end and (after & c.COPULA_LAST or (after & c.COPULA and after & c.PRONOUN)):
            return "implied"
        if self._is_bare(place, last):
            return self._find_bare_kind(last) or ("named" if is_name else "")
        if (
            unit.is_letter
            and is_closed
            and (before & c.ONLY or (before & c.COPULA and self._text[unit.start].isupper()))
        ):
            return "implied"
        if unit.is_letter and before & c.ONLY and not after & c.COPULA:
            return "implied"  # "only D has four sides"
        is_alone = is_closed or (self._whole_names.is_number(place) and len(self._names) == 1)
        if not unit.is_letter and is_alone and self._follows_conclusion():
            return "implied"  # "so the picture shows the dog", "so 3 birds remain"
        return "named" if not unit.is_letter else ""

    def _follows_conclusion(self) -> bool:
        """Whether a segment begins with "so", or one that is nothing else precedes it: "Hence, ..."."""
        segment, before = self._segment, self._get_segment(self._number - 1)
        is_led = before is not None and not segment.starts_sentence and before.end - before.start == 1
        first = before.start if before is not None and is_led else segment.start
        return bool(self._units[first].roles & c.CONCLUDE)

    def _is_cut_off(self, after: int) -> bool:
        """Whether the reply ends before it says what an option is: "Option B is"."""
        last = self._units[self._n_units - 1]
        is_copula = last.roles & c.COPULA and not last.roles & c.COPULA_LAST and last.word.isascii()
        return bool(is_copula) and not last.mark and not after & c.PRONOUN

    def _is_framed(self, place: int, before: int, reached: int) -> bool:
        """Whether a clause that states an answer depends on words that no rule knows: "it is held that B"."""
        lead = self._units[reached + 1 : place]
        is_clause = before & c.ANSWER or (before & c.COPULA and before & c.PRONOUN)
        is_choice = any(unit.roles & c.CHOOSE and unit.roles & c.OPINION for unit in lead)
        if reached < self._segment.start or before & c.SELF or not (is_clause or is_choice):
            return False
        is_own = self._units[self._segment.start].roles & (c.CONTRAST | c.CIRCUMSTANCE)
        if is_own and not self._segment.roles & c.WOULD:
            return False  # "but on a closer look it is C", "after zooming in the answer is D"
        head = self._units[max(self._segment.start, reached - MAX_LEAD) : reached + 1]
        if any(unit.roles & _FRAMES and not unit.roles & c.ARTICLE for unit in head):
            return False
        return any(
            not (unit.roles or unit.mark or is_unspaced(unit.word)) and unit.letters is None for unit in head
        )

    def _is_announced(self, before: int, subject: int) -> bool:
        """Whether a name only begins a list of all options: "The options are A. cat, B. dog"."""
        if before & (c.RIGHT | c.CHOOSE | c.CONCLUDE | c.MATCH | c.ONLY | c.ANSWER):
            return False
        is_led = before & c.LISTING or (before & c.COPULA and subject & c.LISTING)
        return bool(is_led) and len(self._named_letters) > 1

    def _is_total(self, place: int, before: int) -> bool:
        """Whether a number is called the result: "7 in total", "the sum of 3 and 4 is 7"."""
        if not self._whole_names.is_number(place):
            return False
        is_result = self._is_result(place)
        if not (before | self._segment.roles) & c.TOTAL and not is_result:
            return False
        if self._last_number < 0:
            numbers = (name for name in reversed(self._all_names) if self._whole_names.is_number(name))
            self._last_number = next(numbers)
        if place != self._last_number:
            return False
        return is_result or self._names[0] == place or bool(before & (c.COPULA | c.CHOOSE))

    def _is_result(self, place: int) -> bool:
        """Whether a number is what a sum comes to: "2 + 1 = 3"."""
        if not place or self._units[place - 1].mark != "=" or not self._is_closed(place):
            return False
        terms = self._units[max(self._segment.start, place - MAX_BETWEEN) : place - 1]
        return any(unit.mark in ("+", "×", "*", "-", "/") or unit.word[:1] in ("+", "-") for unit in terms)

    def _find_bare_kind(self, last: int) -> str:
        """A segment that is an option and nothing else: "B.", "B, because ...", "it is round: B"."""
        segment, before, following = (
            self._segment,
            self._get_segment(self._number - 1),
            self._get_segment(self._number + 1),
        )
        if self._text[self._units[last].end : self._units[last].end + 4].strip("*_ ") == ":":  # "Now B:"
            return ""
        if len(self._units[last].word) > 1 and self._units[last].is_letter and not segment.is_last:
            return ""  # "The second option, B, ..."
        if len(self._items) > 1 and self._is_next_item(last):
            return ""  # a list that is cut off
        if (
            segment.before == ":"
            and before is not None
            and not any(
                unit.roles & _CUES and not unit.roles & c.MODIFIER
                for unit in self._units[before.start : before.end]
            )
            and self._whole_names.is_number(last)
        ):
            return ""  # "First row: 3"
        has_reason = following is not None and not following.starts_sentence and following.roles & c.REASON
        if (
            segment.before == ":"
            or self._number == 0
            or (segment.starts_sentence and (segment.is_last or has_reason))
        ):
            return "asserted"
        is_looked_at = (
            before is not None
            and not segment.starts_sentence
            and before.roles & (c.CONSIDER | c.POSSIBLE | c.DOUBT)
        )
        return "implied" if segment.is_last and not is_looked_at else ""

    def _is_next_item(self, last: int) -> bool:
        """Whether a letter goes on with the list of options before it."""
        labels, unit = list(self._options.labels.values()), self._units[last]
        before = self._units[max(self._items)].letters
        if not unit.is_letter or not unit.letters or not before or max(self._items) > last:
            return False
        return labels.index(unit.letters[0]) == labels.index(before[0]) + 1

    def _is_closed(self, last: int) -> bool:
        """Whether nothing follows a name that would make it the subject of a sentence."""
        following = self._get_unit(last + 1)
        if following is None or following.mark:
            return following is None or following.mark != "'"
        is_adverb = following.roles & c.FILLER and not following.roles & c.COPULA
        return bool(following.roles & _ENDS_NAME or is_adverb) or is_unspaced(following.word)

    def _is_text_too(self, unit: Unit) -> bool:
        """Whether the letter is what another option says: "the blood type is A"."""
        letters = self._options.by_case.get(self._text[unit.start], ())
        return bool(letters) and letters != unit.letters

    def _look_back(self, place: int) -> tuple[int, int]:
        """The roles of what leads to a name, and the unit before that."""
        units, roles, at = self._units, 0, place - 1
        while at >= 0 and place - at < MAX_LEAD and units[at].letters is None:
            unit = units[at]
            if unit.mark and not unit.roles:
                if not self._may_pass(at):
                    break
            elif not unit.roles & _LEADS or (
                unit.roles & _STOPS and not unit.roles & (c.CORRECTION | c.FILLER)
            ):
                break
            else:
                roles |= unit.roles & _LEADS
            at -= 1
        return roles, at

    def _may_pass(self, at: int) -> bool:
        r"""Whether a mark may stand between a cue and a name: "Answer: **B**", "so, B", "Answer:\n\nB"."""
        mark, before = self._units[at].mark, self._get_unit(at - 1)
        if mark in _PASSED_BEFORE or (ord(mark) > 0x2000 and mark not in c.ENDS):
            return True
        if before is None:
            return False
        if mark == ",":
            return bool(before.roles & _PAUSES)
        if mark == ".":
            return bool(before.roles & (c.CORRECTION | c.WITHDRAW))
        if mark != "\n":
            return False
        stop = at - MAX_LEAD
        while at > max(stop, 0) and self._units[at].mark and self._units[at].mark in '\n*_#"':
            at -= 1
        return self._units[at].mark == ":" or bool(self._units[at].roles & (c.ANSWER | c.CONCLUDE))

    def _look_ahead(self, last: int) -> tuple[int, int]:
        """The roles of what is said of a name right after it, and the unit after that."""
        units, roles, at = self._units, 0, last + 1
        while at < len(units) and at - last < MAX_LEAD and units[at].letters is None:
            unit = units[at]
            if unit.mark and not unit.roles:
                following = self._get_unit(at + 1)
                is_aside = unit.mark == "," and following is not None and following.roles & c.COPULA
                if unit.mark not in _PASSED_AFTER and not is_aside:
                    break
            elif not unit.roles & _SAYS or (
                unit.roles & _STOPS_AFTER and not unit.roles & (c.RIGHT | c.MATCH)
            ):
                break
            else:
                roles |= unit.roles & _SAYS
            at += 1
        following, said = self._get_unit(at), units[at - 1]
        if (
            said.roles & c.RIGHT
            and said.roles & c.MODIFIER
            and following is not None
            and not (following.mark or following.roles)
        ):
            roles &= ~c.RIGHT  # "B is right of the door"
        return roles, at


def _find_stance(segment: Segment) -> str:
    if segment.ends_with in c.QUESTION_MARKS:
        return "considered"
    if segment.carried & (c.CONDITION | c.OTHERWISE):
        return "conditional"
    if segment.carried & c.REPORT:
        return "reported"
    is_own = segment.roles & c.SELF and segment.roles & c.CHOOSE and not segment.starts_sentence
    if segment.carried & c.GIVEN_UP or (segment.roles & c.CONCEDE and not is_own):
        return "given-up"  # but not "hard to tell, though I'd go with B"
    return "possible" if segment.roles & c.POSSIBLE else ""
