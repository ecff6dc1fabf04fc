"""The import names and scripts of other tools, thin over pipelines/."""
