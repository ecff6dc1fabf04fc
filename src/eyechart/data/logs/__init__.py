"""Files in which other tools keep what a model said, each told by what stands in it."""
