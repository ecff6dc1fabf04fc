"""AMBER (Wang et al., 2023): existence, attributes and relations of objects, each group counting the same."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import ask
from eyechart.score.aggregates import declare_macro, get_column
from eyechart.types import Card

Entry(
    "amber",
    "existence, attributes and relations of objects",
    Card("hallucination", "14,216 questions", "https://arxiv.org/abs/2311.07397", "Apache-2.0"),
    file="AMBER",
    hub="yifanzhang114/AMBER_base64:AMBER.tsv",
    prompt=ask("\nPlease answer yes or no."),
    scorer="yes-no-vlmevalkit",
    judged_scorer="yes-no-judged-vlmevalkit",
    aggregate="amber",
    metric="mean accuracy of attribute, existence and relation",
).register()


_AMBER = {
    "discriminative-attribute-state": "Attribute",
    "discriminative-attribute-number": "Attribute",
    "discriminative-attribute-action": "Attribute",
    "discriminative-hallucination": "Existence",
    "discriminative-relation": "Relation",
    "relation": "Relation",
}


declare_macro(
    "amber",
    "the mean of attribute, existence and relation (those present)",
    lambda row: (_AMBER.get(get_column(row, "category"), get_column(row, "category")),),
)
