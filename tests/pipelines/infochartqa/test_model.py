"""InfoChartQA's whole way: a class like that of its example, hub rows, its response file, its evaluation."""

import json
import threading
from base64 import b64decode, b64encode
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.pipelines.infochartqa.report import evaluate
from support.command import eyechart
from support.files import jsonl, picture
from support.server import Server

# Like the example's client: it tries by itself, and in the end returns a word that is no answer.
CLASS = """
import json
from pathlib import Path

class Client:
    def generate(self, text, images):
        sizes = [Path(image).stat().st_size if ":" not in image else 0 for image in images]
        with Path("asked.jsonl").open("a") as file:
            file.write(json.dumps({"text": text, "images": images, "sizes": sizes}) + "\\n")
        return self.ask(text)

    def ask(self, text):
        for _ in range(5):
            try:
                return {"How many?": "20 cups", "Which?": "(B)"}[text.partition("\\n")[0]]
            except KeyError:
                if Path("healed").exists():
                    return "yes"
        return "Error!"

    max_concurrency = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CLASS, encoding="utf-8")
    (tmp_path / "cups.png").write_bytes(picture(size=(64, 48)))
    rows: list[dict[str, Any]] = [
        {
            "question_id": "1",
            "question_type_id": "72",
            "question": "How many?",
            "instructions": "Answer with a number.",
            "answer": "20",
            "url": "cups.png",
        },
        {
            "question_id": "2",
            "question_type_id": "202",
            "question": "Which?",
            "answer": "B",
            "url": "cups.png",
            "extra_input_figure_bboxes": [[8, 8, 16, 12]],
        },
        {
            "question_id": "3",
            "question_type_id": "13",
            "question": "Is it?",
            "answer": "Yes",
            "url": "cups.png",
        },
    ]
    jsonl(tmp_path / "rows.jsonl", rows)
    return tmp_path


def asked(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "asked.jsonl").read_text(encoding="utf-8").splitlines()]


RUN = ("run", "rows.jsonl", "--as", "infochartqa", "-m", "python:mine.py:Client", "-q", "--json")


def test_from_rows_to_the_authors_evaluation(folder: Path) -> None:
    done = eyechart(*RUN, cwd=folder)
    assert done.code == 1
    assert done.json["outcomes"]["correct"] == 2
    assert done.json["outcomes"]["failed"] == 1
    assert "own client failed" in done.err
    official = folder / done.json["run"] / "official"
    responses = json.loads((official / "model_response.json").read_text(encoding="utf-8"))
    assert responses["1"] == {"qtype": 72, "answer": "20", "question_id": "1", "response": "20 cups"}
    assert responses["3"]["response"] == "Error!"
    results, report = evaluate(official / "model_response.json", folder / "out" / "results.json")
    assert [record["question_id"] for record in results] == ["1", "2"]
    assert report["overall_accuracy"] == 100.0
    assert (folder / "out" / "results.json").read_bytes() == (official / "results.json").read_bytes()


def test_what_its_client_gave_up_on_is_asked_again(folder: Path) -> None:
    assert eyechart(*RUN, cwd=folder).code == 1
    (folder / "healed").touch()
    again = eyechart(*RUN, cwd=folder)
    assert again.code == 0, again.err
    assert len(asked(folder)) == 4
    assert asked(folder)[-1]["text"] == "Is it?\n"
    official = folder / again.json["run"] / "official"
    assert "Error!" not in (official / "model_response.json").read_text(encoding="utf-8")
    _, report = evaluate(official / "model_response.json", folder / "results.json")
    assert report["overall_accuracy"] == 100.0
    assert sum(kind["total"] for kind in report["qtype_accuracy"].values()) == 3


def test_images_come_as_a_list_of_paths(folder: Path) -> None:
    eyechart(*RUN, cwd=folder)
    by_text = {str(one["text"]): one for one in asked(folder)}
    assert by_text["How many?\nAnswer with a number."]["images"] == [str(folder / "cups.png")]
    chart, crop = by_text["Which?\n"]["images"]
    assert (chart, Path(crop).suffix) == (str(folder / "cups.png"), ".png")
    assert all(size for size in by_text["Which?\n"]["sizes"])
    assert not Path(crop).exists()  # it was made for the call


def test_or_as_a_list_of_addresses(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()[:1]]
    address = "https://charts.example/cups.png"
    jsonl(folder / "rows.jsonl", [{**rows[0], "url": address}])
    done = eyechart(*RUN, "--pass-urls", cwd=folder)
    assert done.code == 0, done.err
    assert [one["images"] for one in asked(folder)] == [[address]]


# Like the example's client for a server: what it is given goes into the request as it is.
SENDS = """
from openai import OpenAI

class Sends:
    def __init__(self, base_url):
        self.client = OpenAI(api_key="none", base_url=base_url, max_retries=0)

    def generate(self, text, images):
        parts = [{"type": "text", "text": text}]
        parts += [{"type": "image_url", "image_url": {"url": image}} for image in images]
        said = self.client.chat.completions.create(model="m", messages=[{"role": "user", "content": parts}])
        return said.choices[0].message.content
"""
TAKES_ONE = """
from PIL import Image

class TakesOne:
    def generate(self, query, image_path):
        with Image.open(image_path) as chart:
            return f"{type(image_path).__name__} {chart.size}"
"""


def row(folder: Path, **changes: Any) -> None:
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()[:1]]
    jsonl(folder / "rows.jsonl", [{**rows[0], **changes}])


@pytest.mark.slow
def test_a_client_that_sends_what_it_is_given_is_given_urls(folder: Path) -> None:
    pytest.importorskip("openai")
    (folder / "sends.py").write_text(SENDS, encoding="utf-8")
    one, other = "https://charts.example/a.png", "https://charts.example/b.png"
    with Server(lambda asked: "20") as server:
        run = [*RUN[:4], "-m", "python:sends.py:Sends", "--param", f"base_url={server.base_url}", "-q"]
        cases: list[tuple[dict[str, Any], list[str]]] = [
            ({"url": one}, []),
            ({"url": [one, other]}, []),
            ({"url": "cups.png", "extra_input_figure_bboxes": [[8, 8, 16, 12]]}, []),
            ({}, ["--max-side", "32"]),
        ]
        for changes, flags in cases:
            row(folder, **changes)
            done = eyechart(*run, *flags, cwd=folder)
            assert done.code == 0, done.err
    addressed, two, cropped, small = (asked.images for asked in server.asked)
    assert (addressed, two) == ([one], [one, other])
    assert cropped[0] == f"data:image/png;base64,{b64encode((folder / 'cups.png').read_bytes()).decode()}"
    assert [size_of(url) for url in (*cropped, *small)] == [(64, 48), (16, 12), (32, 24), (16, 12)]


@pytest.mark.slow
def test_an_addressed_chart_and_its_crop_are_urls_both(folder: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/cups.png"
        row(folder, url=address, extra_input_figure_bboxes=[[8, 8, 16, 12]])
        done = eyechart(*RUN, "--pass-urls", "--allow-private-urls", cwd=folder)
        server.shutdown()
    assert done.code == 0, done.err
    [[chart, crop]] = [one["images"] for one in asked(folder)]
    assert (chart, size_of(crop)) == (address, (16, 12))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None: ...


def size_of(url: str) -> tuple[int, int]:
    with Image.open(BytesIO(b64decode(url.removeprefix("data:image/png;base64,")))) as opened:
        return opened.size


def test_a_class_that_takes_one_path_is_given_it_as_a_text(folder: Path) -> None:
    (folder / "one.py").write_text(TAKES_ONE, encoding="utf-8")
    done = eyechart(*RUN[:5], "python:one.py:TakesOne", "-q", "--json", cwd=folder)
    replies = json.loads(
        (folder / done.json["run"] / "official" / "model_response.json").read_text(encoding="utf-8")
    )
    assert [entry["response"] for entry in replies.values()] == ["str (64, 48)", "Error!", "str (64, 48)"]
    assert done.code == 1
    assert "this question has 2 images, but the class takes one path" in done.err
    assert eyechart(*RUN[:5], "python:one.py:TakesOne", "--pass-urls", cwd=folder).code == 2


def test_the_crop_is_what_the_box_says(folder: Path) -> None:
    (folder / "seen").mkdir()
    code = """
from pathlib import Path
class Client:
    def generate(self, text, images):
        for number, image in enumerate(images):
            Path(f"seen/{len(images)}-{number}.png").write_bytes(Path(image).read_bytes())
        return "(B)"
"""
    (folder / "mine.py").write_text(code, encoding="utf-8")
    eyechart(*RUN, cwd=folder)
    with Image.open(folder / "seen" / "2-1.png") as crop:
        assert crop.size == (16, 12)


def test_a_class_that_holds_a_model_is_called_once_at_a_time(folder: Path) -> None:
    code = """
import threading
import time

class Client:
    max_concurrency = 1
    lock = threading.Lock()

    def generate(self, text, images):
        if not self.lock.acquire(blocking=False):
            return "two at once"
        time.sleep(0.01)
        self.lock.release()
        return "20"
"""
    (folder / "local.py").write_text(code, encoding="utf-8")
    done = eyechart("run", "rows.jsonl", "--as", "infochartqa", "-m", "python:local.py:Client", cwd=folder)
    (replies,) = folder.rglob("model_response.json")
    assert done.code == 0, done.err
    assert {entry["response"] for entry in json.loads(replies.read_bytes()).values()} == {"20"}
