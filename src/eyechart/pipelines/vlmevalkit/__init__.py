"""VLMEvalKit's system: MMBench, custom datasets, and the scripts and commands of VLMEvalKit and EvalScope.

==========================  =========================================================================
benchmark.py                MMBench and CCBench, their prompts; published sets with their own rules
score.py                    ``choice-vlmevalkit`` and its two earlier forms, with the judge
report.py                   VLMEvalKit's result files: predictions, verdicts, accuracies
mmbench_note.py             `MMBenchDataset` and `dump_submission`, as MMBench's note uses them
cli.py                      ``eyechart vlmeval`` and ``evalscope``; ``eyechart run`` with a task of EvalScope
evalscope/config.py         a task in every form; API keys; checked values
evalscope/eval_config.py    the keys of `eval_config`: models, data, judge
evalscope/native.py         `general_vqa` and `general_vmcq`: the keys of a task, their files and prompts
evalscope/general_score.py  their scorers, with BLEU and ROUGE; wording.yaml has EvalScope's prompts
evalscope/job.py            `run_task`: every model on every dataset; `Summarizer`
evalscope/evaluation.py     one model on one dataset: planned, asked, scored
evalscope/output.py         folders of tasks, ``status.json``, files of predictions, printed tables
evalscope/report.py         EvalScope's files of a run, for its dashboard
vlmeval/command.py          VLMEvalKit's run.py: flags, ``--config``
vlmeval/dataset.py          the dataset classes that scripts change or inherit from
vlmeval/bridge.py           a changed class as a benchmark; the judge of a script's `evaluate`
vlmeval/scoring.py          `evaluate` of an unchanged class; files of accuracies
vlmeval/smp.py              `load`, `dump`, tables, base64, small helpers, the logger
==========================  =========================================================================
"""
