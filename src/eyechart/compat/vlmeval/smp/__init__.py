"""Helpers that scripts import from `vlmeval.smp`.

A star import also brings the modules that scripts expect, `pd` and `np` among them.
"""

from __future__ import annotations

import json
import logging
import os
import os.path as osp
import re
import warnings
from importlib import import_module
from typing import Any

from eyechart.pipelines.vlmevalkit.vlmeval.smp import (
    LMUDataRoot,
    d2df,
    decode_base64_to_image,
    decode_base64_to_image_file,
    dump,
    encode_image_file_to_base64,
    encode_image_to_base64,
    get_intermediate_file_path,
    get_logger,
    import_pandas,
    istype,
    listinstr,
    load,
    mmqa_display,
    toliststr,
)

__all__ = [
    "LMUDataRoot",
    "d2df",
    "decode_base64_to_image",
    "decode_base64_to_image_file",
    "dump",
    "encode_image_file_to_base64",
    "encode_image_to_base64",
    "get_intermediate_file_path",
    "get_logger",
    "istype",
    "json",
    "listinstr",
    "load",
    "logging",
    "mmqa_display",
    "np",
    "os",
    "osp",
    "pd",
    "re",
    "toliststr",
    "warnings",
]


def __getattr__(name: str) -> Any:
    """`np` and `pd`, imported on first use."""
    if name in ("np", "pd"):
        found = import_pandas()  # first: its extra brings numpy
        return import_module("numpy") if name == "np" else found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
