"""`VERDICTS`, where checks of all vectors look for it: the functions are in `catalogue.official`."""

from catalogue.official import VERDICTS

__all__ = ["VERDICTS"]
