"""The values of a configuration, taken one by one and checked as they are taken."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from typing import Any

from eyechart.errors import UsageError
from eyechart.model.redact import without_secrets
from eyechart.registry import did_you_mean

_LARGEST = 2**53  # beyond it, numbers of one kind are not those of the other
_YES = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class Values:
    """Names with values, of which each can be taken as what it must be. None is the same as not said."""

    def __init__(self, given: Any, who: str) -> None:
        if not isinstance(given, Mapping):
            raise UsageError(f"{who} is {_kind(given)}, but must be names with values")
        self.who = who
        self._said = {str(name): value for name, value in given.items()}
        self.notes: list[str] = []

    def __contains__(self, name: str) -> bool:
        return self._said.get(name) is not None

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Refuse the first name that nobody knows, with the nearest one that somebody does."""
        for name in self._said:
            if name not in known:
                listed = f"it knows: {', '.join(sorted(known))}"
                hint = did_you_mean(name, sorted(known), otherwise=listed, at_most=1)
                raise UsageError(f"{self.who} has no key {name!r}", hint=hint)

    def refuse(self, name: str, why: str, *, hint: str = "", unless: Collection[Any] = ()) -> None:
        """Refuse a name that is given a value other than those that change nothing."""
        if self._matters(name, unless):
            raise UsageError(f"{self.who}: {name} is not possible here: {why}", hint=hint)

    def note(self, name: str, why: str, *, unless: Collection[Any] = ()) -> None:
        """Remark on a name that changes nothing here."""
        if self._matters(name, unless):
            self.notes.append(f"{self.who}: {name} has no effect: {why}")

    def _matters(self, name: str, unless: Collection[Any]) -> bool:
        value = self._said.get(name)
        return value is not None and value is not False and value not in unless

    def raw(self, name: str) -> Any:
        """The value as it stands."""
        return self._said.get(name)

    def others(self, known: Collection[str]) -> dict[str, Any]:
        """All that is said besides the known names."""
        return {name: value for name, value in self._said.items() if name not in known}

    def text(self, name: str) -> str | None:
        """A text."""
        value = self.raw(name)
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        return None if value is None else str(self._checked(name, value, str, "a text"))

    def whole(self, name: str, *, least: int | None = None) -> int | None:
        """A whole number; a fraction is not one, nor is true."""
        value = self.raw(name)
        if isinstance(value, str) and value.strip().lstrip("+-").isdecimal():
            value = int(value)
        if value is None:
            return None
        number = self._checked(name, value, int, "a whole number")
        if abs(number) > _LARGEST:
            raise self.wrong(name, number, "a number that somebody can mean")
        if least is not None and number < least:
            raise UsageError(f"{self.who}: {name} is {number}, but must be at least {least}")
        return int(number)

    def number(self, name: str, *, usual: float | None = None) -> float | None:
        """A number; `usual` where nothing is said."""
        value = self.raw(name)
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                value = float(value)
        if value is None:
            return usual
        self._checked(name, value, int | float, "a number")
        if not abs(value) <= _LARGEST:  # which is so of nan as well
            raise self.wrong(name, value, "a number that somebody can mean")
        return float(value)

    def truth(self, name: str) -> bool:
        """True or false, also as people write it in other ways; false where nothing is said."""
        value = self.raw(name)
        if isinstance(value, str | int):
            value = _YES.get(str(value).strip().lower(), value)
        return False if value is None else bool(self._checked(name, value, bool, "true or false"))

    def mapping(self, name: str) -> dict[str, Any]:
        """Names with values, also as a JSON text."""
        value = self.raw(name)
        if isinstance(value, str) and value.strip():
            from eyechart.run.config_files import decode_json

            value = decode_json(value, f"{self.who}: {name}")
        if value in (None, ""):
            return {}
        if not isinstance(value, Mapping):
            raise self.wrong(name, value, "names with values (or such a JSON text)")
        return {str(key): one for key, one in value.items()}

    def one_of(self, name: str, possible: Collection[str], usual: str) -> str:
        """One of some words."""
        value = self.text(name)
        if value is not None and value not in possible:
            hint = f"one of: {', '.join(possible)}"
            raise UsageError(f"{self.who}: {name} is {value!r}, which is not possible", hint=hint)
        return value or usual

    def wrong(self, name: str, value: Any, must_be: str) -> UsageError:
        """The error for a value of a wrong kind; a key is shown to nobody."""
        is_secret = without_secrets({name: "x"})[name] != "x"
        shown = "" if is_secret else f" {_short(value)}"
        return UsageError(f"{self.who}: {name} is {_kind(value)}{shown}, but must be {must_be}")

    def _checked(self, name: str, value: Any, kind: Any, must_be: str) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(name, value, must_be)
        return value


def _kind(value: Any) -> str:
    names = {bool: "the truth value", int: "the number", float: "the number", str: "the text"}
    return names.get(type(value), f"a {type(value).__name__}")


def _short(value: Any) -> str:
    return repr(value)[:40] if isinstance(value, bool | int | float | str) else ""
