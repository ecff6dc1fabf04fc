"""MULTI's own summary vectors, and runs of MULTI made by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.pipelines.multi.files import Problem, find_level
from eyechart.pipelines.multi.score import KINDS, count_points
from eyechart.registry import scorers
from eyechart.types import Failure, Reply, Result, Sample

GOLDEN = Path(__file__).parents[1] / "golden" / "multi_summary.json"


def official() -> dict[str, Any]:
    """Problems, predictions, and what the official metrics step made of them."""
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert "MULTI-Benchmark" in found["provenance"]
    return found


def to_problems(given: dict[str, Any]) -> dict[str, Problem]:
    """Problems as the reader of files makes them."""
    return {name: replace(msgspec.convert(one, Problem), problem_id=name) for name, one in given.items()}


def multi_sample(name: str, problem: dict[str, Any], n_images: int, **fields: Any) -> Sample:
    """A sample as the benchmark's reader makes it."""
    problem_id, _, index = name.rpartition("_")
    type = problem["problem_type_list"][int(index)]
    answer = problem["problem_answer_list"][int(index)]
    meta = {
        "question_type": KINDS[type],
        "type_name": type,
        "education": problem["education"],
        "subject": problem["subject"][0],
        "problem_id": problem_id,
        "question_image_number": n_images,
        "level": find_level(problem["education"], problem["subject"][0]),
    }
    usual: dict[str, Any] = {
        "golds": () if answer is None else (answer,),
        "weight": float(count_points(answer, type)),
        "meta": meta,
        "withheld": {"analysis": problem["problem_analysis_list"][int(index)]},
    }
    return Sample(**({"id": name, "question": "?"} | usual | fields))


def multi_result(
    sample: Sample, text: str, position: int = 0, scorer: str = "multi", **fields: Any
) -> Result:
    """A scored reply."""
    reply = Reply(text=text)
    usual: dict[str, Any] = {"reply": reply, "score": scorers.get(scorer)(reply, sample)}
    return Result(sample=sample, position=position, **(usual | fields))


def official_results(answer_position: str) -> list[Result]:
    """The predictions of the vectors as a run's results."""
    given = official()
    scorer = "multi" if answer_position == "start" else "multi-end"
    results = []
    for position, (name, entry) in enumerate(given["predictions"].items()):
        problem = given["problems"].get(name.rpartition("_")[0])
        if problem is not None:
            sample = multi_sample(name, problem, entry["question_image_number"])
            results.append(multi_result(sample, entry.get("prediction", ""), position, scorer))
    return results


def failed(sample: Sample, reason: str = "HTTP 503") -> Result:
    return Result(sample=sample, position=0, failure=Failure(stage="generate", reason=reason))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
