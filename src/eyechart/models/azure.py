"""OpenAI's models as Azure serves them: ``azure/DEPLOYMENT``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from eyechart.errors import UsageError
from eyechart.models.chat import ImageLimits
from eyechart.models.openai import OpenAI
from eyechart.registry import model

_OFFICIAL = re.compile(r".+\.azure\.(?:com|us|cn)")
_BELOW = re.compile(r"/openai(?:/v1)?(?:/deployments/[^/]+)?(?:/chat/completions)?$")
_VERSION_VARIABLES = ("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION")


@model("azure")
class Azure(OpenAI):
    """A deployment of Azure OpenAI: ``azure/my-gpt-4o``.

    Requests go to the v1 API; with an API version, to the deployment's own URL.
    """

    provider = "azure"
    batch_api = ""
    vendor = "Azure"
    server = "an Azure OpenAI resource"
    official_url = ""  # every resource has its own
    key_variable = "AZURE_OPENAI_API_KEY"
    url_variables = ("AZURE_OPENAI_ENDPOINT",)
    parameters = OpenAI.parameters | {"api_version", "data_sources"}
    limits = ImageLimits(max_bytes=20 * 2**20)

    @classmethod
    def is_official_host(cls, host: str) -> bool:
        return _OFFICIAL.fullmatch(host) is not None

    def find_url(self) -> str:
        url = super().find_url()
        if not url:
            raise UsageError(
                f"no endpoint for {self.name}",
                hint="set AZURE_OPENAI_ENDPOINT (or --base-url) to the resource's URL, "
                "like https://NAME.openai.azure.com",
            )
        return url

    @classmethod
    def normalise_url(cls, url: str) -> str:
        """The resource's URL, from any URL below it."""
        address, _, query = url.partition("?")
        if version := re.search(r"(?:^|&)api-version=([\w-]+)", query):
            plain = cls.normalise_url(address)
            raise UsageError(
                "the endpoint's URL holds an API version",
                hint=f"give them separately: --base-url {plain} --param api_version={version[1]}",
            )
        return _BELOW.sub("", super().normalise_url(url))

    def build_headers(self, api_key: str | None) -> dict[str, str]:
        return {"api-key": api_key} if api_key else {}

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        found = parameters.pop("api_version", None) or next(
            filter(None, map(os.environ.get, _VERSION_VARIABLES)), None
        )
        self._api_version = str(found).strip() if found else None
        return super().build_fields(parameters, extra)

    @property
    def wants_max_completion_tokens(self) -> bool:
        return self._api_version is None  # versions before the v1 API may not know the name

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**super().identity, **({"api_version": self._api_version} if self._api_version else {})}

    def build_url(self) -> str:
        if self._api_version is None:
            return f"{self.base_url}/openai/v1/chat/completions"
        deployment, version = quote(self.model, safe=""), quote(self._api_version, safe="")
        return f"{self.base_url}/openai/deployments/{deployment}/chat/completions?api-version={version}"
