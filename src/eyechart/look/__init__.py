"""The look loop ("thinking with images"): a model asks for regions of its images and gets crops back.

`crops` is the arithmetic of boxes and sizes, `replies` reads calls and answers, `dialogue` holds the loops as
generators, `records` writes dialogues the way their authors do, `evidence` measures them.
"""
