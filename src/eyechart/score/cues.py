"""The phrases that introduce an option letter, in English and Chinese.

English is looked for in lower-cased text without a flag, Chinese only where the reply is not plain ASCII:
a reply of a page is then read in a fraction of a millisecond.
"""

from __future__ import annotations

import re

from eyechart.score.fold import lower
from eyechart.score.options import WORD
from eyechart.score.patterns import Pattern
from eyechart.score.statement import MAX_STATEMENTS

# Not "B-flat", "C++", "A's", "a.m.", nor the last letter of "U.S.".
LETTER = rf"(?<!{WORD})(?<!{WORD}\.)([A-Za-z])(?!{WORD}|'{WORD}|-{WORD}|\+|#|\.[A-Za-z]\.)"
WRAPPING = r"[\s*_~`\"'$(\[{<:=>|\\]|\\?(?:text|textbf|mathrm|mathbf)\{"
CLOSERS = r"[)\]*\"'`>$}_.]{0,6}\s{0,3}"

_STRONG = Pattern(
    r"\b(?:(?:correct|right|best|final|my|chosen|selected|appropriate|matching)\s+"
    r"(?:option|choice|letter|selection|pick)(?:\*{1,3})?\s{0,3}(?:is\b|would be|should be|must be|:|=)"
    r"|(?:option|choice)\s+is\s"
    r"|(?:choose|chose|pick|picked|select|selected|go with|going with|opt for|settle on)\s"
    r"|(?:d|ll|would|will)\s+answer\s"
    r"|it\s+should\s+(?:actually |instead |really )?be\s"
    # A change of mind, where a letter follows: "wait, no, it's C".
    r"|(?:wait|actually|correction|on second thoughts?|scratch that|no|sorry|i mean)\b[ ,.:;!-]{1,6}"
    r"(?:no\b[\s,.]{1,4})?(?:(?:it's|it is|it should be|it must be|i mean|make that|that's|that is)\s)?"
    rf"(?=\W{{0,6}}(?:option\s|choice\s)?\W{{0,4}}[a-z](?!{WORD}))"
    rf"|not\s+(?:{WRAPPING}|option\s|choice\s){{0,4}}{WORD}{{1,24}}[)\]*\"',]{{0,4}}\s+but(?:\s+rather)?\s)"
    r"|(?:^|\n)\W{0,6}(?:option|choice|selection|final answer|final choice|prediction|result|output|"
    r"response|verdict|conclusion|correct|assistant)\W{0,4}(?:[:=]|->|→)"
)
_STRONG_CHINESE = Pattern(
    r"(?<!不)(?:正确|最佳|合适)的?(?:选项)?(?:应该是|应为|是|为|:)"
    r"|结论\s?(?:是|为|:)"
    r"|(?<![不别没挑])(?<!不[能该应要])(?<!不应该)选(?!项|出|中|取|自)择?(?:答案|选项)?(?:是|为|:)?"
    r"|(?:而是|更正为?|应该是|应为)[:,]?"
)
_PREDICATE = Pattern(
    r"(?:^|[.\n;:,(*!?\"'\[。，；：]|\b(?:option|choice|answer|so|therefore|thus|hence|that|believe|think|"
    rf"conclude|only)\s)[\s(*\[\"']{{0,5}}{LETTER}{CLOSERS}(?:option |choice )?"
    r"(?:(?:is|must be|would be|should be|seems(?: to be)?|appears to be)\s+"
    r"(?:clearly |definitely |indeed |therefore |obviously )?"
    r"(?:the |my )?(?:(?:only |most |best |final )*(?:correct\b|right\b(?!\s*(?:next|side|hand|of|above|"
    r"below|there|in|on|at|behind|beside|-)))|(?:final )?answer\b"
    r"|(?:most |best )(?:appropriate|suitable|accurate|likely|fitting|plausible)\b"
    r"|best (?:answer|choice|option|match|fit|description)\b)"
    r"|best (?:describes|matches|fits|represents)\b|(?:fits|matches|describes)\b[^.!?\n]{0,40}\bbest\b)"
)
_PREDICATE_CHINESE = Pattern(
    rf"(?:^|[.\n;:,(*!?\"'\[。，；：]|选项|项|以|此|故|知|只有)[\s(*\[\"']{{0,5}}{LETTER}{CLOSERS}"
    r"(?:选项|项)?(?:是|为)?最?(?:正确|对的|合适)"
)
_WEAK = Pattern(
    r"\b(?:(?:it|this|that)(?:'s|\s+is|\s+must be|\s+should be|\s+would be|\s+has to be)\s"
    r"|i(?:'d|\s+would)?\s+(?:think|believe|guess|say|suspect)\s+(?:that\s)?"
    r"|(?:option|choice)\s"
    r"|(?<!might )(?<!may )(?<!could )(?:is|be)\s(?P<capital>(?=[(*\[]{0,4}[a-z](?:[)\]*.:]|\s*$))))"
    r"|(?:^|[.\n,;]\s?)\W{0,3}(?:so|thus|therefore|hence|finally|in conclusion|conclusion)\b[,:]?\s"
)
_WEAK_CHINESE = Pattern(r"选项|就是|(?:所以|因此|大概|应该)是|(?:认为|觉得|判断|看来|推断)应?该?[是选]")
_CAPITAL = Pattern(r"[(*\[]{0,4}[A-Z]")


def strong_cues(text: str, start: int) -> list[re.Match[str]]:
    """Phrases after which a letter is the answer: "I choose", "the correct option is", "wait, no,", "选"."""
    return _find(text, start, _STRONG, _STRONG_CHINESE)


def strong_predicates(text: str, start: int) -> list[re.Match[str]]:
    """Letters (group 1) that are called correct: "B is the right answer", "B选项正确"."""
    return _find(text, start, _PREDICATE, _PREDICATE_CHINESE)


def weak_cues(text: str, start: int) -> list[re.Match[str]]:
    """Phrases after which a letter is spoken of: "it is", "I think", "so", "option", "我认为是"."""
    found = _find(text, start, _WEAK, _WEAK_CHINESE)
    # Any "is" may stand before a letter only if that is a capital: "the type is B.", not "is a."
    return [cue for cue in found if cue.lastgroup != "capital" or _CAPITAL.match(text, cue.end())]


def _find(text: str, start: int, english: Pattern, chinese: Pattern) -> list[re.Match[str]]:
    found = list(english.finditer(lower(text), start))
    if not text.isascii():
        found = sorted([*found, *chinese.finditer(text, start)], key=re.Match.start)
    return found[-MAX_STATEMENTS:]
