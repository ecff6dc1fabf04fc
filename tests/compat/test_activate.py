"""The import names of other packages, provided where those are not installed."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart.compat import activate as door
from eyechart.compat.vlmeval import smp
from eyechart.pipelines.vlmevalkit.vlmeval import dataset

NAMES = ("evalscope", "vlmeval")


def drop() -> None:
    door.deactivate()
    for name in [name for name in sys.modules if name.partition(".")[0] in NAMES]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def _nobody_there() -> Iterator[None]:
    drop()
    yield
    drop()


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_names_lead_to_our_modules() -> None:
    assert door.activate() == {"evalscope": "eyechart", "vlmeval": "eyechart"}
    assert importlib.import_module("vlmeval.smp") is smp
    assert importlib.import_module("vlmeval.dataset.image_base").ImageBaseDataset is dataset.ImageBaseDataset
    assert importlib.import_module("vlmeval.dataset.image_vqa").CustomVQADataset is dataset.CustomVQADataset
    assert importlib.import_module("vlmeval.dataset").CustomVQADataset is dataset.CustomVQADataset
    assert importlib.import_module("vlmeval.smp.file").load is smp.load
    assert importlib.import_module("evalscope.utils.logger").get_logger().name == "evalscope"


def test_it_may_be_called_again_and_taken_back() -> None:
    first = door.activate()
    importlib.import_module("vlmeval.smp")
    assert door.activate() == first
    assert sum(finder is door._FINDER for finder in sys.meta_path) == 1
    door.deactivate()
    assert "vlmeval" not in sys.modules
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'vlmeval'$"):
        importlib.import_module("vlmeval")


def test_a_module_that_we_do_not_have_lists_those_that_we_have() -> None:
    door.activate()
    for name in ("vlmeval.api", "vlmeval.bridge", "vlmeval.dataset.video_base"):
        with pytest.raises(
            ModuleNotFoundError, match=r"eyechart provides vlmeval here.*vlmeval\.smp,"
        ) as caught:
            importlib.import_module(name)
        assert caught.value.name == name


@pytest.mark.parametrize(
    ("module", "has"),
    [
        ("vlmeval.smp", "LMUDataRoot, load, "),
        ("vlmeval.smp.file", "dump, "),
        ("vlmeval.dataset", "CustomVQADataset, "),
        ("vlmeval.dataset.image_base", "ImageBaseDataset"),
        ("vlmeval", "dataset, smp, utils"),
        ("evalscope", "run, run_task, "),
        ("evalscope.run", "run_task"),
        ("evalscope.utils", "get_logger"),
    ],
)
def test_a_name_that_a_module_lacks_lists_those_that_it_has(module: str, has: str) -> None:
    door.activate()
    for _ in range(2):
        with pytest.raises(ImportError) as caught:
            exec(f"from {module} import of_no_use")
        assert f"cannot import name 'of_no_use' from '{module}'" in str(caught.value)
        assert has in str(caught.value)
    found = importlib.import_module(module)
    assert not hasattr(found, "of_no_use")
    assert getattr(found, "of_no_use", None) is None
    with pytest.raises(AttributeError, match=r"has no attribute 'of_no_use': .* with "):
        _ = found.of_no_use


def test_names_that_are_made_when_asked_for_still_are() -> None:
    door.activate()
    space: dict[str, object] = {}
    exec("from vlmeval.smp import *\nfrom vlmeval.dataset import SUPPORTED_DATASETS", space)
    assert space["np"] is sys.modules["numpy"]
    assert "MMBench_DEV_EN" in str(space["SUPPORTED_DATASETS"])


def test_versions_can_be_compared() -> None:
    from packaging.version import Version

    door.activate()
    for name in NAMES:
        version = Version(importlib.import_module(name).__version__)
        assert version.local == "eyechart"
        assert version > Version("0.0.1")


def test_other_names_are_none_of_our_business() -> None:
    door.activate()
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'vlmevalkit'$"):
        importlib.import_module("vlmevalkit")


def test_a_package_that_is_there_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vlmeval").mkdir()
    (tmp_path / "vlmeval" / "__init__.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert door.activate() == {"evalscope": "eyechart", "vlmeval": "installed"}
    assert importlib.import_module("vlmeval").real is True
    assert door.activate()["vlmeval"] == "installed"


def test_a_folder_of_that_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where somebody keeps a clone of the repository, or results, beside the script."""
    (tmp_path / "vlmeval" / "results").mkdir(parents=True)
    (tmp_path / "evalscope" / "evalscope").mkdir(parents=True)
    (tmp_path / "evalscope" / "evalscope" / "__init__.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert door.activate() == {"evalscope": "eyechart", "vlmeval": "eyechart"}
    assert importlib.import_module("vlmeval.smp") is smp
    assert callable(importlib.import_module("evalscope").run_task)


def test_a_module_of_one_file_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evalscope.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert door.activate() == {"evalscope": "installed", "vlmeval": "eyechart"}


@pytest.mark.slow
def test_importing_the_module_is_enough(tmp_path: Path) -> None:
    code = (
        "import sys, eyechart.compat.activate\n"
        "assert 'pandas' not in sys.modules\n"
        "from evalscope import TaskConfig, run_task\n"
        "from evalscope.run import run_task as same\n"
        "from evalscope.config import TaskConfig as too\n"
        "from evalscope.summarizer import Summarizer\n"
        "import vlmeval.dataset.image_mcq, vlmeval.dataset.text_mcq\n"
        "from vlmeval.dataset.image_base import ImageBaseDataset\n"
        "from vlmeval.dataset.image_vqa import CustomVQADataset\n"
        "from vlmeval.smp import load, dump, d2df, LMUDataRoot\n"
        "assert run_task is same and TaskConfig is too\n"
        "assert 'pandas' not in sys.modules\n"
        "print(CustomVQADataset.__mro__[1] is ImageBaseDataset)\n"
    )
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
