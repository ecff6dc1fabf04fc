"""VLMEvalKit: its run.py by its own flags, its data set classes, and the helpers that scripts import."""
