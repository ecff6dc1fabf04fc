"""baseline/look, with and without the reader of text."""

import asyncio
from collections.abc import Iterator

import pytest

from eyechart.types import Model


@pytest.fixture(scope="module")
def look() -> Iterator[Model]:
    from eyechart.baselines.look import Look  # needs numpy

    model = Look()
    yield model
    asyncio.run(model.close())


@pytest.fixture(scope="module")
def unread() -> Iterator[Model]:
    """Look without OCR."""
    from eyechart.baselines.look import Look

    model = Look(reads=False)
    yield model
    asyncio.run(model.close())
