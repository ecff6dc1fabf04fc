"""How long report.html takes to write, and how large it is, for a run of 60,000 samples.

    python bench/pages.py                     60,000 samples, 5,000 images
    python bench/pages.py --samples 2000 --images 2000 --keep /tmp/report.html

Prints seconds and megabytes of the page as a run writes it at its end (within its time limit for
thumbnails), as `eyechart report --html` writes it, and the time to read the same samples out of the
journal, which says how much of the time is reading. The budget: at the end of a run of 60,000 samples, no
more than 10 seconds and 30 MB.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageDraw
from rescoring import NAMES, sentence

from eyechart.registry import scorers
from eyechart.runs.results import Run
from eyechart.store.journal import FILE_NAME, Ask, Journal
from eyechart.types import ImageRef, Reply, Sample, Score, Usage

CATEGORIES = ("charts", "maps", "tables", "documents", "photos", "diagrams", "signs", "counting")


def make_picture(path: Path, rng: random.Random) -> None:
    """A bar chart over a photo-like background: about as hard to compress as what benchmarks hold."""
    small = Image.frombytes("RGB", (24, 18), rng.randbytes(24 * 18 * 3))
    image = small.resize((800, 600), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    for k in range(8):
        height = rng.randrange(40, 400)
        draw.rectangle((80 + 80 * k, 520 - height, 130 + 80 * k, 520), fill=(20 * k, 90, 200 - 20 * k))
    image.save(path, quality=85)


def make_run(folder: Path, n_samples: int, n_images: int, *, n_words: int = 60) -> None:
    """A run folder as `eyechart run` leaves it: samples, requests, replies, verdicts."""
    rng = random.Random(0)
    pictures = folder / "pictures"
    pictures.mkdir(parents=True)
    for k in range(n_images):
        make_picture(pictures / f"{k}.jpg", rng)
    samples = []
    for k in range(n_samples):
        choices = dict(zip("ABCD", rng.sample(NAMES, 4), strict=True))
        image = ImageRef(kind="file", location=str(pictures / f"{k * n_images // n_samples}.jpg"))
        samples.append(
            Sample(
                id=f"sample-{k}",
                question=f"{sentence(rng, 14).capitalize()}: which country is it?",
                images=(image,) if n_images else (),
                golds=(rng.choice("ABCD"),),
                choices=choices,
                meta={"category": rng.choice(CATEGORIES), "source": f"{k % 97}.pdf"},
            )
        )
    journal = Journal.create(folder / FILE_NAME)
    journal.replace_samples(iter(samples))
    scorer = scorers.get("choice")
    journal.start_session()
    for sample in samples:
        said = sample.golds[0] if rng.random() < 0.7 else rng.choice("ABCD")
        reply = Reply(
            text=f"{sentence(rng, n_words)}. The answer is {said}.",
            usage=Usage(prompt_tokens=rng.randrange(900, 1400), completion_tokens=n_words + 6),
            latency_s=rng.lognormvariate(0.3, 0.5),
        )
        sent = [{"image": {"mime": "image/jpeg", "width": 800, "height": 600, "sha256": "0" * 64}}]
        messages = [{"role": "user", "parts": [*sent, {"text": sample.question}]}]
        journal.append_reply(sample.id, 0, Ask(key=sample.id, recipe="", messages=messages), reply)
        value = float(said == sample.golds[0])
        score = Score(outcome="correct" if value else "wrong", value=value, read=said, route="choice:stated")
        journal.append_score(sample.id, 0, sample.id, scorer, score)
    journal.count_requests(sent=n_samples, retried=0, cached=0)
    manifest = {"benchmark": "bench", "model": "openai/bench", "scorer": scorer.name, "trials": 1}
    journal.set_meta("manifest", {**manifest, "group_by": ["category"], "options": {}})
    journal.close()


def measure(run: Run, path: Path, *, is_after_run: bool = False) -> str:
    start = time.perf_counter()
    run.write_html(path, is_after_run=is_after_run)
    seconds = time.perf_counter() - start
    return f"{seconds:6.1f} s  {path.stat().st_size / 1e6:6.1f} MB"


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--samples", type=int, default=60_000, metavar="N")
    parser.add_argument("--images", type=int, default=5_000, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the page here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        folder = Path(out) / "bench" / "openai-bench-00000000"
        make_run(folder, args.samples, args.images)
        start = time.perf_counter()
        for _ in Run(folder).samples():
            pass
        print(f"{args.samples:,} samples, {args.images:,} images")
        print(f"reading the samples        {time.perf_counter() - start:6.1f} s")
        run = Run(folder)
        start = time.perf_counter()
        run.write_summary()
        print(f"summary.json               {time.perf_counter() - start:6.1f} s")
        path = args.keep or folder / "report.html"
        print(f"at the end of a run        {measure(run, path, is_after_run=True)}")
        print(f"eyechart report --html     {measure(run, path)}")


if __name__ == "__main__":
    main()
