"""EvalScope with its VLMEvalKit backend: the same configuration in, the same files and table out."""
