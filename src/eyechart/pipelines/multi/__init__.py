"""MULTI (Zhu et al., 2024): questions of Chinese exams, asked and scored as its authors do.

============  =================================================================================
score         how a prediction earns points: reading, cleaning, ROUGE-L, a judge for long replies
benchmark     the benchmark ``multi`` with the official options
prompt        the prompt: its structure, rounds, wording in Chinese and English
files         the published files: problems, knowledge, predictions, hard list, captions, image paths
data          from files to samples: selection, image numbers; a prediction.json as replies
report        result files of a run: predictions, scores, tables, charts
metrics       the official metrics step on files (``eyechart multi-metrics``)
inference     the official inference step: arguments in, run folder out (``eyechart multi``)
arguments     settings and arguments by their official names, once; args.json
models        which model they mean: an endpoint, an evaluator class, the original's list
evaluators    the interface of evaluator classes, ``generate_answer(question)``
tester        easy questions that check whether a model takes every kind (``model check``)
cli           the commands
============  =================================================================================
"""
