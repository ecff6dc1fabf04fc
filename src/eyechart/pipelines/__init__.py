"""One folder per evaluation system: its files, prompts, scorers, reports and commands."""
