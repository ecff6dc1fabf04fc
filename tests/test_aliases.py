"""Former names of packages import the same modules and leave the functions of these names alone."""

import subprocess
import sys

SCRIPT = """
import eyechart as ec
import eyechart.run.options as former
import eyechart.runs.options as now
import eyechart.model.chat as chat
import eyechart.model, eyechart.run
from eyechart.run import Run
from eyechart.model.hf import HfOptions
from eyechart.models.hf import HfOptions as SameOptions
assert former is now and now.__spec__.name == "eyechart.runs.options"
assert chat.__name__ == "eyechart.models.chat" and Run is ec.Run and HfOptions is SameOptions
assert ec.run.__name__ == "run" and ec.model.__name__ == "model"
try:
    import eyechart.run.nothing
except ModuleNotFoundError as error:
    print(error)
"""


def test_former_names_import_the_same_modules() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "eyechart.runs.nothing" in done.stdout
