"""The table of words: every language has what the readers cannot do without, written as they look it up."""

from dataclasses import fields

import pytest

from eyechart.score.languages import LANGUAGES, Language

NEEDED = (
    "answer",
    "option",
    "copula",
    "choose",
    "right",
    "wrong",
    "conclude",
    "contrast",
    "condition",
    "report",
)
PHRASES = [field.name for field in fields(Language) if field.name != "name"]


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_the_words_that_readers_need(code: str) -> None:
    language = LANGUAGES[code]
    assert all(getattr(language, field) for field in NEEDED)
    assert language.deny or language.deny_last


@pytest.mark.parametrize("code", LANGUAGES)
def test_phrases_are_written_as_they_are_looked_up(code: str) -> None:
    for field in PHRASES:
        for phrase in getattr(LANGUAGES[code], field):
            assert phrase == phrase.strip().lower(), (field, phrase)
            assert "  " not in phrase
            assert "|" not in phrase
