"""Local weights: ``hf/FOLDER`` or ``hf/ORG/NAME``, any image-text-to-text model that transformers can load.

`HfModel` (model.py) prepares requests in threads (chat.py) and hands them to an `Engine`, which decodes them
in batches. torch and transformers are imported when a model is made, never before.
"""

from __future__ import annotations

import importlib.util

from eyechart.errors import MissingExtra
from eyechart.registry import model
from eyechart.types import Model, ModelSettings


@model("hf")
def hf(name: str, settings: ModelSettings) -> Model:
    """The model in a folder, or of the Hugging Face hub."""
    return open_model(name, f"hf/{name}", settings)


def open_model(where: str, name: str, settings: ModelSettings) -> Model:
    """The model of a folder or of the hub under any name, as `baseline/tiny-vlm` is one."""
    for library in ("torch", "transformers"):
        if importlib.util.find_spec(library) is None:
            raise MissingExtra.named("hf", needed_for=f"local weights ({name})")
    from eyechart.models.hf.replicas import open_replicas

    return open_replicas(where, name, settings)
