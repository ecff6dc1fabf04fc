"""Benchmarks that are only declarations, by subject (`declare`), and suites of them."""
