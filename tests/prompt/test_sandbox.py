"""What a template may not do: repeat a text or a list without end, leave the sandbox, nest without end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from eyechart.errors import DataError, UsageError
from eyechart.prompt.template import make_template_prompt
from eyechart.types import Sample

SAMPLE = Sample(
    id="7",
    question="Which of these? " * 100,
    choices={letter: f"option {letter}" for letter in "ABCDEFGHIJ"},
    meta={"tags": [f"tag {k}" for k in range(40)], "scores": {f"s{k}": k / 3 for k in range(40)}},
)

_MOMENT_S = 2.0  # generous for a machine with much to do; each takes a fraction of it


@contextmanager
def a_moment() -> Iterator[None]:
    begin = time.process_time()
    yield
    assert time.process_time() - begin < _MOMENT_S


def rendered(template: str) -> str:
    [turn] = make_template_prompt(template, columns=["tags", "scores"])(SAMPLE)
    return turn.text


def test_loops_in_themselves_are_refused() -> None:
    with pytest.raises(UsageError, match="line 1: a recursive loop is not supported"):
        make_template_prompt("{% for n in [1] recursive %}{{ loop([1]) }}{% endfor %}")


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ letters }}", str(list("ABCDEFGHIJ"))),
        ("{{ letters | tojson }}", '["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]'),
        ("{{ {'a': [1, [2]]} | tojson(indent=1) | length }}", "32"),
        ("{% for k, v in choices.items() %}{{ k }}. {{ v }} {% endfor %}", None),
        ("{% for k, v in choices | dictsort %}{{ k }}) {{ v | upper | trim }}\n{% endfor %}", None),
        ("{% for k in letters if k in ['A', 'B'] %}{{ k }}{% endfor %}", "AB"),
        ("{{ choices.values() | map('upper') | join(' / ') }}", None),
        ("{{ tags | select('in', tags) | list | length }}", "40"),
        (
            "{% for a in tags %}{% for b in tags %}{{ '' if a != b else '=' }}{% endfor %}{% endfor %}",
            "=" * 40,
        ),
        ("{{ scores.values() | sum | round(2) }} {{ tags | sum(attribute='0', start=0) if 0 }}", "260.0 "),
        ("{{ meta.tags | length }} {{ meta | tojson | length > 100 }}", "40 True"),
        ("{{ question | wordcount }} {{ question.split() | first }} {{ question | truncate(9) }}", None),
        ("{{ range(1000) | join(',') | length }}", "3889"),
        ("{% set big = question * 40 %}{{ big | replace('these', 'those') | length }}", "64000"),
        ("{{ (letters[1:3] + ['Z']) | join }}{{ 7 // 2 - 1 }}{{ 'a' ~ 1 ~ none }}", "BCZ2a1None"),
        (
            "{{ 2.567 | round(1) }} {{ 1234 | round(-2) }} {{ ' x ' | trim }}{{ 'xyx'.strip('x') }}",
            "2.6 1200 xy",
        ),
    ],
)
def test_ordinary_templates_are_not_refused(template: str, text: str | None) -> None:
    found = rendered(template)
    assert found.strip()
    assert text is None or found == text


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 50_000])
def test_numbers_without_end_are_refused_as_they_are_read(number: str) -> None:
    with pytest.raises(UsageError, match="the template cannot be read"):
        make_template_prompt(f"{{{{ {number} }}}}")


@pytest.mark.parametrize(
    "template",
    [
        "{{ 3**99999999 }}",
        "{{ 7**399999999 }}",
        "{{ 'a' * 3**99999999 }}",
        "{{ question[:9**9**9] }}",
        "{% if 3**99999999 > 1 %}x{% endif %}",
        "{% set n = 9**9**9 %}x",
        "{% for n in range(9**9**9) %}{% endfor %}",
        "{{ ('a' ~ 3**99999999) | length }}",
        "{{ 1 if 3**99999999 else 2 }}",
        "{{ -(3**99999999) }}",
        "{{ [3**99999999] | first }}",
        "{{ (3**99999999) | abs }}",
        "{{ {'k': 3**99999999}.k }}",
        "{{ range(3**99999999) is iterable }}",
        "{{ nobody(3**99999999) }}",
    ],
)
def test_a_power_is_refused_before_anything_works_it_out(template: str) -> None:
    with a_moment(), pytest.raises(UsageError, match="line 1: Pow is not supported"):
        make_template_prompt(template)


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 99999999999 }}",
        "{{ [1] * 99999999999 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ 'a'.ljust(999999999) }}",
        "{{ 'a'.zfill(999999999) }}",
        "{{ 99999999999 * [1] }}",
        "{% for n in range(90000) %}{{ 'x' * 100 }}{% endfor %}",
        "{% for n in range(1000000000) %}{% endfor %}",
        "{{ ('a' * 99999 ~ 'b') * 99999 }}",
        "{{ range(99999999999) | list }}",
        "{{ " + "'aaaaaaaaaa' * 10 * " * 9 + "10 }}",
    ],
)
def test_texts_lists_and_ranges_without_end_are_refused(template: str) -> None:
    with a_moment(), pytest.raises(DataError, match=r"^sample 7: the template: "):
        rendered(template)


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in letters %}" * 25 + "x" + "{% endfor %}" * 25,
        "{% if letters %}" * 2_000 + "x" + "{% endif %}" * 2_000,
        "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
        "{{ " + "[" * 150 + "1" + "]" * 150 + " }}",
        "{{ " + "-" * 5_000 + "1 }}",
        "{{ " + "not " * 5_000 + "1 }}",
        "{{ 1" + " + 1" * 20_000 + " }}",
        "{{ question" + " | upper" * 5_000 + " }}",
    ],
)
def test_a_template_that_is_nested_too_deeply(template: str) -> None:
    with pytest.raises(UsageError, match="nested too deeply") as caught:
        make_template_prompt(template)
    assert len(str(caught.value)) < 500
