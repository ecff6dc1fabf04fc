"""What a run costs: the prices of its model and its judge, what was spent before, and what may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eyechart.errors import UsageError
from eyechart.model.prices import Price, find_price
from eyechart.run.options import Options
from eyechart.types import Model

if TYPE_CHECKING:
    from eyechart.engine.budget import Budget, Role
    from eyechart.run.plan import Plan
    from eyechart.store.journal import Journal


def is_free(model: Model) -> bool:
    """Whether it runs here, without tokens that anybody would count."""
    return bool(getattr(model, "is_free", False))


def find_prices(model: Model, judge: Model | None, options: Options) -> dict[str, Price | None]:
    """The prices of a run's model and its judge, as far as anybody says them.

    With a limit in USD, a price that nobody says is refused: the limit could not be kept.
    """
    prices = {"model": find_price(model.name, model.identity, options.prices)}
    if judge is not None:
        is_same = (judge.name, _where(judge)) == (model.name, _where(model))
        prices["judge"] = find_price(judge.name, judge.identity, options.prices, is_judge=not is_same)
    if options.max_cost is not None:
        for who, one in (("model", model), ("judge", judge)):
            if one is not None and prices[who] is None and not is_free(one):
                raise UsageError(
                    f"no price is known for {_called(one, who)}, so --max-cost cannot be kept",
                    hint=_hint(who),
                )
    return prices


def unpriced(plan: Plan) -> list[str]:
    """Whose price is not known though the user has said prices: a slip in a name, most likely."""
    bench = plan.verdicts.bench
    everyone = [("model", plan.model), *([("judge", bench.model)] if bench else [])]
    return [
        _called(one, who)
        for who, one in everyone
        if plan.options.prices and plan.prices.get(who) is None and not is_free(one)
    ]


def priced(manifest: Mapping[str, Any], judge: Model | None, options: Options) -> dict[str, Any]:
    """A manifest with the price of a judge that was named after the replies were there.

    Without a judge it stays as it is, and so does the price of a judge that the run already had.
    """
    kept = manifest.get("prices") or {}
    if options.judge is None or judge is None:
        return dict(manifest)
    price = find_price(judge.name, judge.identity, options.prices, is_judge=True)
    return {**manifest, "prices": {**kept, "judge": price.to_json() if price else None}}


def make_budget(plan: Plan, journal: Journal) -> Budget:
    """The limits of a run, less what its earlier starts have spent."""
    from eyechart.engine.budget import Budget

    options, bench = plan.options, plan.verdicts.bench
    prices: dict[Role, Price | None] = {"model": plan.prices.get("model")}
    if bench is not None:
        prices["judge"] = plan.prices.get("judge")
    budget = Budget(max_cost=options.max_cost, max_tokens=options.max_total_tokens, prices=prices)
    for who, paid in zip(("model", "judge"), journal.paid_totals(), strict=True):
        if paid.n_counted:
            price = plan.prices.get(who)
            tokens = paid.usage.prompt_tokens + paid.usage.completion_tokens
            budget.carry(tokens, price.cost(paid.usage) if price else None, paid.n_counted)
    return budget


def _where(model: Model) -> object:
    return model.identity.get("endpoint")


def _called(model: Model, who: str) -> str:
    return f"the judge {model.name}" if who == "judge" else model.name


def _hint(who: str) -> str:
    if who == "judge":
        return "give one in a file of prices: --prices FILE (docs/cost.md)"
    return "give one with --prices input=2.5,output=10 (USD a million tokens), or in a file (docs/cost.md)"
