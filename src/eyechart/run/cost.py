"""What a run costs: the prices of its model and its judge, what was spent before, and what may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eyechart.errors import UsageError
from eyechart.model.prices import Price, find_price
from eyechart.run.options import Options
from eyechart.run.plan import Plan
from eyechart.types import Model, read_capabilities

if TYPE_CHECKING:
    from eyechart.engine.budget import Budget
    from eyechart.run.plan import Plan
    from eyechart.store.journal import Journal
    from eyechart.store.reader import JudgeTotals


_JUDGES = "judge_prices"  # among the journal's facts


def is_free(model: Model) -> bool:
    """Whether it runs here, without tokens that anybody would count."""
    return read_capabilities(model).is_free


def find_prices(model: Model, judge: Model | None, options: Options) -> dict[str, Price | None]:
    """The prices of a run's model and its judge, as far as anybody says them.

    With a limit in USD, a price that nobody says is refused: the limit could not be kept.
    """
    prices = {"model": find_price(model.name, _served(model), options.prices)}
    if judge is not None:
        is_same = (judge.name, _where(judge)) == (model.name, _where(model))
        prices["judge"] = find_price(judge.name, _served(judge), options.prices, is_judge=not is_same)
    for who, one in (("model", model), ("judge", judge)):
        if one is not None:
            _refuse_unpriced(one, who, prices[who], options)
    return prices


def find_judge_price(judge: Model | None, options: Options) -> dict[str, Price | None]:
    """The price of a judge that is named when the replies are there already: a text of prices is the judge's.

    Empty where none is named now: what was said before stays.
    """
    if options.judge is None or judge is None:
        return {}
    price = find_price(judge.name, _served(judge), options.prices)
    _refuse_unpriced(judge, "judge", price, options)
    return {"judge": price}


def find_unpriced(plan: Plan) -> list[str]:
    """Whose price is not known though the user has said prices: a slip in a name, most likely."""
    judge = plan.scorers.judge
    everyone = [("model", plan.model), *([("judge", judge)] if judge else [])]
    return [
        _called(one, who)
        for who, one in everyone
        if plan.options.prices and plan.prices.get(who) is None and not is_free(one)
    ]


def replace_prices(manifest: Mapping[str, Any], prices: Mapping[str, Price | None]) -> dict[str, Any]:
    """A manifest with these prices in place of those it had."""
    if not prices:
        return dict(manifest)
    new = {who: price and price.to_json() for who, price in prices.items()}
    return {**manifest, "prices": {**(manifest.get("prices") or {}), **new}}


def record_judge_price(journal: Journal, judge: Model | None, prices: Mapping[str, Price | None]) -> None:
    """Remember what this judge costs: the run may have another one later."""
    if judge is not None and "judge" in prices:
        price = prices["judge"]
        kept = journal.read_mapping(_JUDGES)
        journal.set_meta(_JUDGES, {**kept, judge.name: price and price.to_json()})


def read_judge_prices(journal: Journal) -> dict[str, Price | None]:
    """The prices of all judges that a run has had, by name."""
    return {name: Price.of(kept) for name, kept in journal.read_mapping(_JUDGES).items()}


def compute_judge_cost(
    journal: Journal, judged: Sequence[JudgeTotals], *, otherwise: Price | None
) -> float | None:
    """What all judges of a run have taken, each at its own price; None where a part is not known."""
    prices, total = read_judge_prices(journal), 0.0
    for one in judged:
        price = prices.get(one.model, otherwise)
        if price is None or one.n_counted < one.n_asked + one.n_cached:
            return None
        total += price.cost(one.usage)
    return total


def compute_paid_cost(journal: Journal, price: Price | None, judge_price: Price | None) -> float | None:
    """What this run itself has paid, the judges included; None where a price is not known."""
    to_model, to_judges = journal.paid_totals()
    by_name = read_judge_prices(journal)
    bills = [(price, to_model), *((by_name.get(name, judge_price), one) for name, one in to_judges.items())]
    bills = [(price, one) for price, one in bills if one.n]
    if any(price is None for price, _ in bills):
        return None
    return sum(price.cost(one.usage) for price, one in bills if price is not None)


def count_judge_requests(judged: Sequence[JudgeTotals]) -> dict[str, int]:
    """Calls to judges, and those that other runs had made before."""
    if not judged:
        return {}
    cached = sum(one.n_cached for one in judged)
    return {"judge": sum(one.n_asked for one in judged), **({"judge_cached": cached} if cached else {})}


def make_budget(
    journal: Journal, options: Options, prices: Mapping[str, Price | None], judge: Model | None
) -> Budget:
    """The limits of a run, less what its earlier starts have spent on those who have a price here.

    Where stored replies are scored again, that is the judge alone.
    """
    from eyechart.engine.budget import Budget

    model_price, judge_price = prices.get("model"), prices.get("judge")
    budget = Budget(
        max_cost=options.max_cost,
        max_tokens=options.max_total_tokens,
        prices={"model": model_price, "judge": judge_price},
    )
    by_name = {**read_judge_prices(journal), **({judge.name: judge_price} if judge else {})}
    to_model, to_judges = journal.paid_totals()
    if "model" in prices and to_model.n:
        budget.carry("model", to_model.usage, model_price, to_model.n)
    for name, paid in to_judges.items():
        budget.carry("judge", paid.usage, by_name.get(name, judge_price), paid.n)
    return budget


def _refuse_unpriced(model: Model, who: str, price: Price | None, options: Options) -> None:
    if options.max_cost is not None and price is None and not is_free(model):
        raise UsageError(
            f"no price is known for {_called(model, who)}, so --max-cost cannot be enforced", hint=_hint(who)
        )


def _served(model: Model) -> Mapping[str, Any]:
    """The identity by which a price is found: with the addresses, even where the endpoint has a name."""
    addresses = getattr(model, "addresses", None)
    if not addresses:
        return model.identity
    return {**model.identity, "endpoint": addresses if len(addresses) > 1 else addresses[0]}


def _where(model: Model) -> object:
    return _served(model).get("endpoint")


def _called(model: Model, who: str) -> str:
    return f"the judge {model.name}" if who == "judge" else model.name


def _hint(who: str) -> str:
    if who == "judge":
        return "give one in a file: --prices FILE, which holds prices: {my-judge: {input: 2.5, output: 10}}"
    return "give one with --prices input=2.5,output=10 (USD per million tokens), or a file of prices"
