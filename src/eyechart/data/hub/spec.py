"""How a data set of the Hugging Face hub is named: ``hf:ORG/NAME:split@revision``.

The part behind the colon is a split, ``config/split``, or the name of a config that has a single split.
A place that begins like a path is a folder on this machine: a clone of a hub repository, or what
`save_to_disk` wrote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from eyechart.errors import DataError, UsageError

PREFIX = "hf:"
FORM = "hf:ORG/NAME, hf:ORG/NAME:split@revision, hf:ORG/NAME:config/split or hf:./folder:split"

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PART = re.compile(r"[^\s/:@\[\]]+(/[^\s/:@\[\]]+)?")


@dataclass(frozen=True, slots=True)
class HubSpec:
    """A data set, or one part of it. `part` is as written; `config` and `split` are what it names."""

    place: str  # ORG/NAME, or the absolute path of a folder
    part: str = ""
    revision: str = ""
    is_local: bool = False

    def __str__(self) -> str:
        """The form that can be read again, anywhere on this machine."""
        part = f":{self.part}" if self.part else ""
        return f"{PREFIX}{self.place}{part}" + (f"@{self.revision}" if self.revision else "")

    @property
    def config(self) -> str:
        """The config, where it stands before a split."""
        return self.part.rpartition("/")[0]

    @property
    def split(self) -> str:
        """The split, or a lone name that may turn out to be a config."""
        return self.part.rpartition("/")[2]

    @property
    def name(self) -> str:
        """Short name, for the run folder.

        >>> parse_hub("hf:someone/signs:night/test").name
        'signs-night-test'
        """
        return "-".join([Path(self.place).name, *filter(None, self.part.split("/"))])


def is_hub(spec: object) -> bool:
    """Whether a source is named by ``hf:`` and is no file that happens to be called so."""
    return isinstance(spec, str) and spec.startswith(PREFIX) and not Path(spec).exists()


def parse_hub(spec: str) -> HubSpec:
    """Take a name apart; `UsageError` for what cannot be one, `DataError` for a folder that is not there.

    >>> parse_hub("hf:Jietson/InfoChartQA:text@main")
    HubSpec(place='Jietson/InfoChartQA', part='text', revision='main', is_local=False)
    """
    rest = spec.removeprefix(PREFIX)
    if rest.startswith((".", "/", "~")):
        return _local(spec, rest)
    named, _, revision = rest.partition("@")
    place, colon, part = named.partition(":")
    if not _REPOSITORY.fullmatch(place):
        hint = f"write {FORM}"
        if place.count("/") > 1:
            organisation, name, config = place.split("/", 2)
            hint = f"a config goes behind a colon: hf:{organisation}/{name}:{config}/SPLIT"
        elif place and "/" not in place:
            hint = f"the hub's own form is ORG/NAME; a folder is written hf:./{place}"
        raise UsageError(f"{spec!r} does not name a data set of the hub", hint=hint)
    if (colon and not _PART.fullmatch(part)) or (not revision and named != rest):
        raise UsageError(
            f"{spec!r} does not name a split or a revision",
            hint=f"write {FORM}; --limit takes the first rows of a split",
        )
    return HubSpec(place, part, revision)


def _local(spec: str, rest: str) -> HubSpec:
    """A folder: the longest beginning that is one, so that its own colons do no harm."""
    try:
        whole = Path(rest).expanduser()
        if whole.is_dir():
            return HubSpec(str(whole.absolute()), is_local=True)
        place, colon, part = rest.rpartition(":")
        folder = Path(place).expanduser()
        if colon and _PART.fullmatch(part) and folder.is_dir():
            return HubSpec(str(folder.absolute()), part, is_local=True)
    except (OSError, ValueError, RuntimeError) as err:  # NUL bytes, a home that nobody has
        raise DataError(f"{spec[:200]!r} cannot be opened: {err}") from err
    if "@" in rest:
        raise DataError(f"{spec}: no such folder", hint="a folder has no revisions: leave @... out")
    is_file = whole.is_file()
    hint = f"hf: takes a folder; a file is given by its path: {rest}" if is_file else "is the path right?"
    raise DataError(f"{spec}: no such folder", hint=hint)
