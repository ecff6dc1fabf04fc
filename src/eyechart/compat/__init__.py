"""The import names and scripts of other tools, thin layers over pipelines/."""
