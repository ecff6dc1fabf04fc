"""One declaration a file: source, prompt, scorer, grouping.

All of them are imported to see whose a published file is, so each imports what it is made of when it is made.
"""
