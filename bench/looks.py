"""How fast look runs are: 64 dialogues at once, measured against a bare client that plays the same ones.

    python bench/looks.py [--n 128] [--megapixels 4] [--repeat 3]

The server answers after 50 ms: two looks, then the answer. The bare client (this file with `--client`)
decodes the original before each request, presents it or cuts the crop, encodes PNG in threads, and posts the
whole dialogue; it keeps nothing. Each is a process of its own, on the same machine in turn. Prints a JSON
object: of both the seconds from the first request to the last answer, as the server counts them, the seconds
and the CPU time of everything (eyechart writes a page with images at the end), and the peak memory; and
the ratios, bare client to eyechart.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import msgspec
from aiohttp import web
from PIL import Image, ImageDraw

from eyechart.look.dialogue import TOOL
from eyechart.look.wording import fill_words
from eyechart.runs.plan import make_rules

LATENCY_S, LOOKS, AT_ONCE, THREADS = 0.05, 2, 64, 4
BOXES = [[250, 250, 600, 600], [300, 200, 650, 550]]  # others at each look: an equal crop is not cut again
CALLS = [
    {"name": TOOL, "arguments": {"bbox_2d": box, "label": "here", "img_idx": 0}} for box in BOXES[:LOOKS]
]
CALL_TEXTS = [f"<tool_call>{json.dumps(call)}</tool_call>" for call in CALLS]


def draw(folder: Path, n: int, megapixels: float) -> None:
    """Originals as JPEG, every file another one, and the questions."""
    side = int((megapixels * 1e6 / 12) ** 0.5)
    image = Image.effect_noise((side, side * 3 // 4), 60).resize((4 * side, 3 * side)).convert("RGB")
    rows = []
    for k in range(n):
        ImageDraw.Draw(image).text((10, 10), str(k), fill="red")
        image.save(folder / f"{k}.jpg")
        rows.append(
            {"id": str(k), "question": f"Which {k}?", "image": f"{k}.jpg", "A": "x", "B": "y", "answer": "A"}
        )
    (folder / "cards.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


# -- The server, in a thread of this process


class Span:
    """From the first request to the last answer."""

    def __init__(self) -> None:
        self.first_s = self.last_s = 0.0

    @property
    def seconds(self) -> float:
        return self.last_s - self.first_s


def serve(span: Span) -> str:
    """Start it; returns its URL."""
    started, found = threading.Event(), []

    async def reply(request: web.Request) -> web.Response:
        span.first_s = span.first_s or time.perf_counter()
        messages = msgspec.json.decode(await request.read())["messages"]
        n = sum(turn["role"] == "assistant" for turn in messages)
        await asyncio.sleep(LATENCY_S)
        span.last_s = time.perf_counter()
        message = {"role": "assistant", "content": CALL_TEXTS[n] if n < LOOKS else "A"}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}]})

    async def run() -> None:
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/v1/chat/completions", reply)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found.append(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        started.set()
        await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    started.wait()
    return found[0]


# -- The bare client


def cut(path: Path, box: list[int] | None) -> str:
    """The image as it is presented, or the region, as a data URL."""
    image = Image.open(path).convert("RGB")
    width, height = round(image.width / 4), round(image.height / 4)
    if box is not None:
        left, top, right, bottom = (
            round(v * side / 1000) for v, side in zip(box, image.size * 2, strict=True)
        )
        image = image.crop((left, top, right, bottom))
        width, height = round((box[2] - box[0]) * width / 500), round((box[3] - box[1]) * height / 500)
    file = io.BytesIO()
    image.resize((width, height), Image.Resampling.LANCZOS).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


async def play(folder: Path, url: str, n: int) -> None:
    """All dialogues, as many at once as eyechart plays."""
    threads, left, loop = ThreadPoolExecutor(THREADS), iter(range(n)), asyncio.get_running_loop()
    system = fill_words({}, make_rules("zoom", None, {}))["zoom"]

    async def work(session: aiohttp.ClientSession) -> None:
        for k in left:
            messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
            for turn in range(LOOKS + 1):
                box = BOXES[turn - 1] if turn else None
                seen = await loop.run_in_executor(threads, cut, folder / f"{k}.jpg", box)
                image = {"type": "image_url", "image_url": {"url": seen}}
                messages.append({"role": "user", "content": [image, {"type": "text", "text": f"Which {k}?"}]})
                body = msgspec.json.encode({"model": "m", "messages": messages})
                async with session.post(f"{url}/chat/completions", data=body) as response:
                    said = msgspec.json.decode(await response.read())["choices"][0]["message"]
                messages.append(said)

    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(
        headers=headers, connector=aiohttp.TCPConnector(limit=AT_ONCE)
    ) as session:
        await asyncio.gather(*(work(session) for _ in range(AT_ONCE)))


def play_with_eyechart(folder: Path, url: str) -> None:
    import eyechart as ec

    run = ec.run(
        folder / "cards.jsonl", "openai/m", base_url=url, look="zoom", concurrency=AT_ONCE, fresh=True,
        cache=False, adaptive=False, out=folder / "runs", progress=False,
    )  # fmt: skip
    assert run.score == 1.0, run.outcomes


def measure(who: str, folder: Path, url: str, n: int, span: Span) -> dict[str, float]:
    """Seconds and peak memory of a process that plays all dialogues."""
    span.first_s = 0.0
    command = [
        sys.executable,
        __file__,
        "--client",
        who,
        "--folder",
        str(folder),
        "--url",
        url,
        "--n",
        str(n),
    ]
    done = subprocess.run(  # noqa: S603
        command, check=True, stdout=subprocess.PIPE, env={**os.environ, "OPENAI_API_KEY": "x"}
    )
    return {"seconds": span.seconds, **json.loads(done.stdout)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=128, help="dialogues (default: 128)")
    parser.add_argument("--megapixels", type=float, default=4.0)
    parser.add_argument("--repeat", type=int, default=3)
    for name in ("--client", "--folder", "--url"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        start, cpu = time.perf_counter(), time.process_time()
        if args.client == "bare":
            asyncio.run(play(Path(args.folder), args.url, args.n))
        else:
            play_with_eyechart(Path(args.folder), args.url)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        spent = {
            "whole_s": time.perf_counter() - start,
            "cpu_s": time.process_time() - cpu,
            "peak_mb": peak_mb,
        }
        print(json.dumps(spent))
        return
    with tempfile.TemporaryDirectory() as name:
        folder, span = Path(name), Span()
        url = serve(span)
        draw(folder, args.n, args.megapixels)
        rounds = [
            {who: measure(who, folder, url, args.n, span) for who in ("bare", "eyechart")}
            for _ in range(args.repeat)
        ]
    ratios = {
        what: round(median(one["bare"][what] / one["eyechart"][what] for one in rounds), 3)
        for what in ("seconds", "whole_s", "cpu_s")
    }
    print(
        json.dumps(
            {"dialogues": args.n, "requests": args.n * (LOOKS + 1), "ratios": ratios, "rounds": rounds}
        )
    )


if __name__ == "__main__":
    main()
