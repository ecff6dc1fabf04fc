"""A judge that a script asks by itself."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.pipelines.vlmevalkit.vlmeval.bridge import DEBUG_MESSAGE, build_judge, track_progress_rich
from support.files import picture
from support.server import Answer, Asked, Server


def test_it_answers_with_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    with Server(lambda asked: f"so: {asked.text}") as server:
        given: dict[str, Any] = {"nproc": 4, "verbose": True, "retry": 2, "timeout": 30, "max_tokens": 9}
        judge = build_judge("some-judge", api_base=f"{server.base_url}/chat/completions", key="abc", **given)
        assert judge.working()
        assert judge.generate("Is it so?", temperature=0.5) == "so: Is it so?"
        parts = [{"type": "image", "value": str(tmp_path / "a.png")}, {"type": "text", "value": "And this?"}]
        assert judge.generate(parts) == "so: And this?"
        first, second, third = server.asked
    assert first.body["temperature"] == 0
    assert (second.body["temperature"], second.body["max_tokens"], second.body["model"]) == (
        0.5,
        9,
        "some-judge",
    )
    assert second.headers["Authorization"] == "Bearer abc"
    assert len(third.images) == 1
    assert "abc" not in repr(judge)


def test_what_the_system_says_goes_first() -> None:
    with Server() as server:
        build_judge("j", api_base=server.base_url, system_prompt="Be brief.").generate("Well?")
        [asked] = server.asked
    assert [turn["role"] for turn in asked.body["messages"]] == ["system", "user"]


@pytest.mark.slow
def test_it_tries_again_and_then_says_so() -> None:
    n_asked = 0

    def answer(asked: Asked) -> Answer | str:
        nonlocal n_asked
        n_asked += 1
        return Answer(status=500) if n_asked < 3 else "yes"

    with Server(answer) as server:
        assert build_judge("j", api_base=server.base_url, retry=3).generate("?") == "yes"
        n_asked = 0
        with pytest.raises(ModelError):
            build_judge("j", api_base=server.base_url, retry=2).generate("?")
        assert n_asked == 2
        n_asked = -9
        assert not build_judge("j", api_base=server.base_url, retry=1).working()
    assert "judge_base_url" in DEBUG_MESSAGE


def test_silence_ends() -> None:
    with Server(lambda asked: Answer(text="late", delay_s=5)) as server:
        judge = build_judge("j", api_base=server.base_url, retry=1, timeout=0.05)
        with pytest.raises(ModelError, match=r"openai/j gave no answer within 0\.05 s"):
            judge.generate("?")


def test_many_threads_may_ask() -> None:
    with Server(lambda asked: asked.text) as server:
        judge = build_judge("j", api_base=server.base_url)
        asked = [(f"number {k}",) for k in range(20)]
        assert track_progress_rich(judge.generate, asked, nproc=8) == [text for (text,) in asked]


def test_a_judge_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="no API key for OpenAI's endpoint"):
        build_judge("gpt-4o-mini")
    with pytest.raises(UsageError, match="has no parameter 'temprature'"):
        build_judge("j", api_base="http://localhost:1/v1", temprature=1)
    with pytest.raises(UsageError, match="no model"):
        build_judge("")
