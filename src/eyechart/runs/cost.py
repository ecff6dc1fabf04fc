"""The cost of a run: prices of its model and judge, what was spent, and the budget that is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.engine.budget import Budget
from eyechart.errors import UsageError
from eyechart.models.prices import Price, find_hosts, find_listed, find_price
from eyechart.runs.options import Options
from eyechart.store.journal import Journal
from eyechart.store.reader import JudgeTotals
from eyechart.types import Model, read_capabilities

_JUDGES = "judge_prices"  # the name in the journal's table `meta`


def find_prices(model: Model, judges: Mapping[str, Model], options: Options) -> dict[str, Price | None]:
    """The prices of a run's model and of its judges by role; None for a price that is not known.

    With ``--max-cost``, an unknown price is refused: the limit could not be enforced.
    """
    prices = {"model": find_price(model.name, _served(model), options.prices)}
    for who, judge in judges.items():
        mine, theirs = ((one.name, _served(one).get("endpoint")) for one in (judge, model))
        prices[who] = find_price(judge.name, _served(judge), options.prices, is_judge=mine != theirs)
    if options.batch and (price := prices["model"]) is not None:
        prices["model"] = price.halve()
    _refuse_unpriced({"model": model, **judges}, prices, options)
    return prices


def find_judge_prices(judges: Mapping[str, Model], options: Options) -> dict[str, Price | None]:
    """The prices of judges that score stored replies: ``--prices`` given as text is theirs.

    Empty if no judge is named now: the prices in the run stay.
    """
    if not options.judge:
        return {}
    prices = {who: find_price(judge.name, _served(judge), options.prices) for who, judge in judges.items()}
    _refuse_unpriced(judges, prices, options)
    return prices


def replace_prices(manifest: Mapping[str, Any], prices: Mapping[str, Price | None]) -> dict[str, Any]:
    """The manifest with these prices."""
    if not prices:
        return dict(manifest)
    new = {who: price and price.to_json() for who, price in prices.items()}
    return {**manifest, "prices": {**(manifest.get("prices") or {}), **new}}


def record_judge_prices(
    journal: Journal, judges: Mapping[str, Model], prices: Mapping[str, Price | None]
) -> None:
    """Record the prices of these judges by name: a run may have several judges over time."""
    new = {judge.name: prices[who] for who, judge in judges.items() if who in prices}
    if new:
        known = journal.read_mapping(_JUDGES)
        journal.set_meta(
            _JUDGES, {**known, **{name: price and price.to_json() for name, price in new.items()}}
        )


def read_judge_prices(journal: Journal) -> dict[str, Price | None]:
    """The prices of all judges that a run has had, by name."""
    return {name: Price.of(kept) for name, kept in journal.read_mapping(_JUDGES).items()}


def compute_judge_cost(
    journal: Journal, judged: Sequence[JudgeTotals], *, otherwise: Price | None
) -> float | None:
    """The cost of all judges of a run, each at its own price; None if a part is not known."""
    prices, total = read_judge_prices(journal), 0.0
    for one in judged:
        price = prices.get(one.model, otherwise)
        if price is None or one.n_counted < one.n_asked + one.n_cached:
            return None
        total += price.cost(one.usage)
    return total


def compute_paid_cost(journal: Journal, price: Price | None, judge_price: Price | None) -> float | None:
    """What this run itself has paid, judges included; None if a price is not known."""
    to_model, to_judges = journal.paid_totals()
    by_name = read_judge_prices(journal)
    bills = [(price, to_model), *((by_name.get(name, judge_price), one) for name, one in to_judges.items())]
    bills = [(price, one) for price, one in bills if one.n]
    if any(price is None for price, _ in bills):
        return None
    return sum(price.cost(one.usage) for price, one in bills if price is not None)


def make_budget(
    journal: Journal,
    options: Options,
    prices: Mapping[str, Price | None],
    judges: Mapping[str, Model],
    others: Iterable[Path] = (),
) -> Budget:
    """The limits of a run, less what its earlier starts have spent, and `others` that share the limits.

    When stored replies are scored again, only the judges count.
    """
    budget = Budget(max_cost=options.max_cost, max_tokens=options.max_total_tokens, prices=dict(prices))
    roles = {judge.name: who for who, judge in judges.items()}
    _carry(budget, journal, prices, roles)
    for path in others if budget.is_limited else ():
        if path.is_file():
            other = Journal.open(path)
            kept = other.read_mapping("manifest").get("prices") or {}
            _carry(budget, other, {who: Price.of(kept.get(who)) for who in ("model", "judge")}, {})
    return budget


def _carry(
    budget: Budget, journal: Journal, prices: Mapping[str, Price | None], roles: Mapping[str, str]
) -> None:
    """Count what a run has paid; `roles`: of its judges, by name."""
    by_name = {**read_judge_prices(journal), **{name: prices.get(who) for name, who in roles.items()}}
    to_model, to_judges = journal.paid_totals()
    if "model" in prices and to_model.n:
        budget.carry("model", to_model.usage, prices["model"], to_model.n)
    for name, paid in to_judges.items():
        price = by_name.get(name, prices.get("judge"))
        budget.carry(roles.get(name, "judge"), paid.usage, price, paid.n)


def _refuse_unpriced(
    models: Mapping[str, Model], prices: Mapping[str, Price | None], options: Options
) -> None:
    for who, model in models.items() if options.max_cost is not None else ():
        if prices[who] is not None or read_capabilities(model).is_free:
            continue
        hosts = ", ".join(sorted(find_hosts(_served(model))))
        where = f" at {hosts}" if hosts else ""
        hint = "give one with --prices input=2.5,output=10 (USD per million tokens), or a file of prices"
        if who != "model":
            hint = "give one in a file: --prices FILE with prices: {my-judge: {input: 2.5, output: 10}}"
        elif elsewhere := find_listed(model.name):
            vendor, listed = elsewhere
            hint = f"{vendor}'s own price is {listed}; if it is yours: --prices {listed}"
        what = f"no price is known for {tell_role(model, who)}{where}"
        raise UsageError(f"{what}, so --max-cost cannot be enforced", hint=hint)


def _served(model: Model) -> Mapping[str, Any]:
    """The identity for finding a price: with the URLs, even if the endpoint has a name."""
    addresses = getattr(model, "addresses", None)
    if not addresses:
        return model.identity
    return {**model.identity, "endpoint": addresses if len(addresses) > 1 else addresses[0]}


def tell_role(model: Model, who: str) -> str:
    """How messages name the run's model, a judge or the searcher."""
    return model.name if who == "model" else f"the {who.partition(':')[0]} {model.name}"
