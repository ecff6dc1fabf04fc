"""Modules that import torch hold examples as others do; without torch they are left out."""

from importlib.util import find_spec

collect_ignore_glob = (
    []
    if find_spec("torch")
    else [
        "src/eyechart/models/hf/*.py",
        "src/eyechart/integrations/*.py",
        "tests/extras",
    ]
)
