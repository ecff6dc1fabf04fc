"""From a golden vector's `fn` to our own function of its `input`: scorers and aggregates, no rules.

What an official function returns in another shape (percent, rounded, as columns and rows) is brought
into that shape here; where it raises and ours gives None or `CannotAggregate`, `raises` says so.
"""

from catalogue.official import aggregates, answers, judges, letters, places
from support.verdicts import VERDICTS

__all__ = ["VERDICTS", "aggregates", "answers", "judges", "letters", "places"]
