"""Templates of one's own: what they see, where pictures go, and what they may not do."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import DataError, EyechartError, UsageError
from eyechart.prompt.template import FIELDS, list_known_names, make_template_prompt, read_template
from eyechart.types import ImageRef, Message, Sample

RED, BLUE = ImageRef(kind="file", location="red.png"), ImageRef(kind="file", location="blue.png")
SAMPLE = Sample(
    id="7",
    question="Which?",
    images=(RED, BLUE),
    golds=("B",),
    choices={"A": "cat", "B": "dog"},
    hint="Look up.",
    meta={"category": "animals", "author": "Ann", "l2-category": "x", "answer": "B", "score": 3},
)


def parts(template: str, sample: Sample = SAMPLE) -> tuple[object, ...]:
    [message] = make_template_prompt(template, columns=list_known_names(sample))(sample)
    assert message.role == "user"
    return message.parts


def text(template: str, sample: Sample = SAMPLE) -> str:
    return make_template_prompt(template, columns=list_known_names(sample))(sample)[0].text


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{ question }}", "Which?"),
        ("{{ options }}", "A. cat\nB. dog"),
        ("{% for letter, option in choices.items() %}{{ letter }}={{ option }};{% endfor %}", "A=cat;B=dog;"),
        ("{{ choices['A'] }} {{ choices.B }}", "cat dog"),
        ("{{ letters | join(', ') }} {{ letters[-1] }}", "A, B B"),
        ("{{ hint }} {{ category }} {{ id }} {{ n_images }}", "Look up. animals 7 2"),
        ("{{ author }} {{ score + 1 }} {{ meta.author }}", "Ann 4 Ann"),
        ("{{ meta['l2-category'] }}", "x"),
        ("{% if hint %}Hint: {{ hint }}\n{% endif %}{{ question }}", "Hint: Look up.\nWhich?"),
        ("{% set word = question | upper %}{{ word ~ '!' }}", "WHICH?!"),
        ("{{ question | replace('Which', 'What') }}", "What?"),
        ("{{ 'yes' if choices else 'no' }}", "yes"),
        ("{% for n in range(3) %}{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %}", "1, 2, 3"),
        ("{{ question }}\n", "Which?"),
        ("{{ question }}\n\n", "Which?\n"),
        ("<b>{{ '<' ~ question }}</b>", "<b><Which?</b>"),
        ("{{ meta.get('nothing', 'none') }}", "none"),
        ("{{ 3 * 4 }} {{ '-' * 3 }} {{ 7 % 4 }}", "12 --- 3"),
        ("{% raw %}{{ question }}{% endraw %}{# not shown #}", "{{ question }}"),
        ("Q: {question}\n{ options }", "Q: Which?\nA. cat\nB. dog"),
        ("{question} by {author}, \\boxed{question}, {json}", "Which? by Ann, \\boxed{question}, {json}"),
        ("{{ question }} {question}", "Which? {question}"),
    ],
)
def test_what_a_template_sees(template: str, shown: str) -> None:
    assert text(template) == shown


def test_options_in_one_text_are_shown_unchanged() -> None:
    sample = Sample(id="1", question="?", choices={"A": "x", "B": "y"}, choices_text="(A) x \n(B) y")
    assert text("{{ options }}", sample) == "(A) x \n(B) y"


def test_pictures_come_first_unless_they_are_placed() -> None:
    assert parts("{{ question }}") == (RED, BLUE, "Which?")
    assert parts("{{ question }}\n{{ image }}") == ("Which?", RED, BLUE)
    assert parts("Look:\n{{ images }}\n{{ question }}") == ("Look:", RED, BLUE, "Which?")
    assert parts("One: {{ image1 }}\nTwo: {{ image2 }}\n{{ question }}") == (
        "One: ",
        RED,
        "Two: ",
        BLUE,
        "Which?",
    )
    assert parts("{{ image2 }}{{ image1 }} {{ image2 }}\n\n{{ question }}") == (BLUE, RED, BLUE, "Which?")
    assert parts("{{ image2 }}{{ question }}") == (BLUE, "Which?")


def test_a_question_without_pictures() -> None:
    sample = Sample(id="1", question="Why?")
    assert parts("{{ image }}\n{{ question }}", sample) == ("\nWhy?",)
    assert parts("{% if n_images %}{{ image1 }}{% endif %}{{ question }}", sample) == ("Why?",)
    with pytest.raises(DataError, match=r"sample 1: .*image1.*\n  hint: it has 0 images"):
        parts("{{ image1 }}{{ question }}", sample)


def test_a_mark_in_the_data_places_nothing() -> None:
    sample = Sample(id="1", question="\ue0001:0\ue001", images=(RED,))
    assert parts("{{ image }}{{ question }}", sample) == (RED, "\ue0001:0\ue001")


def test_what_a_sample_lacks_is_empty() -> None:
    prompt = make_template_prompt(
        "{{ question }}{% if author %} by {{ author }}{% endif %}", columns=["author"]
    )
    assert prompt(SAMPLE)[0].text == "Which? by Ann"
    assert prompt(Sample(id="2", question="Why?")) == [Message("user", ("Why?",))]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{{ quesion }}",
            r"line 1: unknown name 'quesion'\n  hint: did you mean question\? known names: author,",
        ),
        ("\n\n{{ nothing_like_it }}", "line 3: unknown name 'nothing_like_it'"),
        ("{{ golds }}", r"name 'golds'\n  hint: the answer must not be"),
        ("{{ answer }}", r"name 'answer'\n  hint: the answer must not be"),
        ("{{ image0 }}", "name 'image0'"),
        ("{{ lipsum() }}", "name 'lipsum'"),
        ("{{ namespace() }}", "name 'namespace'"),
        ("{{ self }}", "name 'self'"),
        ("{{ question", "line 1: unexpected end"),
        ("a\n{% if question %}", "line 2: Unexpected end of template"),
        ("{% for %}", "line 1: "),
        ("{{ question | shout }}", r"No filter named 'shout'.*\n  hint: filters: abs, "),
        ("{{ question | lowr }}", r"\n  hint: did you mean lower"),
        ("{{ letters | random }}", "No filter named 'random'"),
        ("{{ question is nonsense }}", "No test named 'nonsense'"),
        ("{% include 'x' %}", "Include is not supported"),
        ("{% import 'x' as y %}", "Import is not supported"),
        ("{% extends 'x' %}", "Extends is not supported"),
        ("{% macro f() %}{% endmacro %}", "Macro is not supported"),
        ("{% block b %}{% endblock %}", "Block is not supported"),
        ("{% set x %}{% endset %}", "AssignBlock is not supported"),
        ("{% filter upper %}{% endfilter %}", "FilterBlock is not supported"),
        ("{{ 2 ** 9 }}", "Pow is not supported"),
        ("Look: {qestion}", r"unknown name 'qestion'\n  hint: did you mean question"),
    ],
)
def test_slips_are_found_before_the_run(template: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_template_prompt(template, columns=list_known_names(SAMPLE))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ meta.nothing }}", r"no attribute 'nothing'\n  hint: test it with {% if"),
        ("{{ meta.answer }}", "no attribute 'answer'"),
        ("{{ meta.get('answer') | length }}", "NoneType"),
        ("{{ question.__class__ }}", "unsafe"),
        ("{{ question.format() }}", "unsafe"),
        ("{{ question.ljust(9999999999) }}", "unsafe"),
        ("{{ question.__class__.__mro__ }}", "unsafe|no attribute"),
        ("{{ letters.append('C') }}", "unsafe"),
        ("{{ choices.clear() }}", "unsafe"),
        ("{{ 'a' * 999999999999 }}", "exceeds 1,000,000"),
        ("{{ [1] * 999999999999 }}", "exceeds"),
        ("{{ 99999999999 * 'a' }}", "exceeds"),
        ("{{ '%999999999d' % 1 }}", "use ~ to join"),
        ("{{ range(999999999) | list }}", "Range too big"),
        ("{% for n in range(90000) %}{{ 'x' * 100 }}{% endfor %}", "exceeds"),
        ("{{ ('x' * 900000) ~ ('x' * 900000) }}", "exceeds"),
        ("{{ question / 2 }}", "unsupported operand"),
        ("{% if 0 %}x{% endif %}", "renders an empty prompt"),
    ],
)
def test_what_goes_wrong_with_a_sample_names_it(template: str, message: str) -> None:
    prompt = make_template_prompt(template, columns=list_known_names(SAMPLE))
    sample = Sample(**{name: getattr(SAMPLE, name) for name in SAMPLE.__slots__} | {"images": ()})
    with pytest.raises(DataError, match=message) as caught:
        prompt(sample)
    assert caught.value.message.startswith("sample 7: the template")


def test_a_sample_is_not_changed_and_the_text_is_always_the_same() -> None:
    template = "{{ letters | sort(reverse=true) | join }} {{ meta | dictsort | first | first }} {{ image }}"
    assert parts(template) == parts(template)
    assert SAMPLE.meta["answer"] == "B"


def test_known_names() -> None:
    assert list_known_names(SAMPLE) == {*FIELDS, "image1", "image2", "author", "score"}
    assert list_known_names(Sample(id="1", question="?")) == set(FIELDS)


def test_a_template_is_a_file_or_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ask.j2").write_bytes(b"\xef\xbb\xbf{{ question }}\n")
    assert read_template("ask.j2") == "{{ question }}\n"
    assert read_template(str(tmp_path / "ask.j2")) == "{{ question }}\n"
    assert read_template("Look at {{ image }}.txt") == "Look at {{ image }}.txt"
    assert read_template("{{question}}.txt") == "{{question}}.txt"
    assert read_template("x" * 5000) == "x" * 5000
    assert read_template("a\0b") == "a\0b"
    for name in ("aks.j2", "prompts/ask.jinja", "ask.txt"):
        with pytest.raises(UsageError, match=f"{name}: no such file"):
            read_template(name)
    with pytest.raises(UsageError, match="is empty"):
        read_template(" \n")
    (tmp_path / "latin.txt").write_bytes(b"\xe4")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_template("latin.txt")
    (tmp_path / "long.txt").write_bytes(b"x" * 1_000_001)
    with pytest.raises(UsageError, match="too large"):
        read_template("long.txt")


@given(st.text(max_size=40))
def test_a_text_without_tags_is_sent_as_it_stands(template: str) -> None:
    plain = re.sub(r"[{\r<\[]", "", template)  # no tag, and no placeholder of an image
    expected = plain.removesuffix("\n")
    if expected.strip():
        assert parts(plain) == (RED, BLUE, expected)


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(
            ["{{", "}}", "{%", "%}", "if", "for", "a", "question", " ", "|", "'", "(", ")", "1", "in", "end"]
        )
    )
)
def test_any_template_works_or_is_refused_with_a_message(tokens: list[str]) -> None:
    with suppress(EyechartError):
        assert parts("".join(tokens))


@pytest.mark.slow
@given(st.text(max_size=30), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_data_is_never_read_as_a_template(question: str, meta: dict[str, str]) -> None:
    sample = Sample(id="1", question=f"{{{{ id }}}}{question}", meta=meta)
    assert parts("{{ question }}", sample) == (f"{{{{ id }}}}{question}",)
