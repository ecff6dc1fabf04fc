"""VLMEvalKit's system: MMBench, data sets of one's own, and the doors of EvalScope and VLMEvalKit.

`benchmark`, `score` and `report` are MMBench as eyechart runs it; `mmbench_dataset` and `submission` serve
scripts written after MMBench's own note. `evalscope` runs a task configuration of EvalScope; `vlmeval` holds
the classes and helpers that scripts import from VLMEvalKit, and its run.py.
"""
