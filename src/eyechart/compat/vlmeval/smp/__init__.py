"""Helpers that scripts import from `vlmeval.smp`.

A star import also brings the modules that scripts expect, `pd` and `np` among them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from eyechart.pipelines.vlmevalkit.vlmeval import smp

_OWN = (
    "LMUDataRoot", "d2df", "decode_base64_to_image", "decode_base64_to_image_file", "dump",
    "encode_image_file_to_base64", "encode_image_to_base64", "get_intermediate_file_path", "get_logger",
    "istype", "listinstr", "load", "mmqa_display", "toliststr",
)  # fmt: skip
_MODULES = {"np": "numpy", "osp": "os.path", "pd": "pandas"} | {
    name: name for name in ("json", "logging", "os", "re", "warnings")
}
__all__ = [*_OWN, *_MODULES]


def __getattr__(name: str) -> Any:
    """A helper, or a module, imported on first use."""
    if name in ("np", "pd"):
        smp.import_pandas()  # refuses with the extra to install, which brings numpy, too
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _OWN:
        return getattr(smp, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
