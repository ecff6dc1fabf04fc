"""Several trials in one request, and what happens where an endpoint knows no such thing."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ModelError
from eyechart.store.journal import Journal
from eyechart.types import Reply, Request, Result, Usage
from support.parts import Pictures, ScriptedModel, image, run, sample, samples

Replies = Callable[[Request, int], list[Reply]]


class Generous(ScriptedModel):
    """Gives several answers to one request, as its script says."""

    def __init__(self, several: Replies) -> None:
        super().__init__(lambda request: f"alone {request.trial}")
        self.sizes: list[int] = []
        self._several = several

    async def replies(self, request: Request, n: int) -> list[Reply]:
        self.sizes.append(n)
        return self._several(request, n)


def all_of_them(request: Request, n: int) -> list[Reply]:
    usage = Usage(prompt_tokens=100, completion_tokens=n)
    return [Reply(text=f"choice {k}", usage=usage) for k in range(n)]


def one_of_them(request: Request, n: int) -> list[Reply]:
    return [Reply(text="choice 0")]


def refuse(request: Request, n: int) -> list[Reply]:
    raise ModelError("HTTP 400: n must be 1", status=400)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "run.sqlite")
    yield made
    made.close()


def results(journal: Journal, trials: int = 3) -> list[Result]:
    journal.flush()
    return list(journal.results("same-text", trials=trials))


def texts(journal: Journal) -> list[str]:
    return [result.reply.text for result in results(journal) if result.reply]


def test_all_trials_of_a_sample_go_in_one_request(journal: Journal) -> None:
    model = Generous(all_of_them)
    made = run(journal, model, of=samples(4), trials=3, together=True)
    assert model.sizes == [3, 3, 3, 3]
    assert (model.asked, made.progress.sent) == ([], 4)
    assert texts(journal) == ["choice 0", "choice 1", "choice 2"] * 4
    assert len({result.key for result in results(journal)}) == 12, "each trial is known by its own key"


def test_tokens_of_a_shared_request_are_counted_once(journal: Journal) -> None:
    run(journal, Generous(all_of_them), of=samples(1), trials=3, together=True)
    usages = [result.reply.usage for result in results(journal) if result.reply]
    assert usages == [Usage(prompt_tokens=100, completion_tokens=3), None, None]


def test_a_picture_is_loaded_once_for_all_trials(journal: Journal) -> None:
    from eyechart.types import ImageRef

    pictures = Pictures({"one.png": image()})
    one = sample(0, images=(ImageRef(kind="file", location="one.png"),))
    run(journal, Generous(all_of_them), of=[one], trials=3, together=True, pictures=pictures)
    assert pictures.loaded == {"one.png": 1}


@pytest.mark.parametrize("several", [one_of_them, refuse])
def test_an_endpoint_that_gives_one_answer_is_asked_trial_by_trial(
    journal: Journal, several: Replies
) -> None:
    model = Generous(several)
    run(journal, model, of=samples(5), trials=3, together=True, concurrency=1)
    assert model.sizes == [3], "once is enough to learn it"
    assert len(results(journal)) == len(texts(journal)) == 15
    assert len(model.asked) == (14 if several is one_of_them else 15)


def test_a_request_that_is_refused_alone_too_says_nothing_about_several(journal: Journal) -> None:
    def refuse_the_first(request: Request, n: int) -> list[Reply]:
        return refuse(request, n) if request.sample.id == "q0" else all_of_them(request, n)

    class Fussy(Generous):
        async def reply(self, request: Request) -> Reply:
            raise ModelError("HTTP 400: the picture is too large", status=400)

    model = Fussy(refuse_the_first)
    run(journal, model, of=samples(3), trials=3, together=True, concurrency=1)
    outcomes = [result.outcome for result in results(journal)]
    assert outcomes == ["failed"] * 3 + ["wrong"] * 6
    assert model.sizes == [3, 3, 3]


def test_only_missing_trials_are_asked(journal: Journal) -> None:
    run(journal, Generous(all_of_them), of=samples(2), trials=1)
    model = Generous(all_of_them)
    run(journal, model, trials=3, together=True)
    assert model.sizes == [2, 2]
    assert texts(journal) == ["alone 0", "choice 0", "choice 1"] * 2
    again = Generous(all_of_them)
    made = run(journal, again, trials=3, together=True)
    assert (again.sizes, again.asked, made.progress.resumed) == ([], [], 6)


def test_a_failed_request_for_several_fails_each_of_them(journal: Journal) -> None:
    def busy(request: Request, n: int) -> list[Reply]:
        raise ModelError("busy", status=503, is_retryable=True)

    run(journal, Generous(busy), of=samples(1), trials=3, together=True)
    assert [result.outcome for result in results(journal)] == ["failed"] * 3


@pytest.mark.parametrize("said", [[], [None], None])
def test_an_endpoint_that_gives_no_reply_at_all_has_failed(journal: Journal, said: Any) -> None:
    model = Generous(lambda request, n: said)
    made = run(journal, model, of=samples(2), trials=3, together=True)
    assert [result.outcome for result in results(journal)] == ["failed"] * 6
    assert made.progress.answered == 0
    assert len(model.sizes) == 2, "whatever it is, it is no accident"
