"""The bare client that eyechart is measured against: ready bodies, aiohttp, nothing kept.

    python bench/client.py BODIES.bin --base-url http://127.0.0.1:8000/v1 --concurrency 64

Bodies are read before the first request is sent (see bench/workloads.py). So many workers post them in order
over kept-alive connections, read each answer and decode its JSON. Prints one JSON object: requests, failed,
seconds (of the requests alone), cpu_s and peak_mb (of the whole process), bytes (sent).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
from workloads import read_bodies


async def work(session: aiohttp.ClientSession, url: str, bodies: Iterator[bytes]) -> int:
    """Post what is left, one after the other; how many had no answer in them."""
    failed = 0
    for body in bodies:
        async with session.post(url, data=body) as response:
            answer = json.loads(await response.read())
            failed += not answer.get("choices")
    return failed


async def post_all(url: str, bodies: list[bytes], concurrency: int) -> tuple[int, float]:
    """Failures, and seconds from the first request to the last answer."""
    left = iter(bodies)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        start = time.perf_counter()
        failed = await asyncio.gather(*(work(session, url, left) for _ in range(concurrency)))
        return sum(failed), time.perf_counter() - start


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("bodies", type=Path)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--concurrency", type=int, default=64)
    args = parser.parse_args()
    bodies = read_bodies(args.bodies)
    failed, seconds = asyncio.run(post_all(f"{args.base_url}/chat/completions", bodies, args.concurrency))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    done = {
        "requests": len(bodies),
        "failed": failed,
        "seconds": seconds,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
        "bytes": sum(map(len, bodies)),
    }
    print(json.dumps(done))


if __name__ == "__main__":
    main()
