"""One declaration of an option, and all that follows from it."""

import argparse
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from eyechart.errors import UsageError
from eyechart.option import (
    FileKey,
    add_option,
    add_options,
    argument,
    check_limits,
    list_file_keys,
    list_option_names,
    list_options,
    option,
    read_given_options,
    read_pairs,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    n_workers: int = option(
        4, "--workers", "-w", group="the pace", metavar="N", at_least=1, at_most=1000, help="how many"
    )
    wait_s: float | None = option(None, "--wait", group="the pace", above=0, help="seconds")
    cache: bool = option(True, "--no-cache", group="the pace", help="do not keep anything")
    dry_run: bool = option(False, group="the run", help="ask nothing")
    mode: Literal["all", "some"] = option("all", group="the run", help="which")
    only: tuple[str, ...] = option((), group="the run", metavar="ID", help="these")
    where: dict[str, Any] = option({}, group="the run", parse=read_pairs, help="such")
    key: str | None = option(None, group="the run", help="a secret", is_secret=True)
    made_by: str = argument("us", group="the run", help="as other tools write it")


def parse(*words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_options(parser, Pace)
    return read_given_options(Pace, parser.parse_args(words))


def test_what_is_not_given_is_left_to_the_defaults() -> None:
    assert parse() == {}
    assert Pace().where == {}


def test_flags_become_values_of_the_declared_types() -> None:
    assert parse("-w", "3", "--wait", "0.5", "--no-cache", "--dry-run", "--mode", "some") == {
        "n_workers": 3,
        "wait_s": 0.5,
        "cache": False,
        "dry_run": True,
        "mode": "some",
    }
    assert parse("--only", "a", "--only", "b", "--where", "x=1") == {"only": ["a", "b"], "where": {"x": "1"}}
    assert parse("--made_by", "them") == {"made_by": "them"}


def test_a_file_uses_the_names_of_options_and_of_flags() -> None:
    keys = list_file_keys(Pace)
    assert keys["workers"] == keys["n_workers"] == FileKey("n_workers")
    assert (keys["cache"], keys["no_cache"]) == (FileKey("cache"), FileKey("cache", is_inverted=True))
    assert "w" not in keys


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Pace(n_workers=0), "n_workers is 0, but must be at least 1"),
        (Pace(n_workers=5000), "n_workers is 5,000, but must be at most 1,000"),
        (Pace(wait_s=0.0), "wait_s is 0, but must be more than 0"),
        (Pace(wait_s=float("nan")), "wait_s is nan, but must be more than 0"),
    ],
)
def test_limits_are_those_of_the_declaration(wrong: Pace, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_limits(wrong)
    assert refused.value.message == said
    check_limits(Pace())


def test_help_shows_the_groups_in_the_order_of_the_fields() -> None:
    parser = argparse.ArgumentParser(prog="x")
    add_option(parser, Pace, "mode", "-m", help="another text")
    add_options(parser, Pace, without=["only"])
    text = parser.format_help()
    found = [text.index(one) for one in ("another text", "the pace:", "how many", "the run:", "ask nothing")]
    assert found == sorted(found)
    assert text.count("--mode") == 2, "in the usage and once below"
    assert "--only" not in text


def test_a_secret_is_not_shown() -> None:
    assert "s3cret" not in repr(Pace(key="s3cret"))


def test_groups_and_flags_are_known_by_name() -> None:
    assert list_option_names(Pace, "the pace") == ("n_workers", "wait_s", "cache")
    assert list_options(Pace)["n_workers"].flag == "--workers"
