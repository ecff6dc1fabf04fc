"""A choice that a reply, or its last line, begins with: "B. ...", "(B) ...", "B, because ...", "B dog".

The words after the letter may be those of its option. Where they are another's, the reply contradicts itself;
where the other letters follow, it repeats the options and chooses none.
"""

from __future__ import annotations

import re

from eyechart.score.letters import other_letter
from eyechart.score.options import ARTICLE, Mention, Options
from eyechart.score.statement import bare_span
from eyechart.score.verdict import Reading, chosen, unread

_LEAD = re.compile(
    r"(?:(?:option|choice|answer)\s{1,3}|选项)?[(\[\"'*`$]{0,4}([A-Za-z])"
    r"([)\]\"'*`$]{0,4}(?:[.:,;、。，：；)\]-]|\s{1,2}-)[)\]\"'*`$.]{0,4}|[)\]\"'*`$]{0,4}\s{0,4}\n|[*`\"'$)\]]{1,4}\s|"
    r"\s+(?:because|since|as|due to|based on|given that|for the)\b)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[\s>#→•*-]{0,12}")  # of a list or a heading, before what the line says
# What stands before a line that goes on with nothing: an empty line, a heading, or the end of a sentence.
_NEW_SENTENCE = re.compile(r"(?:\n[ \t]{0,8}|\n#[^\n]{0,80}|[^\w\s,，、][ \t]{0,8})\n\Z")
_LINE_LETTER = re.compile(r"(?:^|\n)[\s*>#-]{0,6}[(\[]?([A-Za-z])[)\].:、]")
_OPTION_WORD = re.compile(
    r"(?:option|choice|answer)\s{1,3}[(\[]?([A-Za-z])\b|选项[(\[]?([A-Za-z])", re.IGNORECASE
)
_KEY_LETTER = re.compile(r"[\"']([A-Za-z])[\"']\s{0,3}:")
_NEXT_LETTER = re.compile(r"[\s,;.]*[(\[]?([A-Za-z])[)\].:、]")


def read_lead(text: str, start: int, options: Options) -> Reading | None:
    """A letter at the very beginning, then a mark, a line end or a reason."""
    lead = _LEAD.match(text, start)
    letter = options.label(lead.group(1)) if lead else None
    if lead is None:
        return _letter_then_words(text, start, options)
    span = lead.span(1)
    if lead.group(1) in "Ii" and lead.group(2).strip()[:1] not in tuple(".):"):
        return None  # "I, for one, ..."
    if letter is None:
        return unread("not-an-option", span) if lead.group(1).isupper() else None
    if _lists_options(text, lead, letter, options) or other_letter(text, lead.end(1), letter, options):
        return unread("ambiguous", span)
    named = _named_at(text, lead.end(), options)
    if named and letter not in named.letters and (dash := lead.group(2).find("-")) >= 0:
        named = _named_at(text, lead.start(2) + dash, options) or named  # "(C) -$5": it is a minus
    if named is None:
        return chosen(letter, "lettered", span)
    end = named.span[1]
    if letter not in named.letters:
        return unread("contradiction", (span[0], end))
    after = _NEXT_LETTER.match(text, end)
    if after and options.label(after.group(1)) not in (None, letter):
        return unread("ambiguous", span)
    return chosen(letter, "lettered", (span[0], end))


def read_last_line(text: str, start: int, end: int, options: Options) -> Reading | None:
    r"""A last line that is a letter and its option's own words and nothing else, behind any reasoning.

    Not where another line begins with another option's letter: such lines list the options.

    >>> from eyechart.score.options import options_of
    >>> options, text = options_of({"A": "cat", "B": "dog"}), "Unlike a cat, it barks.\n\n**B. dog**"
    >>> read_last_line(text, 0, len(text), options)
    Reading(answer='B', rule='choice:last-line', span=(27, 33), is_whole=False)
    """
    newline = text.rfind("\n", start, end)
    if newline < 0 or end - newline > options.n_chars + 60:
        return None
    marks = _MARKS.match(text, newline, end)
    first, last = bare_span(text, marks.end() if marks else newline, end)
    lead = _LEAD.match(text, first, last)
    letter = options.label(lead.group(1)) if lead else None
    named = _named_at(text, lead.end(), options) if lead and letter else None
    if letter is None or named is None or letter not in named.letters or named.span[1] < last:
        return None
    if not _NEW_SENTENCE.search(text, max(start, newline - 100), newline + 1):
        return None
    others = (options.label(found.group(1)) for found in _LINE_LETTER.finditer(text, start, newline))
    if any(other not in (None, letter) for other in others):
        return None
    return chosen(letter, "last-line", (first, last))


def _letter_then_words(text: str, start: int, options: Options) -> Reading | None:
    """A letter and its option's own words with nothing between ("B dog"). An A before words is an article."""
    letter = options.label(text[start : start + 1])
    if letter and other_letter(text, start + 1, letter, options):
        return unread("ambiguous", (start, start + 1))
    if letter is None or text[start] in "AaIi" or not text[start + 1 : start + 2].isspace():
        return None
    named = _named_at(text, start + 1, options)
    if named is None:
        return None
    if letter not in named.letters:
        return unread("contradiction", (start, named.span[1]))
    return chosen(letter, "lettered", (start, named.span[1]))


def _named_at(text: str, position: int, options: Options) -> Mention | None:
    """The option or options whose words begin at `position`, wrapping and an article aside."""
    begin, _ = bare_span(text, position, min(len(text), position + 40))
    article = ARTICLE.match(text, begin)
    begins = {begin, article.end() if article else begin}
    stop = min(len(text), begin + options.n_chars + 40)
    for mention in options.mentions(text, begin, stop)[:1]:
        if mention.span[0] in begins:
            return mention
    return None


def _lists_options(text: str, lead: re.Match[str], letter: str, options: Options) -> bool:
    """Whether the reply repeats the options line by line, which chooses none: after the first, the second.

    The keys of an object ({"A": 0.1, "B": 0.9}) are such a list too.
    """
    keys = (options.label(found.group(1)) for found in _KEY_LETTER.finditer(text, lead.end()))
    if any(key not in (None, letter) for key in keys):
        return True
    labels = list(options.labels.values())
    following = labels[labels.index(letter) + 1 :][:1]
    if not lead.group().startswith(lead.group(1)) and _OPTION_WORD.match(text, lead.start()):
        others = (found.group(1) or found.group(2) for found in _OPTION_WORD.finditer(text, lead.end()))
        if any(options.label(other) not in (None, letter) for other in others):
            return True
    line = _LINE_LETTER.search(text, lead.end())
    is_alone = "\n" in lead.group(2)  # a letter on a line of its own is an answer, whatever follows
    return line is not None and not is_alone and [options.label(line.group(1))] == following
