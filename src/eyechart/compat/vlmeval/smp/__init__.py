"""Helpers that scripts import from `vlmeval.smp`.

A star import also brings the modules that scripts expect along with it, `pd` and `np` among them.
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

from eyechart.compat.vlmeval.smp.file import LMUDataRoot, dump, get_intermediate_file_path, load
from eyechart.compat.vlmeval.smp.log import get_logger
from eyechart.compat.vlmeval.smp.misc import d2df, istype, listinstr, toliststr
from eyechart.compat.vlmeval.smp.vlm import (
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
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
    "np",
    "os",
    "osp",
    "pd",
    "re",
    "toliststr",
    "warnings",
]


def __getattr__(name: str) -> Any:
    """`np` and `pd`, which are imported when they are asked for."""
    if name == "np":
        return import_module("numpy")
    if name == "pd":
        from eyechart.compat.vlmeval.frames import pandas

        return pandas()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
