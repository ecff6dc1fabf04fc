"""A plain reader of choices in regular expressions: what a careful person writes in an hour.

It stands beside our own reader in `bench/readers.py`, to show what the rest buys. It knows containers,
headed and stated answers in English and Chinese, the last line, and an option's own words in a last
sentence. It knows nothing of denials but "not", of conditions, reports, corrections or other languages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
TAG = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)
JSON = re.compile(r'"(?:final_)?answer"\s*:\s*"([^"]*)"', re.IGNORECASE)
HEADED = re.compile(r"(?:^|\n)\W*(?:final\s+)?answer\W*:\W*([^\n]+)", re.IGNORECASE)
STATED = re.compile(
    r"\b(?:correct|right|best|final)?\s*(?:answer|option|choice)\s+(?:to the question\s+)?"
    r"(?:is|would be|must be|:)\s*(?!not\b)(?:option\s+)?([^\n]+)",
    re.IGNORECASE,
)
CHOSEN = re.compile(
    r"\bI(?:'d| would)?\s+(?:choose|select|pick|go with|answer)\s+(?:option\s+)?([^\n]+)", re.IGNORECASE
)
CHINESE = re.compile(r"(?:答案(?:是|为|：|:)|故?选)\s*([A-Z])")
LETTER = re.compile(r"\W*(?:option\s+)?[\[(]?([A-Z])(?![A-Za-z'])", re.IGNORECASE)
THOUGHT = re.compile(r"^.*</think>", re.DOTALL)
LAYOUT = re.compile(r"\\(?:text|mathrm|mathbf|left|right|,|;| )|[${}~*_`]|\\[()\[\]]|</?\w+>")


def plain(text: str) -> str:
    """The text without layout, in lower case and with single spaces."""
    return " ".join(LAYOUT.sub(" ", text).lower().split()).strip(" .,;:!\"'")


def read_plain(reply: str, options: Mapping[str, str]) -> str | None:
    """The option that a reply chooses, by the first rule that finds one."""
    text = THOUGHT.sub("", reply).strip()
    if letter := read_content(text, options):
        return letter
    for pattern in (TAG, BOXED, JSON):
        if found := pattern.findall(text):
            return read_content(found[-1], options)
    for pattern in (HEADED, STATED, CHOSEN, CHINESE):
        for content in reversed(pattern.findall(text)):
            if letter := read_content(content, options) or read_start(content, options):
                return letter
    last = text.rstrip().rpartition("\n")[2]
    if letter := read_content(last, options):
        return letter
    if len(text) < 400 and (letter := read_start(text, options)) and re.match(r"\W*[A-Z]\W", text):
        return letter
    return read_words(re.split(r"(?<=[.!?])\s+", text.strip())[-1], options)


def read_content(content: str, options: Mapping[str, str]) -> str | None:
    """A letter, or an option's words, and nothing else."""
    words = plain(content)
    bare = re.fullmatch(r"(?:option )?\W*([a-z])\W*", words)
    if bare and bare[1].upper() in options:
        return bare[1].upper()
    same = [letter for letter, text in options.items() if plain(text) == words and words]
    if len(same) == 1:
        return same[0]
    lettered = re.fullmatch(r"\W*([a-z])[).:]\W*(.+)", words)
    if lettered and lettered[1].upper() in options:
        letter = lettered[1].upper()
        named = [other for other, text in options.items() if plain(text) == lettered[2]]
        return letter if not named or letter in named else None
    return None


def read_start(content: str, options: Mapping[str, str]) -> str | None:
    """The letter that begins a content: "(B) because ..."."""
    content = LAYOUT.sub(" ", content)
    found = LETTER.match(content)
    if (
        found is None
        or found[1].upper() not in options
        or (found[1] == "a" and content[found.end() :][:1] == " ")
    ):
        return None
    is_article = found[1] in "AI" and re.match(r" [a-z]", content[found.end() :])
    return None if is_article and not content.strip().startswith("(") else found[1].upper()


def read_words(sentence: str, options: Mapping[str, str]) -> str | None:
    """The only option whose words a sentence has, if it denies nothing."""
    words = f" {plain(sentence)} "
    if re.search(r"\b(?:not|no|n't|or|if|might|could)\b|n't", words):
        return None
    named = [
        letter
        for letter, text in options.items()
        if len(plain(text)) > 1 and re.search(rf"(?<![\w.-]){re.escape(plain(text))}(?![\w-]|\.\d)", words)
    ]
    return named[0] if len(named) == 1 else None
