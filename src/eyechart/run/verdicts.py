"""Who scores a run: its scorer, those beside it, and the judge that they may ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eyechart.errors import ModelError, UsageError
from eyechart.run.options import Options
from eyechart.types import (
    Benchmark,
    Capabilities,
    JudgedScorer,
    Model,
    Reply,
    Request,
    Scorer,
    capabilities_of,
)

if TYPE_CHECKING:
    from eyechart.engine.judge import JudgeSetup


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Who scores a run. Scorers that can ask a judge are bound to it."""

    scorer: Scorer
    beside: tuple[Scorer, ...] = ()
    judge_setup: JudgeSetup | None = field(default=None)

    @property
    def judge(self) -> Model | None:
        """The model that judges, if any does."""
        return self.judge_setup.model if self.judge_setup else None

    def describe(self) -> dict[str, Any]:
        """What the manifest says of them."""
        setup = self.judge_setup
        return {
            "scorer": self.scorer.name,
            "parity": self.scorer.parity,
            "also_scorers": [scorer.name for scorer in self.beside],
            "versions": {scorer.name: scorer.version for scorer in (self.scorer, *self.beside)},
            "judge": setup
            and {
                "model": setup.model.name,
                "identity": dict(setup.model.identity),
                "prompts": dict(setup.prompts),
            },
        }


def choose_verdicts(benchmark: Benchmark, options: Options) -> Verdicts:
    """The scorers of a run, checked against whether there is a judge."""
    judge = find_judge(options)
    usual = benchmark.judged_scorer if judge and benchmark.judged_scorer else benchmark.scorer
    scorer = options.scorer or usual
    if scorer in options.also_scorers:
        raise UsageError(
            f"--also-scorer {scorer} has no effect: it is the scorer of the run", hint="leave it out"
        )
    return bind(scorer, options.also_scorers, judge)


def refuse_stray_judge(options: Options) -> None:
    """Refuse what was said about a judge where there is none."""
    said = options.judging()
    if said and "judge" not in said:
        raise UsageError(f"{next(iter(said))} is given, but no judge", hint="name it with --judge MODEL")


def bind(scorer: str, beside: tuple[str, ...], judge: JudgeSetup | None) -> Verdicts:
    """Scorers by name, bound to the judge if there is one."""
    from eyechart.registry import scorers

    found: list[Scorer] = []
    for name in dict.fromkeys((scorer, *beside)):
        one = scorers.get(name)
        if getattr(one, "needs_judge", False) and judge is None:
            raise UsageError(
                f"the scorer {name} needs a judge",
                hint="name one with --judge MODEL, or score by rules alone with --scorer default",
            )
        found.append(judge.bind(one) if judge and isinstance(one, JudgedScorer) else one)
    if judge and not any(isinstance(one, JudgedScorer) for one in found):
        raise UsageError(
            f"the scorer {scorer} asks no judge", hint="leave out --judge, or choose --scorer judged"
        )
    return Verdicts(scorer=found[0], beside=tuple(found[1:]), judge_setup=judge)


def find_judge(options: Options) -> JudgeSetup | None:
    """The judge that a user names, with the wording they give it."""
    if options.judge is None:
        return None
    from eyechart.engine.judge import JudgeSetup
    from eyechart.model.specs import make_model
    from eyechart.score.judge_prompts import read_prompts

    prompts = read_prompts(options.judge_prompts) if options.judge_prompts else {}
    try:
        model = make_model(options.judge, options.judge_settings())
    except UsageError as err:
        raise UsageError(f"the judge: {err.message}", hint=_of_the_judge(err.hint)) from err
    return JudgeSetup(_AsJudge(model), prompts)


def _of_the_judge(hint: str) -> str:
    """A model's hint, with the flags that are the judge's own."""
    for flag in ("--api-key", "--base-url"):
        hint = hint.replace(flag, flag.replace("--", "--judge-"))
    return hint


@dataclass(frozen=True, slots=True)
class _AsJudge:
    """A model whose troubles are told as the judge's, with the judge's own flags."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.model.identity

    @property
    def addresses(self) -> list[str]:
        return list(getattr(self.model, "addresses", ()))

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of(self.model)

    async def reply(self, request: Request) -> Reply:
        try:
            return await self.model.reply(request)
        except ModelError as err:
            err.message, err.hint = f"the judge: {err.message}", _of_the_judge(err.hint)
            raise

    async def close(self) -> None:
        await self.model.close()
