"""Logs of other evaluation tools: their replies can be scored here, and runs can be written for them.

===============  ==========================================================================
inspect          Inspect's logs (.json and .eval): read and written
lm_eval          samples of lm-eval and lmms-eval: read and written
evalscope        EvalScope's predictions, reviews and reports: read
every_eval_ever  Every Eval Ever's numbers and samples: written, the samples also read
reading          what the readers share: messages, replies, zip archives, our own records
writing          what the writers share: questions, messages and replies as plain values
===============  ==========================================================================
"""
