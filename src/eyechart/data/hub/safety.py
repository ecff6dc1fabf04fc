"""A data set of the hub reads its own files and no others, whatever its card lists."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.data.hub.library import library
from eyechart.data.hub.spec import HubSpec
from eyechart.errors import DataError


def refuse_foreign(spec: HubSpec, builder: Any) -> None:
    """A repository's card may list files anywhere; only its own are read."""
    files = [str(file) for group in (builder.config.data_files or {}).values() for file in group]
    if spec.is_local:
        allowed = [Path(spec.place).resolve(), *caches()]
        foreign = [file for file in files if not _is_below(file.rpartition("::")[2], allowed)]
    else:
        foreign = [file for file in files if not file.rpartition("::")[2].startswith("hf://")]
        if foreign and Path(spec.place).is_dir():
            raise DataError(
                f"{spec}: a folder {spec.place} stands here and would be read in its place",
                hint=f"write hf:./{spec.place} for the folder, or start from elsewhere",
            )
    if foreign:
        raise DataError(
            f"{spec}: it lists a file that is not its own: {foreign[0]}",
            hint="copy the files together, or mend data_files in README.md",
        )


def _is_below(path: str, folders: Sequence[Path]) -> bool:
    place = Path(os.path.realpath(path))
    return "://" not in path and any(place.is_relative_to(folder) for folder in folders)


def caches() -> list[Path]:
    """Where the library keeps what it has fetched and made."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return [Path(str(folder)).resolve() for folder in (library().config.HF_DATASETS_CACHE, HF_HUB_CACHE)]
