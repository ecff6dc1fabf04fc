"""Words in the files of other tools that one room of ours writes and another looks for."""

from __future__ import annotations

API_FAILURE = "Failed to obtain answer via API"  # by which VLMEvalKit knows what it must ask again
NO_ANSWER = f"{API_FAILURE}."  # as it stands in the place of an answer

MARK = "eyechart"  # the key under which our own exports keep what a format has no place for
TRIAL = "eyechart_trial"  # which of several answers it is, where EvalScope's files do not tell
