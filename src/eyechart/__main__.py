"""``eyechart`` and ``python -m eyechart``: the command, as a process of its own."""

import gc
import sys
from typing import NoReturn

_OBJECTS = 20_000  # as many as run/loop.py lets gather, which must not be imported for a number


def command() -> NoReturn:
    """Run the command that the arguments name, and leave with its exit code.

    What is imported stays to the end. Looking for cycles in it, on the way and once more when Python takes it
    all apart, finds none and takes as long as two hundred requests.
    """
    gc.set_threshold(_OBJECTS)
    try:
        from eyechart.cli.main import main

        code = main()
    except KeyboardInterrupt:  # so early that nobody was there to say so
        code = 130
    finally:
        gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    command()
