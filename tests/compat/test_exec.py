"""``eyechart exec``: scripts as they are."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart.compat import activate
from support.command import Outcome, environment, eyechart
from support.dataset_classes import restore_classes
from support.files import picture, picture_base64
from support.server import Asked, Server
from support.tables import write_tsv


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    with restore_classes():
        yield
    activate.deactivate()


def run(tmp_path: Path, text: str, *arguments: object, name: str = "script.py", **changes: str) -> Outcome:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return eyechart("exec", name, *arguments, cwd=tmp_path, HOME=str(tmp_path), **changes)


def test_it_runs_as_main_with_its_own_arguments_and_path(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("word = 'found'\n")
    done = run(
        tmp_path,
        "import sys, neighbour\nprint(__name__, __file__, sys.argv, neighbour.word)\n",
        "--limit", 3, "-q", "--help", "--", "x",
    )  # fmt: skip
    assert done.code == 0, done.err
    argv = ["script.py", "--limit", "3", "-q", "--help", "--", "x"]
    assert done.out == f"__main__ {tmp_path / 'script.py'} {argv} found\n"
    assert "neighbour" not in sys.path[0]
    del sys.modules["neighbour"]


def test_it_says_who_provides_the_names(tmp_path: Path) -> None:
    done = run(tmp_path, "from vlmeval.smp import d2df\n")
    assert done.code == 0, done.err
    assert "eyechart: vlmeval: provided by eyechart, because the package is not installed\n" in done.err
    assert "evalscope" not in done.err  # which the script does not import
    assert done.out == ""
    assert run(tmp_path, "print('hi')\n", name="hi.py").err == ""
    assert eyechart("exec", "-q", "script.py", cwd=tmp_path).err == ""


def test_the_lines_of_the_readme_of_mmbench(tmp_path: Path) -> None:
    write_tsv(
        tmp_path / "LMUData" / "MMBench_DEV_EN.tsv",
        ["index", "question", "hint", "A", "B", "answer", "category", "image"],
        [7, "Which?", "", "cat", "dog", "B", "ocr", picture_base64(size=(32, 24))],
        [1000007, "Which?", "At sea.", "dog", "cat", "A", "ocr", 7],
    )
    done = run(
        tmp_path,
        "from vlmeval.dataset import ImageMCQDataset\n"
        "from vlmeval.smp import mmqa_display\n"
        "dataset = ImageMCQDataset('MMBench_DEV_EN')\n"
        "dataset.display(0)\n"
        "mmqa_display(dataset[1], target_size=16)\n"
        "print([part['type'] for part in dataset.build_prompt(0)])\n",
    )
    assert done.code == 0, done.err
    first, second = ["QUESTION. Which?"], ["QUESTION. Which?", "HINT. At sea."]
    assert done.out.splitlines() == [
        *("INDEX: 7", "IMAGE: 32 x 24", *first, "A. cat", "B. dog", "ANSWER. B", "CATEGORY. ocr"),
        *("INDEX: 1000007", "IMAGE: 16 x 12", *second, "A. dog", "B. cat", "ANSWER. A", "CATEGORY. ocr"),
        "['image', 'text']",
    ]


def test_a_package_beside_the_script_is_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "vlmeval").mkdir()
    (tmp_path / "vlmeval" / "__init__.py").write_text("")
    done = run(tmp_path, "import vlmeval\nprint(vlmeval.__file__)\n")
    assert done.code == 0, done.err
    assert "eyechart: vlmeval: the installed package is used\n" in done.err
    assert done.out == f"{tmp_path / 'vlmeval' / '__init__.py'}\n"
    del sys.modules["vlmeval"]


EVALUATES = """
import json
from checker import evaluate

replies = {"1": {"qtype": 72, "answer": "20", "question_id": "1", "response": "20"}}
with open("model_response.json", "w") as file:
    json.dump(replies, file)
evaluate("./model_response.json", "./results.json")
"""


def test_the_checker_of_infochartqa_is_there(tmp_path: Path) -> None:
    done = run(tmp_path, EVALUATES)
    assert (done.code, done.out) == (0, "Acc: 100.0% 1\n"), done.err
    assert "eyechart: checker: provided by eyechart" in done.err
    assert (tmp_path / "results.json").is_file()
    lacking = run(tmp_path, "from checker import nope\n")
    assert "eyechart provides it here, with build_question, evaluate\n" in lacking.err
    (tmp_path / "checker.py").write_text("def evaluate(*files):\n    print('their own')\n")
    activate.deactivate()
    own = run(tmp_path, EVALUATES)
    assert (own.code, own.out) == (0, "their own\n"), own.err
    assert "checker: the installed package is used" in own.err
    del sys.modules["checker"]
    assert "checker" not in run(tmp_path, "import json\n").err


LOADS = """
from datasets import load_dataset
ds = load_dataset("someone/charts", split="text")
print([(row["question_id"], row["url"]) for row in ds])
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["data/charts", "data/someone/charts", "charts", "elsewhere/charts"])
@pytest.mark.parametrize("form", ["text.jsonl", "data/text-00000-of-00001.parquet", "saved"])
def test_a_copy_of_a_data_set_of_the_hub_is_read(place: str, form: str, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list([{"question_id": "1", "url": "a.png"}])
    folder = tmp_path / place
    (folder / form).parent.mkdir(parents=True, exist_ok=True)
    if form == "saved":
        datasets.DatasetDict({"text": rows}).save_to_disk(folder)
    else:
        getattr(rows, "to_parquet" if form.endswith("parquet") else "to_json")(folder / form)
    changes = {"EYECHART_DATA": str(tmp_path / "elsewhere")} if place.startswith("else") else {}
    before = datasets.load_dataset
    done = run(tmp_path, LOADS, HF_DATASETS_CACHE=str(tmp_path / "cache"), **changes)
    assert (done.code, done.out) == (0, "[('1', 'a.png')]\n"), done.err
    assert f"someone/charts: read from {folder if changes else place}\n" in done.err
    assert datasets.load_dataset is before


@pytest.mark.slow
def test_where_there_is_no_copy_the_places_are_named(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    (tmp_path / "charts").mkdir()  # of code, say
    (tmp_path / "charts" / "main.py").write_text("")
    (tmp_path / "script.py").write_text(LOADS)
    done = subprocess.run(
        [sys.executable, "-m", "eyechart", "exec", "script.py"],
        cwd=tmp_path, env={**environment(), "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "someone/charts: no local copy, and the hub cannot be reached" in done.stderr
    assert "$EYECHART_DATA/charts" in done.stderr


def test_an_exception_shows_the_scripts_own_lines(tmp_path: Path) -> None:
    done = run(tmp_path, "def f():\n    return {}['gone']\n\nprint('before')\nf()\n", "-q")
    assert (done.code, done.out) == (1, "before\n")
    trace = done.err[done.err.index("Traceback") :]
    line = f'  File "{tmp_path / "script.py"}", line 5, in <module>\n    f()\n'
    assert trace.startswith(f"Traceback (most recent call last):\n{line}")
    assert trace.endswith("KeyError: 'gone'\n")
    assert "runpy" not in trace
    assert "exec.py" not in trace


def test_a_script_that_cannot_be_read(tmp_path: Path) -> None:
    done = run(tmp_path, "print('x'\n")
    assert done.code == 1
    assert 'script.py", line 1' in done.err
    assert "SyntaxError" in done.err


def test_an_import_that_fails_lists_what_there_is(tmp_path: Path) -> None:
    done = run(tmp_path, "from vlmeval.api import OpenAIWrapper\n")
    assert done.code == 1
    assert 'script.py", line 1, in <module>' in done.err
    assert (
        "No module named 'vlmeval.api': eyechart provides vlmeval here, and of it vlmeval, vlmeval.smp,"
        in done.err
    )
    assert "activate.py" not in done.err


@pytest.mark.parametrize(
    ("line", "code"), [("sys.exit(7)", 7), ("sys.exit()", 0), ("raise SystemExit('no')", 1), ("pass", 0)]
)
def test_exit_codes_pass_through(line: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"import sys\n{line}\n")
    done = subprocess.run(
        [sys.executable, "-m", "eyechart", "exec", "script.py"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert ("no\n" in done.stderr) == ("no" in line and "SystemExit" in line)


def test_our_own_errors_are_one_message(tmp_path: Path) -> None:
    done = run(tmp_path, "from vlmeval.smp import load\nload('gone.tsv')\n")
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "eyechart: gone.tsv: no such file\n  hint:" in done.err


def test_what_is_defined_is_found_as_main(tmp_path: Path) -> None:
    text = "import pickle, sys\nclass A: pass\na = A()\nprint(type(pickle.loads(pickle.dumps(a))) is A)\n"
    done = run(tmp_path, text + "print(sys.modules['__main__'].a is a, __spec__)\n")
    assert (done.code, done.out) == (0, "True\nTrue None\n"), done.err
    assert "a" not in vars(sys.modules["__main__"])


def test_an_error_of_the_system_is_the_scripts(tmp_path: Path) -> None:
    done = run(tmp_path, "open('gone.txt')\n")
    assert done.code == 1
    assert "FileNotFoundError" in done.err


def test_an_interrupted_script(tmp_path: Path) -> None:
    assert run(tmp_path, "raise KeyboardInterrupt\n").code == 130


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    done = eyechart("exec", "gone.py", "--flag", cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("eyechart: no such script: gone.py\n  hint:")
    done = eyechart("exec", "evalscope", "eval", "--datasets", "general_vqa", cwd=tmp_path)
    assert (done.code, "eyechart evalscope eval" in done.err) == (2, True)
    assert eyechart("exec", tmp_path, cwd=tmp_path).code == 2
    assert eyechart("exec", cwd=tmp_path).code == 2


def test_modules_run_too(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("")
    (tmp_path / "mine" / "run.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n1 / 0\n")
    done = eyechart("exec", "-m", "mine.run", "--x", cwd=tmp_path)
    assert (done.code, done.out) == (1, "__main__ ['--x']\n")
    assert "in <module>\n    1 / 0" in done.err
    assert "runpy" not in done.err
    for name in ("gone", "mine.gone", "gone.run", "sys.gone"):
        missing = eyechart("exec", "-m", name, cwd=tmp_path)
        assert (missing.code, f"no such module: {name}" in missing.err) == (2, True), missing.err
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        del sys.modules[name]


def test_help_says_what_belongs_to_whom(tmp_path: Path) -> None:
    done = eyechart("exec", "--help", cwd=tmp_path)
    assert done.code == 0
    assert "All arguments after SCRIPT are passed to the script" in done.out


# In the manner of EvalScope's page on data sets of one's own: the same names, the same calls.
SCRIPT = """
import os

import numpy as np
from evalscope.run import run_task
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.dataset.image_vqa import CustomVQADataset
from vlmeval.smp import d2df, dump, load


class Sums:
    def load_data(self, dataset):
        return load(os.path.join(os.path.expanduser("~/LMUData"), f"{dataset}.tsv"))

    def build_prompt(self, line):
        msgs = ImageBaseDataset.build_prompt(self, line)
        msgs[-1]['value'] += '\\nA single number, please.'
        return msgs

    def evaluate(self, eval_file, **judge_kwargs):
        table = load(eval_file)
        assert 'answer' in table and 'prediction' in table
        table['prediction'] = [str(x) for x in table['prediction']]
        table['answer'] = [str(x) for x in table['answer']]
        share = np.mean(table['answer'] == table['prediction'])
        found = d2df({'Overall': share}).round(2)
        suffix = eval_file.split('.')[-1]
        dump(found, eval_file.replace(f'.{suffix}', '_acc.csv'))
        return found


CustomVQADataset.load_data = Sums.load_data
CustomVQADataset.build_prompt = Sums.build_prompt
CustomVQADataset.evaluate = Sums.evaluate

print('returned', run_task(task_cfg='config.yaml'))
"""

CONFIG = """
eval_backend: VLMEvalKit
eval_config:
  model:
    - type: some-model
      name: CustomAPIModel
      api_base: {url}/chat/completions
      key: EMPTY
      temperature: 0.0
      img_size: -1
  data:
    - sums
  mode: all
  limit: 3
  reuse: false
  work_dir: outputs
  nproc: 2
work_dir: outputs
"""


@pytest.mark.parametrize("column", ["image", "image_path"])
def test_a_script_with_a_class_of_its_own(column: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    root = tmp_path / "home" / "LMUData"
    rows = []
    for k in range(4):
        place = root / "images" / "sums" / f"{k}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(picture((k, 90, 40)))
        rows.append([k, f"Sum {k}?", k, picture_base64((k, 90, 40)) if column == "image" else place])
    write_tsv(root / "sums.tsv", ["index", "question", "answer", column], *rows)
    (tmp_path / "script.py").write_text(SCRIPT)

    def answer(asked: Asked) -> str:
        return "9" if "Sum 1?" in asked.text else asked.text[4]

    with Server(answer) as server:
        (tmp_path / "config.yaml").write_text(CONFIG.format(url=server.base_url))
        done = eyechart("exec", "script.py", cwd=tmp_path, HOME=str(tmp_path / "home"))
        assert done.code == 0, done.err
        assert sorted(asked.text for asked in server.asked) == [
            f"Sum {k}?\nA single number, please." for k in range(3)
        ]
        assert all(len(asked.images) == 1 for asked in server.asked)
    assert "returned {'some-model_sums_acc': {'Overall': '0.67'}}" in done.out
    [acc] = (tmp_path / "outputs").rglob("some-model_sums_acc.csv")
    assert acc.read_text() == '"Overall"\n"0.67"\n'
    assert acc.with_name("some-model_sums.xlsx").is_file()


def test_an_error_in_a_scripts_evaluate_names_its_line(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    write_tsv(tmp_path / "home" / "LMUData" / "sums.tsv", ["index", "question", "answer"], [0, "Sum 0?", 0])
    (tmp_path / "script.py").write_text(SCRIPT.replace("in table['answer']]", "in table['gone']]"))
    with Server(lambda asked: "0") as server:
        (tmp_path / "config.yaml").write_text(CONFIG.format(url=server.base_url))
        done = eyechart("exec", "script.py", cwd=tmp_path, HOME=str(tmp_path / "home"))
    assert done.code != 0
    assert "Traceback" not in done.err
    assert "sums: evaluate raised KeyError: 'gone'" in done.err
    assert "script.py, line 24" in done.err


# The same with a judge that the script asks by itself, as scripts in the wild do.
JUDGED = SCRIPT.replace(
    "from vlmeval.smp import d2df, dump, load\n",
    "from vlmeval.dataset.utils import DEBUG_MESSAGE, build_judge\n"
    "from vlmeval.smp import d2df, dump, load\n"
    "from vlmeval.utils import track_progress_rich\n",
).replace(
    "        share = np.mean(table['answer'] == table['prediction'])\n",
    """        nproc = judge_kwargs.pop('nproc', 4)
        judge = build_judge(**judge_kwargs)
        assert judge.working(), DEBUG_MESSAGE
        rows = [table.iloc[i] for i in range(len(table))]
        tasks = [(f"{row['answer']} or {row['prediction']}?",) for row in rows]
        notes = eval_file.replace('.xlsx', '_tmp.pkl')
        track_progress_rich(
            judge.generate, tasks, nproc=nproc, chunksize=nproc, keys=list(table['index']), save=notes
        )
        said = load(notes)
        share = np.mean([said[index] == 'same' for index in table['index']])
""",
)


def test_a_script_that_asks_a_judge(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    rows = [[k, f"Sum {k}?", k] for k in range(3)]
    write_tsv(tmp_path / "home" / "LMUData" / "sums.tsv", ["index", "question", "answer"], *rows)
    (tmp_path / "script.py").write_text(JUDGED)

    def answer(asked: Asked) -> str:
        if asked.body["model"] == "some-model":
            return asked.text[4]
        return "other" if asked.text == "1 or 1?" else "same"

    with Server(answer) as server:
        judge = f"  judge: some-judge\n  judge_base_url: {server.base_url}\n  judge_key: EMPTY\n"
        config = CONFIG.format(url=server.base_url).replace("  nproc: 2\n", f"  nproc: 2\n{judge}")
        (tmp_path / "config.yaml").write_text(config)
        done = eyechart("exec", "script.py", cwd=tmp_path, HOME=str(tmp_path / "home"))
    assert done.code == 0, done.err
    assert "returned {'some-model_sums_acc': {'Overall': '0.67'}}" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("way", ["spawn", "forkserver"])
def test_processes_of_its_own_have_the_names_too(tmp_path: Path, way: str) -> None:
    (tmp_path / "several.py").write_text(
        "import multiprocessing\n"
        "from vlmeval.smp import listinstr\n"
        "def find(word): return listinstr(['a'], word)\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({way!r}).Pool(1) as pool:\n"
        "        print(pool.map(find, ['cat', 'dog']))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "eyechart", "exec", "-q", "several.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=50, env=environment(),
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("[True, False]\n", 0), done.stderr
