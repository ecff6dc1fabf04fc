"""The command under a wall clock that jumps: years back and hours ahead, every few looks at it.

Start it as ``python jumping.py run ...``. The monotonic clock, as on any machine, does not jump.
"""

from __future__ import annotations

import itertools
import sys
import time

JUMPS_S = (0, 3_600, -3_600, 86_400, -20 * 365 * 86_400, 5, -5, 10 * 365 * 86_400)


def jump() -> None:
    """Replace the wall clock of this process."""
    true_time = time.time
    looks = itertools.count()

    def jumping() -> float:
        return true_time() + JUMPS_S[next(looks) // 3 % len(JUMPS_S)]

    time.time = jumping
    time.time_ns = lambda: int(jumping() * 1e9)


if __name__ == "__main__":
    jump()
    from eyechart.cli.main import main

    sys.exit(main(sys.argv[1:]))
