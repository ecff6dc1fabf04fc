"""A package, so that `catalogue.official` is found whatever else is called catalogue."""
