"""One test for many cases that need no fixture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any


def for_each(cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run the test for every case, and report all that fail together.

    `pytest.mark.parametrize` makes a test of every case, and a test costs about 3 ms before it does
    anything: with hundreds of golden vectors that was a fifth of the fast suite. A case that is a tuple
    is given as several arguments, as there.
    """
    every = list(cases)
    assert every, "no case to try"

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        @wraps(check)
        def test() -> None:
            failed = []
            for number, case in enumerate(every):
                try:
                    check(*case) if isinstance(case, tuple) else check(case)
                except Exception as error:
                    error.add_note(f"case {number}: {case!r:.500}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} cases failed", failed)

        del test.__wrapped__  # pytest would ask it for its parameters
        return test

    return decorate
