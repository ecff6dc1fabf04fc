"""The default scorer, for users' own files, by our own readers (`eyechart.readers`)."""

from __future__ import annotations

from eyechart.readers.default import find_written_choices, matches, score_default, score_default_strict

__all__ = ["find_written_choices", "matches", "score_default", "score_default_strict"]
