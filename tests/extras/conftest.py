"""Everything here needs torch and transformers, and is run by `make test-extras`."""

from __future__ import annotations

from pathlib import Path

import pytest

from extras.architectures import make_llava


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.extras)


@pytest.fixture(scope="session")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights") / "tiny-llava"
    make_llava(folder)
    return folder
