"""``eyechart`` and ``python -m eyechart``: the command as a process."""

import gc
import sys
from typing import NoReturn

_OBJECTS = 20_000  # as in runs/loop.py, which is not imported here to start fast


def command() -> NoReturn:
    """Run the command line and exit with its code.

    Imported modules live until the end. Collecting garbage among them finds nothing and takes as long as two
    hundred requests.
    """
    gc.set_threshold(_OBJECTS)
    try:
        from eyechart.cli.main import main

        code = main()
    except KeyboardInterrupt:  # while importing
        code = 130
    finally:
        gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    command()
