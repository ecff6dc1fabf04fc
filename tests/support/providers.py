"""Asking a model of a provider at a local server."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest

from eyechart.errors import ModelError
from eyechart.models.specs import make_model
from eyechart.types import ModelSettings, Reply, Request
from support.parts import request
from support.server import Answer, Server
from support.wire import KEY


def address_of(server: Server, path: str = "") -> str:
    """The server's URL without /v1, with another path."""
    parts = urlsplit(server.base_url)
    return f"{parts.scheme}://{parts.netloc}{path}"


PATHS = {"openrouter": "/api/v1", "openai-responses": "/v1"}  # below which requests go


def ask(name: str, server: Server, one: Request, **parameters: Any) -> Reply:
    """Put one request to the model of that name."""
    url = address_of(server, PATHS.get(name.partition("/")[0], ""))
    settings = ModelSettings(base_url=url, api_key=KEY, parameters=parameters)
    model = make_model(name, settings)

    async def work() -> Reply:
        try:
            return await model.reply(one)
        finally:
            await model.close()

    return asyncio.run(work())


def error_of(name: str, said: Answer, **parameters: Any) -> ModelError:
    """The error that an answer becomes."""
    with Server(lambda asked: said) as server, pytest.raises(ModelError) as caught:
        ask(name, server, request(), **parameters)
    return caught.value
