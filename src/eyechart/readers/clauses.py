r"""A reply cut into tokens, sentences and clauses, each word marked by what it does (its roles).

`to_plain` gives every character one form and blanks layout (LaTeX, HTML, struck-out text) without moving
anything, so that a position in the result is a position in the reply. `find_tokens` finds the words,
numbers and marks in it, and the phrases of the language files among them. `find_clauses` cuts these at
marks, contrasts, reasons and conclusions: "It is not A | , because it is small | , so B." All of it takes
linear time.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from eyechart.readers import languages as r
from eyechart.readers.languages import build_lexicon, find_languages, split_words
from eyechart.replies import normalise_characters

ENDS = frozenset(".!?。！？।؟…\n")
QUESTIONS = frozenset("?？؟")
_BREAKS = frozenset(",،、:;؛()|—→⇒➜")
_CLOSING = frozenset(")]*\"'`_»”$")

# -- Plain characters, layout blanked

_STRUCK_OUT = re.compile(r"~~[^~\n]{1,200}~~")
_HTML = re.compile(
    r"</?(?:b|strong|i|em|u|p|br|span|div|code|pre|mark|font|center|h[1-6]|li|ul|ol|td|tr|table|small|big|sub|sup"
    r"|html|body|answer|final_answer|choice|option)\b[^<>\n]{0,200}>|&(?:nbsp|amp|quot|lt|gt|#\d{1,5});",
    re.IGNORECASE,
)
_WRAPPING = re.compile(
    r"\\(?:text|textbf|textit|texttt|mathrm|mathbf|mathit|mathsf|mathbb|operatorname|boldsymbol|displaystyle"
    r"|boxed|left|right|quad|qquad|big|Big|rm|bf|(?:begin|end)\{[a-z]{1,12}\*?\})(?![a-z])|\\[,;:! ()\[\]]"
)
_COMMANDS = {
    "sqrt": "√", "circ": "°", "degree": "°", "times": "×", "cdot": "·", "div": "÷", "pi": "π", "pm": "±",
    "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "infty": "∞",
    "angle": "∠", "triangle": "△", "rightarrow": "→", "Rightarrow": "→", "implies": "→",
    "Longrightarrow": "→",
    "therefore": "→", "to": "→", "%": "%", "$": "$", "theta": "θ", "alpha": "α", "beta": "β", "mu": "μ",
}  # fmt: skip
_COMMAND = re.compile(
    r"(\^\{?)?\\("
    + "|".join(map(re.escape, sorted(_COMMANDS, key=len, reverse=True)))
    + r")(?![a-zA-Z])|\\[%$]"
)
_FRACTION = re.compile(r"\\[dt]?frac\s{0,3}\{([^{}]{1,60})\}(\s{0,3})\{([^{}]{1,60})\}")
_FORMULA = re.compile(r"\$\$?(?=[^\s$])([^$\n]{1,300}?)(?<=[^\s$])\$\$?(?!\d)")
_SIMPLE_BRACES = re.compile(r"(?<=√)(\s{0,8})\{([^{}]{1,40})\}|(?<=[\^_])\{([^{}]{1,20})\}")


def to_plain(reply: str) -> str:
    r"""The reply with one form of every character and blanks for layout; nothing moves.

    >>> to_plain(r"So $x = \frac{1}{2}\text{ km}$")
    'So  x =         1/2       km  '
    """
    text = normalise_characters(reply)
    if "~~" in text:
        text = _STRUCK_OUT.sub(_blank, text)
    if "<" in text or "&" in text:
        text = _HTML.sub(_blank, text)
    if text.count("$") > 1:
        text = _FORMULA.sub(lambda found: found.group().replace("$", " "), text)
    if "\\" in text:
        text = _COMMAND.sub(_to_sign, _WRAPPING.sub(_blank, text)).replace("~", " ")
        text = _SIMPLE_BRACES.sub(lambda found: " " + found.group()[1:-1].replace("{", " ") + " ", text)
        text = _FRACTION.sub(_to_quotient, text)
        text = text.replace("{", " ").replace("}", " ")
    return text


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _to_sign(found: re.Match[str]) -> str:
    sign = _COMMANDS.get(found.group(2) or "", found.group()[-1])
    return sign.rjust(len(found.group())) if sign == "°" else sign.ljust(len(found.group()))


def _to_quotient(found: re.Match[str]) -> str:
    return f"{found.group(1).strip()}/{found.group(3).strip()}".rjust(len(found.group()))


def lower(text: str) -> str:
    """The text in lower case, nothing moved.

    >>> lower("The İ in Été")
    'the İ in été'
    """
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


# -- Tokens


class Token(msgspec.Struct, gc=False):
    """A word, a phrase of the language files, a number, a mark, or a place that names an answer."""

    start: int
    end: int
    word: str
    roles: int = 0
    is_mark: bool = False
    letters: tuple[str, ...] | None = (
        None  # the options that are named here; empty: a letter that is no option
    )
    is_letter: bool = False  # it is named by its letter
    is_bracketed: bool = False  # "(B)", "**B**": not a letter in running text
    is_part: bool = False  # perhaps of a longer name: "hot dog"
    keys: tuple[str, ...] = ()  # of a number: how it is compared
    is_quoted: bool = False  # within a longer quotation
    is_capital: bool = False

    @property
    def is_end(self) -> bool:
        return self.is_mark and self.word in ENDS


EDGE = Token(-1, -1, "\n", is_mark=True)  # before the first token, and after the last


def is_unknown(token: Token) -> bool:
    """Whether a word is none that we know, nor an option."""
    return not (token.roles or token.is_mark) and token.letters is None


def join_roles(tokens: Iterable[Token]) -> int:
    """What any of these words does."""
    roles = 0
    for token in tokens:
        roles |= token.roles
    return roles


def find_tokens(text: str) -> tuple[list[Token], tuple[str, ...]]:
    """The tokens of a plain text, phrases put together, and the languages it is written in."""
    low = lower(text)
    found = list(split_words(low))
    words = [word.group() for word in found]
    codes = find_languages(words)
    lexicon = build_lexicon(codes)
    tokens: list[Token] = []
    place, n = 0, len(words)
    while place < n:
        word = words[place]
        start, end = found[place].span()
        length, roles = 1, lexicon.words.get(word)
        by_second = lexicon.phrases.get(word)
        if by_second is not None and place + 1 < n:
            for phrase, known in by_second.get(words[place + 1], ()):
                if tuple(words[place : place + len(phrase)]) == phrase:
                    length, roles, end = len(phrase), known, found[place + len(phrase) - 1].end()
                    word = low[start:end]
                    break
        if roles is None:
            roles = _find_elided(word, lexicon.words) if "'" in word else 0
        is_mark = not (roles or length > 1 or word[0].isalnum())
        tokens.append(Token(start, end, word, roles, is_mark, is_capital=text[start].isupper()))
        place += length
    return tokens, codes


def _find_elided(word: str, lexicon: Mapping[str, int]) -> int:
    """The roles of a word with an apostrophe: "l'option", "couldn't", "Peter's"."""
    if word.endswith("n't"):
        return r.NOT
    if word.endswith("'re"):
        return r.BE
    head, _, tail = word.partition("'")
    if tail in lexicon:
        return lexicon[tail]
    if head in lexicon:
        return lexicon[head] & r.PERSON
    return r.PERSON if tail == "s" else 0  # "Peter's answer"


MAX_CITED = 30  # words before a quotation that are looked at


def mark_quoted(tokens: Sequence[Token]) -> None:
    """Mark what stands in quotes with other words: the sign reads "Lunch 9:15"."""
    opened = -1
    for place, token in enumerate(tokens):
        if token.word not in ('"', "'", "\n"):
            continue
        if token.word == "\n" or opened < 0:
            opened = -1 if token.word == "\n" else place
            continue
        inside = tokens[opened + 1 : place]
        is_polar = join_roles(inside) & (r.YES | r.NO)
        if (is_polar or sum(not other.is_mark for other in inside) > 1) and _is_cited(tokens, opened):
            for other in inside:
                other.is_quoted = True
        opened = -1


def _is_cited(tokens: Sequence[Token], quote: int) -> bool:
    """Whether words before a quotation in its sentence say that it is one; "I choose" and "so" do not."""
    nearest = reversed(tokens[max(0, quote - MAX_CITED) : quote])
    before = list(itertools.takewhile(lambda token: not token.is_end, nearest))
    is_own = join_roles(before) & (r.ANSWER | r.CHOOSE | r.SO | r.RIGHT)
    return not is_own and sum(not token.is_mark for token in before) > 1


def skip_back(tokens: Sequence[Token], place: int, roles: int) -> int:
    """The nearest place before this one, or this one, whose word does none of these; -1 if there is none."""
    while place >= 0 and tokens[place].roles & roles:
        place -= 1
    return place


# -- Sentences and clauses


class Clause(msgspec.Struct, gc=False):
    """A part of a sentence that is asserted, denied or supposed as one."""

    words: Sequence[Token]
    start: int  # of its tokens
    end: int
    before: str  # the mark or word that divides it from the clause before
    starts_sentence: bool
    roles: int = 0
    ends_with: str = ""  # the mark that ends its sentence
    is_last: bool = False  # of its sentence
    carried: int = 0  # IF, REPORT, FIRST: what reaches it from other clauses of its sentence
    previous: Clause | None = None
    is_heading: bool = False  # it ends with a colon
    is_last_line: bool = False  # of the reply, after a sentence or a heading


_OPENS = r.BUT | r.BECAUSE | r.SO | r.THOUGH | r.IF | r.NOT_NEXT | r.WAIT | r.ELSE | r.WITHDRAW
_HOLDS = r.NOT | r.NOT_LAST | r.WRONG


def find_clauses(tokens: Sequence[Token]) -> list[Clause]:
    """The clauses of a reply, with what is carried along each sentence."""
    clauses: list[Clause] = []
    start, before, starts = 0, "", True

    def cut(place: int, mark: str, *, ends: bool, skip: int = 0) -> None:
        nonlocal start, before, starts
        words = tokens[start:place]
        if any(not token.is_mark for token in words):
            previous = clauses[-1] if clauses else None
            clauses.append(Clause(words, start, place, before, starts, join_roles(words), previous=previous))
            clauses[-1].is_heading = is_heading(tokens, place)
            starts = False
            before = mark
        elif mark:
            before = mark if ends else before or mark
        if ends:
            if clauses and not clauses[-1].is_last:
                clauses[-1].is_last, clauses[-1].ends_with = True, mark
            starts = True
        start = place + skip

    for place, token in enumerate(tokens):
        if token.is_mark:
            if token.word in ENDS:
                if ends_sentence(tokens, place, start, starts):
                    cut(place, token.word, ends=True, skip=1)
            elif token.word in _BREAKS and not _joins(tokens, place):
                cut(place, token.word, ends=False, skip=1)
            elif token.word == "-" and _is_dash(tokens, place):
                cut(place, "-", ends=False, skip=1)
        elif token.roles & _OPENS and place > start and not token.roles & _HOLDS and token.letters is None:
            cut(place, "", ends=False)
    cut(len(tokens), "", ends=True)
    if clauses and clauses[-1].before == "\n":
        place = clauses[-1].start - 1
        while place > 0 and tokens[place].word in "\n*_#`>-(":
            place -= 1
        clauses[-1].is_last_line = tokens[place].word in ".!?:。！？"
    _carry(tokens, clauses)
    return clauses


def ends_sentence(tokens: Sequence[Token], place: int, start: int, starts: bool) -> bool:
    """Whether a mark ends a sentence; the full stop of "B. dog", "1. dog", "Dr. Smith" does not."""
    mark = tokens[place].word
    if mark != "." or not 0 < place < len(tokens) - 1:
        return True
    previous, following = tokens[place - 1], tokens[place + 1]
    if following.start == tokens[place].end and not following.is_mark:
        return False  # "U.S", "e.g."
    if previous.is_letter and starts and all(t.is_mark or t is previous for t in tokens[start:place]):
        # "B. dog", "B. is wrong", but not "B. The dog barks."
        after = tokens[place + 2] if following.roles & r.ARTICLE and place + 2 < len(tokens) else following
        is_same = after.letters is not None and not after.is_letter
        return not is_same and not after.roles & (r.BE | r.WRONG | r.NOT | r.RIGHT)
    if previous.word.isdecimal() and place - 1 == start and starts:
        return False  # a numbered line
    if len(previous.word) == 1 and previous.is_capital and previous.letters is None:
        return False  # "J. Smith"
    if previous.word in ("no", "nos", "nr", "fig", "eq"):
        return not following.word[0].isdecimal()
    return previous.word not in ABBREVIATIONS


ABBREVIATIONS = r.words(
    "dr mr mrs ms st mt vs etc jr sr prof approx ca inc ltd co dept gen col lt sgt rev hon"
)


def _joins(tokens: Sequence[Token], place: int) -> bool:
    """Whether a mark does not divide: brackets around a letter or its words, a comma in a list of options."""
    mark = tokens[place].word
    previous = tokens[place - 1] if place else EDGE
    following = tokens[place + 1] if place + 1 < len(tokens) else EDGE
    if mark in "()":
        inner = following if mark == "(" else previous
        return inner.letters is not None
    if mark in ",،" and previous.roles & (r.MAYBE | r.BOUND) and place < 4:
        return True  # "perhaps, B"
    if mark == ":" and previous.is_letter:
        return following.letters is not None and not following.is_letter
    if mark not in ",،、" or not place:
        return False
    before, after = place - 1, place + 1
    while before and tokens[before].word in _CLOSING:
        before -= 1
    while after < len(tokens) and after - place < 6 and tokens[after].letters is None:
        is_between = tokens[after].roles & (r.OR | r.AND | r.OPTION | r.ARTICLE)
        if not is_between and tokens[after].word not in "([*\"'`_":
            return False
        after += 1
    if after >= len(tokens) or tokens[before].letters is None:
        return False
    last = tokens[after + 1] if after + 1 < len(tokens) else None
    return last is None or last.is_mark or bool(last.roles & (r.OR | r.AND))


def _is_dash(tokens: Sequence[Token], place: int) -> bool:
    """Whether a hyphen stands between words with spaces around it: "B - because"."""
    if not 0 < place < len(tokens) - 1:
        return False
    before, token, after = tokens[place - 1 : place + 2]
    return before.end < token.start and after.start > token.end and not after.word[0].isdecimal()


def is_heading(tokens: Sequence[Token], end: int) -> bool:
    """Whether a clause that ends here has a colon after it, so that it heads the next one."""
    while end < len(tokens) and tokens[end].is_mark and tokens[end].word in "*_\n:→-\"'`)#":
        if tokens[end].word in ":→":
            return True
        end += 1
    return False


_CARRIED = r.IF | r.ELSE | r.FIRST
_TOLD = r.REPORT | r.SAY | r.ACCORDING | r.PERSON | r.SELF | r.CHOOSE | r.OPINION | r.THINK | r.ANSWER


def _carry(tokens: Sequence[Token], clauses: Sequence[Clause]) -> None:
    ends_with = ""
    for clause in reversed(clauses):
        ends_with = clause.ends_with if clause.is_last else ends_with
        clause.ends_with = ends_with
    carried = 0
    n_conditions = sum(bool(clause.roles & r.IF) for clause in clauses)
    is_supposed = False  # the sentence before only supposes something: "Suppose it barks."
    for clause in clauses:
        if clause.starts_sentence:
            carried = r.IF if is_supposed and clause.roles & r.THEN else 0
            is_supposed = bool(clause.words[0].roles & r.IF)
        if clause.roles & (r.BUT | r.WAIT) or (clause.before == ";" and not clause.roles & r.THEN):
            carried = 0
        if clause.roles & (r.SO | r.SELF):
            carried &= ~(r.REPORT | r.FIRST if clause.roles & r.SO else r.REPORT)
        carried |= clause.roles & _CARRIED
        if n_conditions == 1 and _is_step(clause.words):
            carried &= ~r.IF
        if clause.starts_sentence and clause.words[0].word in ("were", "had", "should"):
            carried |= r.IF  # "Were there rails, I'd say B."
        if clause.roles & _TOLD and _reports(clause):
            carried |= r.REPORT
        clause.carried = carried
        is_speaker = clause.end - clause.start == 1 and clause.starts_sentence
        follows = [token.word for token in tokens[clause.end : clause.end + 2]]
        if is_speaker and follows == [":", '"'] and _is_someone(tokens[clause.start]):
            carried |= r.REPORT  # Peter: "The answer is C."
    for clause, following in itertools.pairwise(clauses):
        if not following.starts_sentence:
            if tokens[following.start].roles & (r.IF | r.ELSE):
                clause.carried |= r.IF
            near = (tokens[clause.end - 1].word, tokens[following.start].word)
            if following.carried & r.REPORT and ('"' in near or "'" in near):
                clause.carried |= r.REPORT  # "B," said the teacher


def _is_step(part: Sequence[Token]) -> bool:
    """Whether a condition is a step of the work: "If we add them, the sum is 3", not "if we added two"."""
    is_step = [token.word for token in part[:2]] in (["if", "we"], ["if", "i"]) and len(part) > 2
    return is_step and not part[2].roles and not part[2].word.endswith("ed")


_ACTS = r.THINK | r.SAY
_TELLS = r.SAY | r.OPINION | r.CHOOSE | r.ANSWER | r.THINK
_DEMANDS = ("want", "wanted", "said", "asked", "told")
_CHOICES = ("pick", "choos", "chose", "select", "voted")


def _is_someone(token: Token) -> bool:
    return token.is_capital and not token.roles and not token.is_letter and token.word.isalpha()


def _reports(clause: Clause) -> bool:
    """Whether a clause says what another thinks: "the student chose"; not "the chart says"."""
    if clause.roles & r.ACCORDING:
        return not clause.roles & r.SOURCE
    words, last = clause.words, len(clause.words) - 1
    has_i = has_person = has_source = has_mention = False
    for place, token in enumerate(words):
        roles = token.roles
        following = words[place + 1] if place < last else EDGE
        has_mention = has_mention or token.letters is not None
        if roles & r.REPORT or (has_person and roles & _TELLS):
            return True
        if token.word == "you" and following.word in _DEMANDS:
            return True  # "You want me to answer B."
        if _is_someone(token) and (following.roles & _ACTS or following.word.startswith(_CHOICES)):
            return True  # "Peter picked red."
        if roles & r.SAY:
            if place >= last - 1 and has_mention and not clause.roles & r.SOURCE:
                return True
            if not place and (is_unknown(following) or following.roles & r.PERSON):
                return True  # in languages that put the verb first
            if not has_i and all(other.is_mark for other in words[:place]):
                return clause.previous is not None  # '"B," said the boy'
            if not has_i and not has_source and is_unknown(words[place - 1]):
                return True  # "commenters say"
        is_owner = roles & r.SELF and token.word[:2] not in ("i", "i'", "we") and place < last
        owns = is_owner and not following.is_mark and not following.roles & ~r.PERSON  # "my teacher"
        has_source = has_source or bool(roles & (r.SOURCE | r.IT))
        has_person = has_person or (not has_i and bool(roles & r.PERSON or owns))
        has_i = has_i or (bool(roles & r.SELF) and not owns)
    return False
