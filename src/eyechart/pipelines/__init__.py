"""The pipelines whose files, prompts, scorers, reports and commands belong together, one package each."""
