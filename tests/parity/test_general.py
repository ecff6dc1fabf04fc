"""`general_vqa` and `general_vmcq` of evalscope 1.14.1 and of eyechart: requests, scores, all files."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from typing import Any

import pytest

from parity.conftest import Programs
from parity.general import (
    JUDGE,
    Files,
    find_differences,
    is_halfway,
    make_answer,
    make_vmcq,
    make_vqa,
    read_result,
    write_pictures,
)
from support.server import Server

N_ROWS = 100  # per file; the data sets have four and three


@pytest.fixture
def seed(capsys: pytest.CaptureFixture[str]) -> int:
    found = int(os.environ.get("EYECHART_PARITY_SEED") or random.SystemRandom().randrange(10**6))
    with capsys.disabled():
        print(f"\nEYECHART_PARITY_SEED={found}")  # noqa: T201
    return found


@pytest.fixture
def sets(programs: Programs, seed: int) -> dict[str, Files]:
    pictures = write_pictures(programs.home / "pictures")
    return {
        "general_vqa": make_vqa(programs.home / "vqa", pictures, seed, N_ROWS),
        "general_vmcq": make_vmcq(programs.home / "vmcq", pictures, seed, N_ROWS),
    }


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"repeats": 2, "limit": 0.25, "generation_config": {"max_tokens": 64, "top_p": 0.5, "seed": 7}},
        {"judge": "llm", "limit": 40},
        {"judge": "llm_recall", "limit": 40},
        {
            "limit": 60,
            "own": {
                "general_vqa": {
                    "filters": {"remove_until": "the"},
                    "system_prompt": "Look.",
                    "shuffle": True,
                },
                "general_vmcq": {"prompt_template": "{question}\n{choices}\n{{one of {letters}}}"},
            },
        },
    ],
    ids=["plain", "repeats", "judge", "recall", "changed"],
)
def test_every_file_is_that_of_evalscope(
    programs: Programs, sets: dict[str, Files], changes: dict[str, Any]
) -> None:
    assert sum(files.n_rows for files in sets.values()) >= 500
    with Server(make_answer(sets)) as server:
        own = changes.pop("own", {})
        if strategy := changes.pop("judge", None):
            judge = {"model_id": JUDGE, "api_url": server.base_url, "api_key": "k"}
            changes["judge"] = {"strategy": strategy, "models": [judge]}
        config = {
            "model": "org/Some-Model:7b",
            "api_url": server.base_url,
            "datasets": list(sets),
            "dataset_args": {
                name: {"local_path": str(files.folder), "subset_list": files.subsets, **own.get(name, {})}
                for name, files in sets.items()
            },
            "work_dir": "out",
            "no_timestamp": True,
            **changes,
        }
        script = "import json\nfrom evalscope import TaskConfig, run_task\n"
        script += f"reports = run_task(TaskConfig(**json.loads({json.dumps(config)!r})))\n"
        script += "print('SCORES', json.dumps({name: one.score for name, one in reports.items()}))\n"
        asked: list[list[str]] = []
        theirs, ours = programs.run(script, after_each=lambda: asked.append(_take_requests(server)))
    only = [list((Counter(asked[at]) - Counter(asked[1 - at])).elements())[:2] for at in (0, 1)]
    assert only == [[], []], "\n".join(one for each in only for one in each)
    files = sorted(path.relative_to(theirs) for path in theirs.glob("out/*/*/general_*"))
    assert len(files) == 2 + 2 * sum(len(one.subsets) for one in sets.values())
    for name in files:
        found = list(find_differences(read_result(ours / name), read_result(theirs / name)))
        halfway = [one for one in found if is_halfway(*one)]
        assert not [one for one in found if one not in halfway][:3], name
        assert len(halfway) <= 4, name  # of one subset, and of the totals above it
    said = [re.findall("SCORES .*", (folder / "output.txt").read_text("utf-8")) for folder in (theirs, ours)]
    assert said[0] == said[1]


def _take_requests(server: Server) -> list[str]:
    """The requests since the last call, in one order; a list of texts is the same as one text."""
    taken = []
    for asked in server.asked:
        for message in asked.body["messages"]:
            content = message["content"]
            if isinstance(content, list) and all(part["type"] == "text" for part in content):
                message["content"] = "\n".join(part["text"] for part in content)
        taken.append(json.dumps(asked.body, sort_keys=True))
    server.asked.clear()
    return sorted(taken)
