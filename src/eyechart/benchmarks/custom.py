"""A user's own file of image questions, asked and scored by our defaults.

Multiple choice is read by our own reader of choices; open questions by the kind of their gold: yes or
no, a number, or text. Parity: none claimed; `--scorer choice-vlmevalkit` gives VLMEvalKit's verdicts.
"""

from __future__ import annotations

from eyechart.prompt.custom import custom_prompt
from eyechart.types import Benchmark, Source


def custom(source: Source) -> Benchmark:
    """The benchmark that a file makes, with no class to write."""
    return Benchmark(
        name=source.name, source=source, prompt=custom_prompt, judged_scorer="judged", about=source.origin
    )
