"""A prediction.json as replies to the questions that were chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eyechart.data.lazy import HeldSource
from eyechart.data.multi import image_class
from eyechart.data.multi.predictions import read_predictions
from eyechart.data.multi.select import refuse_unknown_ids
from eyechart.types import Replies, Reply, Source


def read_replies(path: Path, chosen: Source, everything: Source) -> Replies:
    """The replies of a file. Questions that are not in it are not counted, as published.

    Ids of no question at all, also among `everything`, are refused.

    Its own number of pictures decides in which group a question is counted.
    """
    predictions = read_predictions(path)
    samples = [sample for sample in chosen if sample.id in predictions]
    meant = {sample.id for sample in samples}
    others = [name for name in predictions if name not in meant]
    if others:
        known = (sample.id for sample in everything)
        refuse_unknown_ids(others, known, file=path.name, of=Path(chosen.origin).name)
    answered = []
    for sample in samples:
        number = predictions[sample.id].question_image_number
        if number is not None:
            counted = {"question_image_number": number, "image_class": image_class(number)}
            sample = replace(sample, meta={**sample.meta, **counted})
        answered.append(sample)
    return Replies(
        by_id={
            name: Reply(text=predictions[name].text, earlier=predictions[name].earlier)
            for name in predictions
            if name in meant
        },
        source=HeldSource(chosen.name, chosen.origin, tuple(answered)),
        skipped=dict.fromkeys(others, "not among the questions that the options choose"),
    )
