"""One declaration a file: source, prompt, scorer, grouping."""
