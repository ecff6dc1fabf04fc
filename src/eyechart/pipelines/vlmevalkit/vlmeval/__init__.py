"""VLMEvalKit: its run.py, its dataset classes, and the helpers that scripts import."""
