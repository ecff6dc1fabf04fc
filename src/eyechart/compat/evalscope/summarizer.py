"""The accuracies of a task that was run before, read from its newest files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eyechart.compat.evalscope.task import Task


class Summarizer:
    """EvalScope's reader of results."""

    @staticmethod
    def get_report_from_cfg(task_cfg: Any) -> list[dict[str, dict[str, str]]]:
        """One ``{"<model>_<set>_acc": first row}`` for every pair that has a result, in the task's order."""
        from eyechart.compat.evalscope.config import read_task

        several = task_cfg if isinstance(task_cfg, list | tuple) else [task_cfg]
        return [found for one in several for found in _newest(read_task(one))]


def _newest(task: Task) -> Iterator[dict[str, dict[str, str]]]:
    from eyechart.compat.evalscope.outcome import stem_for
    from eyechart.compat.evalscope.places import places_of
    from eyechart.compat.vlmeval.accuracies import read_accuracies

    places = places_of(task)
    for model in task.models:
        for data in task.data:
            stem = stem_for(model.name, data.name)
            for place in places:
                if lines := read_accuracies(place / model.name, stem):
                    yield {f"{stem}_acc": lines[0]}
                    break
