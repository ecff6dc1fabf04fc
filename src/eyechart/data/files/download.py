"""Where a benchmark's questions are on this machine, and downloading them from the Hugging Face hub.

`find_local` looks for VLMEvalKit's file, then for a copy in the hub library's cache. `look_up` asks the hub
what a repository holds, `choose_files` picks the files of the benchmark's parts, `download` fetches them with
`huggingface_hub` (which resumes, shows progress, and takes token, mirror and cache from its usual variables)
and compares each with its published checksum.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from eyechart.data.files.formats import UnknownFile, find_file
from eyechart.data.files.hub import (
    choose_part_files,
    find_part_files,
    find_snapshot,
    get_first_line,
    is_reachable,
    names_file,
    raise_if_unavailable,
)
from eyechart.errors import DataError, MissingExtra, UsageError
from eyechart.types import Card

_CARD_CHARS = 100_000
_ALWAYS = ("README.md", "LICENSE", "LICENSE.md", "LICENSE.txt")


def find_local(card: Card) -> Path | None:
    """The benchmark's file in `$LMUData`, `~/LMUData` or here, or its copy in the hub's cache, if any."""
    for name in filter(None, (card.file, *card.files)):
        with suppress(UnknownFile):
            return find_file(name).path
    places: dict[str, str] = {}
    for one in (*card.hub, *card.copies):
        place, _, part = one.partition(":")
        places.setdefault(place, part)
    snapshots = ((find_snapshot(place), part) for place, part in places.items())
    return next((folder for folder, part in snapshots if folder and _has_part(folder, part)), None)


def _has_part(folder: Path, part: str) -> bool:
    """Whether a snapshot has this part, and not only others of the same repository."""
    if names_file(part) or find_part_files(folder, part):
        return bool(find_part_files(folder, part))
    if not find_part_files(folder, ""):
        return True
    # The card of a data set may give the split files with names of their own.
    try:
        card = (folder / "README.md").read_text(encoding="utf-8", errors="replace")[:_CARD_CHARS]
    except OSError:
        return False
    split = re.escape(part.rpartition("/")[2])
    return re.search(rf"^\s*-?\s*split:\s*{split}\s*$", card, re.MULTILINE) is not None


def measure(path: Path) -> int:
    """The bytes of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


# -- The hub


class RemoteFile(msgspec.Struct, frozen=True):
    """A file of a repository; small ones have no checksum."""

    name: str
    n_bytes: int
    sha256: str = ""


class Repository(msgspec.Struct, frozen=True):
    """What the hub says about a repository."""

    place: str
    revision: str
    licence: str
    files: tuple[RemoteFile, ...]


def look_up(place: str, *, without: str = "") -> Repository:
    """What a repository holds; `without` says what to do where the hub cannot be reached."""
    api = _import_hub().HfApi()
    refuse_offline(place, without)
    try:
        found = api.dataset_info(place, files_metadata=True)
    except Exception as err:  # the library raises many kinds
        _raise_explained(place, err)
    card = found.card_data
    licence = getattr(card, "license", None) if card is not None else None
    files = tuple(
        RemoteFile(one.rfilename, one.size or 0, one.lfs.sha256 if one.lfs else "")
        for one in found.siblings or ()
    )
    return Repository(place, found.sha or "main", str(licence or ""), files)


def _import_hub() -> Any:
    try:
        import huggingface_hub
    except ImportError as err:
        raise MissingExtra.named("hub", needed_for="Downloads from the Hugging Face hub") from err
    return huggingface_hub


def refuse_offline(place: str, without: str = "") -> None:
    """Raise `DataError` where the hub is switched off or does not answer."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        hint = "; ".join(filter(None, ("unset it to download", without)))
        raise DataError(f"{place}: HF_HUB_OFFLINE is set", hint=hint)
    if not is_reachable(constants.ENDPOINT):
        hint = "; ".join(filter(None, ("HF_ENDPOINT=URL sets a mirror, HTTPS_PROXY a proxy", without)))
        raise DataError(f"{place}: the hub cannot be reached ({constants.ENDPOINT})", hint=hint)


def _raise_explained(place: str, err: Exception) -> NoReturn:
    raise_if_unavailable(place, err)
    page = f"https://huggingface.co/datasets/{place}"
    raise DataError(f"{place}: {type(err).__name__}: {get_first_line(err)}", hint=f"see {page}") from err


def choose_files(repository: Repository, parts: Sequence[str]) -> list[RemoteFile]:
    """The Parquet files of these parts and the card; everything, if the names do not tell the parts apart."""
    names = [file.name for file in repository.files]
    wanted: set[str] = set()
    for part in parts:
        if not part or not (chosen := choose_part_files(names, part)):
            return list(repository.files)
        wanted.update(chosen)
    return [file for file in repository.files if file.name in wanted or file.name in _ALWAYS]


def download(
    repository: Repository, files: Iterable[RemoteFile], to: Path | None = None, *, show: bool = False
) -> Path:
    """Fetch the files into the folder `to`, or into the hub's cache; returns the folder.

    What is there already is not fetched again; an interrupted download goes on where it was.
    """
    hub = _import_hub()
    if to is not None and to.exists() and not to.is_dir():
        raise UsageError(f"{to} is not a folder", hint="give a folder with --to")
    is_hidden = not show and not hub.utils.are_progress_bars_disabled()
    if is_hidden:
        hub.utils.disable_progress_bars()
    # In the cache by the branch, so that it is found again; files are those of the commit.
    revision = repository.revision if to is not None else None
    names = [escape(file.name) for file in files]
    try:
        return Path(
            hub.snapshot_download(
                repository.place, repo_type="dataset", revision=revision, allow_patterns=names, local_dir=to
            )
        )
    except Exception as err:  # the library raises many kinds
        _raise_explained(repository.place, err)
    finally:
        if is_hidden:
            hub.utils.enable_progress_bars()


def verify(folder: Path, files: Iterable[RemoteFile], progress: Callable[[int], None] | None = None) -> int:
    """Compare files with their sizes and checksums; returns how many have one. A damaged file is removed."""
    n = 0
    for file in files:
        path = folder / file.name
        problem = _find_problem(path, file)
        if problem:
            target = path.resolve()  # in the cache, a link to the content
            for one in {path, target}:
                one.unlink(missing_ok=True)
            raise DataError(f"{file.name}: {problem}", hint="it was removed; run the same command again")
        n += bool(file.sha256)
        if progress:
            progress(n)
    return n


def _find_problem(path: Path, file: RemoteFile) -> str:
    if not path.is_file():
        return "missing after the download"
    if file.n_bytes and path.stat().st_size != file.n_bytes:
        return f"{path.stat().st_size:,} bytes, expected {file.n_bytes:,}"
    if not file.sha256:
        return ""
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256")
    return "" if digest.hexdigest() == file.sha256 else "its checksum is not the published one"
