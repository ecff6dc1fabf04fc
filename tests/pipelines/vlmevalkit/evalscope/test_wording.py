"""Advice about flags, for those who wrote none."""

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.errors import EyechartError, UsageError, translate_hint
from eyechart.pipelines.vlmevalkit.evalscope.job import KEYS, name_keys_in_errors
from eyechart.pipelines.vlmevalkit.vlmeval.command import rewrite_hint
from support.server import Answer
from support.tasks import User


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("", ""),
        ("is it running? --base-url names another", "is it running? api_base names another"),
        ("--give-up-after N goes on for longer", ""),
        ("wait a while; --give-up-after N tries for longer", "wait a while"),
        ("ask fewer with --concurrency, or use --trials", "ask fewer with nproc"),
        ("see: eyechart run --help", "see: eyechart run --help"),
    ],
)
def test_hints_for_a_configuration(said: str, meant: str) -> None:
    assert translate_hint(said, KEYS) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("is it running? --base-url names another", "is it running? --base-url names another"),
        ("check the key (OPENAI_API_KEY or --api-key)", "check the key (OPENAI_API_KEY or --key)"),
        ("--give-up-after N goes on for longer", ""),
        ("keep_failed: true leaves them out", "--keep-failed leaves them out"),
    ],
)
def test_hints_for_flags_of_vlmevalkit(said: str, meant: str) -> None:
    assert rewrite_hint(said) == meant


def test_what_is_raised_is_worded() -> None:
    with pytest.raises(UsageError, match=r"^limit: 0 selects nothing$") as caught, name_keys_in_errors():
        raise UsageError("--limit 0 selects nothing")
    assert caught.value.message == "limit: 0 selects nothing"


def test_a_task_speaks_of_its_keys(user: User) -> None:
    with pytest.raises(EyechartError) as caught:
        run_task(user.config(model=[user.entry(api_base="http://127.0.0.1:9/v1/chat/completions")]))
    assert "api_base names another one" in caught.value.hint
    user.server.answer = lambda asked: Answer(status=401)
    with pytest.raises(EyechartError) as caught:
        run_task(user.config())
    assert "--" not in str(caught.value)
