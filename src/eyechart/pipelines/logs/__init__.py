"""Logs of Inspect, lm-eval and lmms-eval: read as files of replies, and written from runs."""
