"""The engine's part in look runs: several processes, memory, and how often originals are decoded."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from PIL import Image as Pillow

from eyechart.data.images.loading import ImageLoader
from eyechart.engine import look as engine_look
from eyechart.engine.budget import Budget, BudgetGate
from eyechart.engine.look import HeldBytes, LookSetup
from eyechart.look.crops import usual_rules
from eyechart.look.dialogue import TOOL
from eyechart.models.prices import Price
from eyechart.store.journal import Journal
from eyechart.types import Capabilities, ImageRef, Message, Reply, Request, Sample, Usage
from support.files import picture
from support.links import LocalLink, run_cluster
from support.parts import ScriptedModel

LOOK = LookSetup(rules=usual_rules("zoom"))
N_LOOKS = 3


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "run.sqlite")
    yield made
    made.close()


class Counting(ImageLoader):
    """Counts how often an image is decoded."""

    decoded: ClassVar[Counter[str]] = Counter()

    def open(self, ref: ImageRef) -> Pillow.Image:
        self.decoded[ref.location] += 1
        return super().open(ref)


def ask(sample: Sample) -> list[Message]:
    return [Message("user", (*sample.images, sample.question))]


def draw(folder: Path, n: int, size: tuple[int, int] = (400, 300)) -> list[Sample]:
    for k in range(n):
        (folder / f"{k}.png").write_bytes(picture((k, 0, 0), size=size))
    refs = [ImageRef(kind="file", location=str(folder / f"{k}.png")) for k in range(n)]
    return [Sample(id=f"q{k}", question="?", images=(refs[k],), golds=(str(k),)) for k in range(n)]


def zoom(request: Request) -> Reply:
    """Looks three times, each time into the last crop, then answers."""
    n = sum(turn.role == "assistant" for turn in request.messages)
    if n == N_LOOKS:
        return Reply(text=request.sample.id.removeprefix("q"))
    call = {"name": TOOL, "arguments": {"bbox_2d": [0, 0, 900, 900], "label": "", "img_idx": n}}
    return Reply(text=f"<tool_call>{json.dumps(call)}</tool_call>")


def test_workers_play_the_same_dialogues_and_decode_once_per_request(
    journal: Journal, tmp_path: Path
) -> None:
    Counting.decoded.clear()
    pictures: Any = Counting()
    run_cluster(journal, lambda: ScriptedModel(zoom), of=draw(tmp_path, 4), pictures=pictures, look=LOOK)
    results = list(journal.results("same-text"))
    assert [result.outcome for result in results] == ["correct"] * 4
    assert set(Counting.decoded.values()) == {1 + N_LOOKS}
    assert len(list(journal.calls("q0", 0))) == 1 + N_LOOKS


def test_a_worker_that_dies_in_a_dialogue_loses_only_the_request_in_flight(
    journal: Journal, tmp_path: Path
) -> None:
    links = [LocalLink() for _ in range(2)]
    asked: Counter[str] = Counter()
    has_died = False

    async def script(request: Request) -> Reply:
        nonlocal has_died
        asked[f"{request.sample.id} {len(request.messages)}"] += 1
        n_said = sum(turn.role == "assistant" for turn in request.messages)
        while len(list(journal.calls(request.sample.id, 0))) < n_said:  # noqa: ASYNC110 not yet at the driver
            await asyncio.sleep(0.01)
        if request.sample.id == "q1" and len(request.messages) == 6 and not has_died:
            has_died = True
            me = asyncio.current_task()
            for link in links:
                state = link.worker._state if link.worker else None
                if state is not None and me in state._jobs:
                    link.kill()
            await asyncio.sleep(60)
        return zoom(request)

    pictures: Any = ImageLoader()
    run_cluster(
        journal,
        lambda: ScriptedModel(script),
        of=draw(tmp_path, 2),
        pictures=pictures,
        look=LOOK,
        links=links,
    )
    assert has_died
    assert [result.outcome for result in journal.results("same-text")] == ["correct"] * 2
    again = {what for what, n in asked.items() if n > 1}
    assert {what for what in again if what.startswith("q1")} == {"q1 6"}


def test_a_free_models_searcher_counts_on_a_cluster(journal: Journal, tmp_path: Path) -> None:
    class Free(ScriptedModel):
        capabilities = Capabilities(is_free=True)

    def describe(request: Request) -> Reply:
        is_first = len(request.messages) == 2
        call = "<tool_call>region_description={the corner}</tool_call>"
        return Reply(
            text=call if is_first else f"<answer>{request.sample.id.removeprefix('q')}</answer> \\boxed{{0}}"
        )

    used = Usage(prompt_tokens=1000)
    budget = Budget(max_cost=None, max_tokens=None, prices={"searcher": Price(input=1000, output=0)})
    run_cluster(
        journal,
        lambda: Free(describe),
        of=draw(tmp_path, 3),
        pictures=cast("Any", ImageLoader()),
        look=LookSetup(rules=usual_rules("search")),
        make_searcher=lambda: ScriptedModel(lambda request: Reply(text="[0, 0, 90, 90]", usage=used)),
        parts={"gate": BudgetGate(budget)},
    )
    assert [result.outcome for result in journal.results("same-text")] == ["correct"] * 3
    assert budget.cost == pytest.approx(3.0)


class Crowded(ImageLoader):
    """Counts how many originals are decoded at the same time."""

    lock: ClassVar[threading.Lock] = threading.Lock()
    open_now: ClassVar[int] = 0
    most: ClassVar[int] = 0

    def open(self, ref: ImageRef) -> Pillow.Image:
        with self.lock:
            Crowded.open_now += 1
            Crowded.most = max(self.most, self.open_now)
        time.sleep(0.02)  # the others get here, if they may
        with self.lock:
            Crowded.open_now -= 1
        return super().open(ref)


def test_large_originals_are_decoded_within_a_budget(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = engine_look._BYTES_PER_PIXEL * 1200 * 1000  # bytes for the pixels of an original
    monkeypatch.setattr(engine_look, "_MAX_DECODED_BYTES", 2 * one)
    pictures: Any = Crowded()
    samples = draw(tmp_path, 8, size=(1200, 1000))
    run_cluster(journal, lambda: ScriptedModel(zoom), of=samples, pictures=pictures, look=LOOK, n_workers=1)
    assert [result.outcome for result in journal.results("same-text")] == ["correct"] * 8
    assert 1 <= Crowded.most <= 2


def test_a_dialogue_waits_while_others_hold_the_memory_but_the_first_never_does() -> None:
    async def play() -> None:
        held = HeldBytes(100)
        await held.add("first", 80)
        waiting = asyncio.create_task(held.add("second", 30))
        await asyncio.sleep(0)
        await held.add("first", 80)  # beyond the limit: it could wait for ever
        assert not waiting.done()
        held.release("first")
        await asyncio.wait_for(waiting, 10)

    asyncio.run(play())
