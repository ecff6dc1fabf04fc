"""Models of many vendors by OpenRouter: ``openrouter/VENDOR/NAME``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eyechart.errors import UsageError
from eyechart.models.openai import OpenAI
from eyechart.registry import model

_FLAGGED = re.compile(r"flagged|moderation", re.IGNORECASE)
_NO_IMAGES = re.compile(r"support image input", re.IGNORECASE)


@model("openrouter")
class OpenRouter(OpenAI):
    """A model at OpenRouter: ``openrouter/qwen/qwen2.5-vl-72b-instruct``."""

    provider = "openrouter"
    batch_api = ""
    vendor = "OpenRouter"
    official_url = "https://openrouter.ai/api/v1"
    key_variable = "OPENROUTER_API_KEY"
    url_variables = ("OPENROUTER_BASE_URL",)
    parameters = OpenAI.parameters | {
        "reasoning", "thinking_budget", "provider", "models", "transforms", "plugins", "usage",
    }  # fmt: skip
    out_of_credit = re.compile("insufficient credits|requires more credits|insufficient_quota", re.IGNORECASE)

    @property
    def wants_max_completion_tokens(self) -> bool:
        return False

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        short = {"thinking_budget": "max_tokens", "reasoning_effort": "effort"}
        given = {theirs: parameters.pop(ours) for ours, theirs in short.items() if ours in parameters}
        if given and (len(given) > 1 or "reasoning" in parameters):
            raise UsageError(
                f"{self.name}: reasoning is set in two ways",
                hint="give one of reasoning, reasoning_effort and thinking_budget",
            )
        return super().build_fields({**parameters, **({"reasoning": given} if given else {})}, extra)

    def is_withheld(self, status: int, said: str) -> bool:
        return super().is_withheld(status, said) or (status == 403 and _FLAGGED.search(said) is not None)

    def is_fatal(self, status: int, said: str) -> bool:
        # A model without vision is a 404 for questions with images only.
        return super().is_fatal(status, said) and _NO_IMAGES.search(said) is None
