"""Multiple choice, MMMU and MMMU-Pro: which option a reply chooses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eyechart.types import Sample, Score, ScoredRow
from support.verdicts import (
    ALL,
    LETTERS,
    Input,
    aggregate,
    domains,
    means,
    offered,
    plain,
    raises,
    score,
)

# -- Letters and MMMU


@offered("lmms.mcq_extract")
def mcq_extract(given: Input) -> object:
    from eyechart.score.lmms import read_letter

    return {"letter": read_letter(given["reply"], given["choices"] or "ABCDEFGH") or ""}


@offered("lmms.mmstar.row", "lmms.realworldqa.row")
def choice_lmms(given: Input) -> object:
    return {"score": score("choice-lmms", given["reply"], given["answer"]).value}


@offered("lmms.mmmu.parse_multi_choice_response")
def mmmu_option(given: Input) -> object:
    found = score("mmmu", given["reply"], "A", choices=given["options"])
    return {"parsed": found.read} if found.read else {"random": True}


@offered("lmms.mmmu_pro.process_standard")
def mmmu_pro(given: Input) -> object:
    found = score("mmmu", given["reply"], given["gold"], choices=given["options"])
    return {"parsed": found.read, "correct": found.value == 1} if found.read else {"random": True}


@offered("lmms.mmmu_pro.process_vision")
def mmmu_pro_vision(given: Input) -> object:
    found = score("mmmu-pro-vision-lmms", given["reply"], given["gold"], choices=given["options"])
    return {"parsed": found.read or "", "correct": found.value == 1}


def order(candidates: Iterable[float | str]) -> list[float | str]:
    return sorted(candidates, key=lambda one: (isinstance(one, str), str(one)))


@offered("lmms.mmmu.parse_open_response")
def mmmu_open(given: Input) -> object:
    from eyechart.catalogue.mmmu import read_open

    return {"candidates": [plain(one) for one in order(read_open(given["reply"]))]}


@offered("lmms.mmmu.eval_open")
def mmmu_eval_open(given: Input) -> object:
    golds = given["gold"] if isinstance(given["gold"], list) else [given["gold"]]
    return {"correct": score("mmmu", given["reply"], *golds).value == 1}


@offered("lmms.mmmu.normalize_str")
def mmmu_normalise(given: Input) -> object:
    from eyechart.catalogue.mmmu import normalise_answer

    return {"normalized": [plain(one) for one in normalise_answer(given["text"])]}


@offered("lmms.mmmu.extract_numbers")
def mmmu_numbers(given: Input) -> object:
    from eyechart.catalogue.mmmu import find_numbers

    return {"numbers": find_numbers(given["text"])}


@offered("lmms.mmmu.aggregate")
def mmmu_lmms(given: Input) -> object:
    rows = []
    for row in given["rows"]:
        golds = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
        replies = row["reply"] if isinstance(row["reply"], list) else [row["reply"]]
        options = row.get("options") or ()
        value = max(score("mmmu", reply, *golds, choices=options).value for reply in replies)
        rows.append(ScoredRow(value=value, id=row["id"]))
    return domains(aggregate("mmmu", rows))


@offered("vlmeval.mmmu.row_exact")
def mmmu_vlmevalkit(given: Input) -> object:
    from eyechart.catalogue.mmmu import to_choice

    options = {letter: given[letter] for letter in LETTERS if given.get(letter) is not None}
    asked = to_choice(Sample(id="1", question="", golds=(str(given["answer"]),), choices=options))
    found = score("mmmu-vlmevalkit-2026-06", given["prediction"], given["answer"], choices=options)
    hit = int(found.value)
    return {"options": asked.choices, "gt": asked.golds[0], "opt": found.read or "Z", "hit": hit}


@offered("vlmeval.mmmu_pro.cot_postproc")
def mmmu_pro_line(given: Input) -> object:
    from eyechart.catalogue.mmmu import read_answer_line

    return {"prediction": read_answer_line(given["reply"])}


@offered("vlmeval.mmmu_pro.row_exact_cot")
def mmmu_pro_cot(given: Input) -> object:
    found = score("mmmu-pro-cot-vlmevalkit", given["reply"], given["gold"], choices=given["options"])
    return {"opt": found.read or "Z", "hit": int(found.value)}


@offered("vlmeval.mcq.row_exact")
def choice_vlmevalkit(given: Input) -> object:
    found = score("choice-vlmevalkit-2026-06", given["reply"], given["answer"], choices=given["options"])
    return {"opt": found.read or "Z", "hit": int(found.value)}


@offered("vlmeval.visulogic.row")
def visulogic(given: Input) -> object:
    found = score("visulogic", given["reply"], "A")
    return {"letter": found.read or "Z", "how": found.route.partition(":")[2] or "error"}


@offered("vlmeval.wemath.row_rule")
def wemath_row(given: Input) -> object:
    found = score("wemath", given["reply"], given["answer"])
    return {"letter": found.read, "correct": found.value == 1}


# -- lmms-eval: letters


def lettered(name: str, given: Input, **more: Any) -> Score:
    golds = [LETTERS[int(given["answer"])]] if "options" in given else [str(given["answer"])]
    return score(name, given["reply"], *golds, **more)


@offered("lmms.ai2d.row")
def ai2d(given: Input) -> object:
    found = lettered("ai2d-lmms", given)
    return {"filtered": found.read or "", "score": found.value}


@offered("lmms.muirbench.row")
def muirbench(given: Input) -> object:
    found = lettered("muirbench-lmms", given)
    return {"filtered": found.read or "", "score": found.value}


@offered("lmms.scienceqa.row")
def scienceqa(given: Input) -> object:
    return {"score": lettered("scienceqa-lmms", given).value}


@offered("lmms.seedbench.row")
def seedbench(given: Input) -> object:
    found = lettered("seedbench-lmms", given)
    return {"pred": found.read or "", "score": found.value}


@offered("lmms.blink.row")
def blink(given: Input) -> object:
    found = score("blink-lmms", given["reply"], given["answer"].strip("()"), choices=given["choices"] or ())
    return {"letter": found.read or "", "correct": found.value == 1}


@offered("lmms.vstar.row")
def vstar(given: Input) -> object:
    return {"letter": score("vstar-lmms", given["reply"], "A").read}


@offered("lmms.visulogic.row")
def visulogic_lmms(given: Input) -> object:
    found = score("visulogic-lmms", given["reply"], given["answer"])
    return {"letter": found.read or "", "score": found.value}


@offered("lmms.mmvp.row")
def mmvp_row(given: Input) -> object:
    from eyechart.catalogue.mmvp import find_pair, read_mmvp_gold

    found = score("mmvp-lmms", given["reply"], given["gold"])
    return {
        "index": given["index"] - (given["index"] > 0), "pair_index": find_pair(str(given["index"])),
        "pred_letter": found.read or "", "gt": read_mmvp_gold(given["gold"]), "is_correct": found.value == 1,
    }  # fmt: skip


def lettered_rows(name: str, given: Input) -> list[ScoredRow]:
    return [ScoredRow(value=lettered(name, row).value, meta=row) for row in given["rows"]]


@offered("lmms.mmvp.aggregate")
def mmvp_table(given: Input) -> object:
    rows = [
        ScoredRow(value=score("mmvp-lmms", row["reply"], row["gold"]).value, id=str(row["index"]))
        for row in given["rows"]
    ]
    one = aggregate("mmvp-lmms", rows)[ALL]
    return {"accuracy": one["accuracy"] or 0.0, "pair_accuracy": one["pairs"] or 0.0}


@offered("lmms.muirbench.aggregate")
def muirbench_table(given: Input) -> object:
    return {"score": means("muirbench", lettered_rows("muirbench-lmms", given))[ALL]}


@offered("lmms.seedbench.aggregate")
def seedbench_table(given: Input) -> object:
    found = means("seedbench-lmms", lettered_rows("seedbench-lmms", given))
    return {f"seed_{group or 'all'}": value for group, value in found.items()}


@offered("lmms.seedbench_2_plus.aggregate")
def seedbench_plus_table(given: Input) -> object:
    found = means("seedbench-lmms", lettered_rows("seedbench-lmms", given))
    return {f"seedbench_2_plus_{group.capitalize() or 'all'}": value for group, value in found.items()}


# -- lmms-eval: MMMU-Pro


@offered("lmms.mmmu_pro.process_composite")
def mmmu_pro_composite(given: Input) -> object:
    found = score("mmmu-pro-composite-lmms", given["reply"], given["gold"])
    return {"parsed": found.detail["letters"], "acc": found.value}


@offered("lmms.mmmu_pro.aggregate")
def mmmu_pro_table(given: Input) -> object:
    rows = []
    for row in given["rows"]:
        gold, said = row["answer"], row["parsed_pred"]
        if isinstance(gold, list) != isinstance(said, list):
            return raises("ValueError")
        pairs = list(zip(gold, said, strict=True))
        letters = {"letters": said} if isinstance(said, list) else {}
        value = sum(a == b for a, b in pairs) / len(pairs) if letters else float(gold == said)
        rows.append(ScoredRow(value=value, meta={"subject": row["subject"]}, detail=letters))
    return domains(aggregate("mmmu-pro-lmms", rows))
