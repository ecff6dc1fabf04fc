"""Reply and sample to score: pure functions, usable on their own.

`eyechart.score.choice`, `eyechart.score.text` and the other modules load on first use. So do modules that lie
elsewhere: `eyechart.score.circular`, and the scorers of pipelines, under the names of their entry points
(`eyechart.score.multi` is the module of the scorer ``multi``).

Scorers with an official rule, by module; ``-lmms`` follows lmms-eval, the others VLMEvalKit or, for MMMU, the
authors' parser. `aggregates/` has the official numbers over all rows.

| module | scorers |
|---|---|
| text | anls, relaxed, vqa-accuracy, ocrbench, yes-no-vlmevalkit |
| short_answers | gqa, ocrvqa, mtvqa, countbenchqa, zerobench, tallyqa; gqa-lmms, chartqa-lmms, pope-lmms, |
| | mme-lmms, ocrbench-lmms, vqa-accuracy-lmms, vqav2-lmms, countbench-lmms, countbenchqa-lmms, |
| | pixmo-count-lmms, zerobench-lmms, simplevqa-lmms, hallusion-yes-lmms |
| letters | wemath, visulogic, omnispatial; choice-lmms, ai2d-lmms, blink-lmms, mmvp-lmms, muirbench-lmms, |
| | scienceqa-lmms, seedbench-lmms, visulogic-lmms, vstar-lmms |
| mmmu | mmmu, mmmu-vlmevalkit, mmmu-vlmevalkit-2026-06, mmmu-pro-cot-vlmevalkit, |
| | mmmu-pro-vision-lmms, mmmu-pro-composite-lmms |
| math, math_lmms | mathvista, mathvision, mathverse, dynamath; mathvista-lmms, mathvision-lmms |
| documents | chartqapro, mmlongbench; chartqapro-lmms, mmlongbench-lmms |
| table_answers | tablevqa |
| judges | charxiv, mmvet, llavabench, simplevqa, logicvista, yes-no-judged-vlmevalkit; |
| | hallusion-lmms, llavabench-lmms |
| boxes | screenspot, screenspot-pro, refcoco; screenspot-lmms, screenspot-v2-lmms, screenspot-pro-lmms, |
| | refcoco-lmms, refcoco-grounding-lmms; several with a declared scale: -unit, -1000, -pixels |
| markup, captions | edit-similarity, teds; rouge-l, rouge-l-words |
| ccocr, ocrbench_v2, omnidocbench | the same |
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_ELSEWHERE = {"circular": "eyechart.circular"}


def __getattr__(name: str) -> ModuleType:
    full = f"{__name__}.{name}"
    if not name.startswith("_"):
        if find_spec(full) is not None:
            return import_module(full)
        if name in _ELSEWHERE:
            return import_module(_ELSEWHERE[name])
        from eyechart.registry import read_entry_points

        announced = read_entry_points(tuple(sys.path)).get("eyechart.scorers", {}).get(name.replace("_", "-"))
        if announced is not None:
            return import_module(announced.value)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
