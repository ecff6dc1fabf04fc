"""VLMEvalKit's reading of a choice: every golden vector, in each of the three historical forms."""

from typing import Any

import pytest

from eyechart.errors import UsageError
from eyechart.score.choice import infer
from support.cases import for_each
from support.golden import vectors

FORMS = {
    "vlmevalkit": "inferred",
    "vlmevalkit-2026-06": "inferred_to_2026_06",
    "vlmevalkit-2025-08": "inferred_to_2025_08",
}
LINES = [line for line in vectors("mcq_infer") if not line["env_verbose"]]  # that switch is not reproduced


@for_each(LINES)
def test_every_vector_agrees(line: dict[str, Any]) -> None:
    options = dict(line["choices"])
    found = {rules: infer(line["prediction"], options, rules=rules) for rules in FORMS}
    assert found == {rules: line[name] or None for rules, name in FORMS.items()}
    assert options == line["choices"]


@for_each(vectors("mcq_released", "ms-vlmeval 0.0.20"))
def test_the_release_is_read_by_its_own_rules(line: dict[str, Any]) -> None:
    assert infer(line["prediction"], line["choices"], "vlmevalkit-2026-06") == (line["inferred"] or None)


def test_the_vectors_of_the_release_separate_the_rules() -> None:
    lines = vectors("mcq_released", "ms-vlmeval 0.0.20")
    for rules in ("vlmevalkit", "vlmevalkit-2025-08"):
        others = [
            infer(line["prediction"], line["choices"], rules) != (line["inferred"] or None) for line in lines
        ]
        assert sum(others) >= 30, rules


def test_the_default_is_the_form_of_today() -> None:
    assert infer("The answer is Bob", {"A": "Ann", "B": "Ben"}) == "B"


def test_unknown_rules_are_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="vlmevalkit-2026-06"):
        infer("B", {"B": "dog"}, rules="vlmevalkit-1999")
