"""Questions that are answered by yes or no: POPE, MME, HallusionBench, AMBER.

The headline of each is not the share of right answers: F1, points, or groups of questions that must all be
right. VLMEvalKit looks for the words in the reply; lmms-eval requires the reply to be the word.
"""

from __future__ import annotations

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import BRIEFLY, ask, ask_with

ask_mme = ask_with(
    lambda sample: sample.question.strip().replace(" Please answer yes or no.", "") + f"\n{BRIEFLY}"
)

declare(
    "pope",
    "is this object in the image?",
    group="hallucination",
    size="9,000 questions",
    paper="https://arxiv.org/abs/2305.10355",
    licence="MIT",
    file="POPE",
    hub="lmms-lab/POPE:test",
    also_hub=["lmms-lab-encoder/POPE"],
    change_row=lambda row: {"answer": str(row["answer"]).title(), "index": row["id"], "id": None},
    prompt=ask(),
    scorer="yes-no-vlmevalkit",
    judged_scorer="yes-no-judged-vlmevalkit",
    aggregate="pope-f1",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask(f"\n{BRIEFLY}", strip=True), scorer="pope-lmms", more={"aggregate": "pope-f1-lmms"}
        )
    },
    metric="F1 of yes over the adversarial, popular and random questions",
    parity="VLMEvalKit, lmms-eval",
    note="VLMEvalKit counts an unreadable reply as no; lmms-eval leaves it out of recall.",
)

declare(
    "mme",
    "14 abilities, two questions per image",
    group="general",
    size="2,374 questions",
    paper="https://arxiv.org/abs/2306.13394",
    licence="research only",
    file="MME",
    hub="lmms-lab/MME:test",
    also_hub=["lmms-lab-encoder/MME"],
    change_row=lambda row: {"image_path": row["question_id"], "question_id": None},
    prompt=ask(),
    scorer="yes-no-vlmevalkit",
    judged_scorer="yes-no-judged-vlmevalkit",
    group_by=("category",),
    aggregate="mme",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask_mme, scorer="mme-lmms", more={"aggregate": "mme-lmms", "group_by": ("category",)}
        )
    },
    metric="points: accuracy and accuracy per image, summed over categories (2,000 + 800)",
    parity="VLMEvalKit, lmms-eval",
)

declare(
    "hallusionbench",
    "edited figures and their originals",
    group="hallucination",
    size="951 questions",
    paper="https://arxiv.org/abs/2310.14566",
    licence="BSD-3-Clause",
    file="HallusionBench",
    hub="lmms-lab/HallusionBench:image",
    also_hub=["lmms-lab-encoder/HallusionBench"],
    change_row=lambda row: {
        "index": "_".join(
            str(row[name])
            for name in ("category", "subcategory", "visual_input", "set_id", "figure_id", "question_id")
        ),
        "answer": "Yes" if str(row["gt_answer"]) == "1" else "No",
        "category": row["category"],
        "l2-category": row["subcategory"],
    },
    prompt=ask(),
    scorer="yes-no-vlmevalkit",
    judged_scorer="yes-no-judged-vlmevalkit",
    aggregate="hallusion",
    kits={
        LMMS_EVAL: Kit(prompt=ask(), scorer="hallusion-lmms", more={"aggregate": "hallusion-lmms"}),
        "lmms-eval-no-judge": Kit(
            prompt=ask(), scorer="hallusion-yes-lmms", more={"aggregate": "hallusion-yes-lmms"}
        ),
    },
    metric="mean of aAcc (questions), fAcc (figures) and qAcc (pairs)",
    parity="VLMEvalKit, lmms-eval",
    note="Leaderboards show the mean of the three; VLMEvalKit lists them. lmms-eval asks a judge.",
)

declare(
    "amber",
    "existence, attributes and relations of objects",
    group="hallucination",
    size="14,216 questions",
    paper="https://arxiv.org/abs/2311.07397",
    licence="Apache-2.0",
    file="AMBER",
    hub="yifanzhang114/AMBER_base64:AMBER.tsv",
    prompt=ask("\nPlease answer yes or no."),
    scorer="yes-no-vlmevalkit",
    judged_scorer="yes-no-judged-vlmevalkit",
    aggregate="amber",
    metric="mean accuracy of attribute, existence and relation",
    parity="VLMEvalKit",
)
