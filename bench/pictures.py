"""Real JPEGs of a wanted size, each different from all others, made fast.

A few pictures of noise are encoded once; every further one is such a picture with a comment segment of its
own in front, which decoders step over. So thousands are made at the speed of copying.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator

_BASES = 4
_SEGMENT = 65_533  # the most a JPEG segment can hold


def pictures(n: int, n_bytes: int, *, seed: int = 0) -> Iterator[bytes]:
    """`n` distinct JPEGs of exactly `n_bytes` each, the same for the same seed.

    >>> first, second = pictures(2, 2000)
    >>> len(first), len(second), first == second
    (2000, 2000, False)
    """
    rng = random.Random(seed)
    bases = [_base(n_bytes, rng) for _ in range(min(n, _BASES))]
    for k in range(n):
        yield _padded(bases[k % len(bases)], n_bytes, rng)


def _base(n_bytes: int, rng: random.Random) -> bytes:
    """Noise, encoded, in almost so many bytes: a comment is read with the head, so it should be short."""
    from PIL import Image

    side = max(8, int(n_bytes**0.5))
    while True:
        noise = Image.frombytes("RGB", (side, side), rng.randbytes(side * side * 3))
        out = io.BytesIO()
        noise.save(out, "JPEG", quality=75)
        if side == 8 or n_bytes * 0.9 < out.tell() < n_bytes - 32:
            return out.getvalue()
        side = max(8, int(side * (n_bytes * 0.97 / out.tell()) ** 0.5))


def _padded(jpeg: bytes, n_bytes: int, rng: random.Random) -> bytes:
    left = n_bytes - len(jpeg)
    if left < 4:
        raise ValueError(f"a JPEG of {n_bytes} bytes is too small to make")
    pieces = [jpeg[:2]]
    while left:
        n = left if left <= _SEGMENT + 2 else min(_SEGMENT + 2, left - 4)
        pieces += [b"\xff\xfe", (n - 2).to_bytes(2, "big"), rng.randbytes(n - 4)]
        left -= n
    return b"".join([*pieces, jpeg[2:]])
