"""Mutated input for everything that reads from outside: files, images, answers, journals, options, logs.

`make fuzz MINUTES=30` runs it; `python -m fuzz --help` (in `tests/`) has the details. An input that raises
anything but eyechart's own errors, or takes too long, is a finding. Findings are written to `findings/`; the
suite runs them again (`test_replay.py`), so commit one together with what mends it.
"""
