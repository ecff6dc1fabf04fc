"""Benchmarks that come with the package, one short file each: source, prompt, scorer, grouping, paper."""
