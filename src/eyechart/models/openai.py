"""OpenAI's chat completions, as OpenAI itself, vLLM, SGLang, LM Studio and many others serve them.

Below, Azure's deployments of OpenAI's models, and OpenRouter, which serves those of many vendors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote

import msgspec

from eyechart.errors import UsageError
from eyechart.models.chat import Attachments, ChatEndpoint, ImageLimits, UsageFields, read_calls
from eyechart.models.environment import ADDRESSES, KEY
from eyechart.models.streams import Event, StreamedAnswer
from eyechart.registry import model
from eyechart.types import Capabilities, Message, Reply, Request

# -- an answer in parts

_SPOKEN = ("content", "reasoning_content", "reasoning", "refusal")


class _Chunks(StreamedAnswer):
    """The chunks of a chat completion."""

    continued = (*_SPOKEN, "arguments")

    def __init__(self) -> None:
        super().__init__()
        self._is_open: dict[int, bool] = {}  # of the choices

    def add(self, event: Event) -> None:
        choices = []
        for said in event.get("choices") or ():
            index, delta = said.get("index") or 0, said.get("delta") or {}
            if isinstance(content := delta.get("content"), list):  # in parts, as some servers answer
                delta = {**delta, "content": _join_parts(content)}
            if not index and isinstance(words := delta.get("content"), str):
                self.texts.append(words)
            called = [call.get("function") or {} for call in delta.get("tool_calls") or ()]
            self.note(*map(delta.get, _SPOKEN), *(one.get("arguments") for one in called))
            role = {} if index in self._is_open else {"role": "assistant"}
            facts = {name: said.get(name) for name in ("finish_reason", "error")}
            choices.append({"index": index, "message": {**role, **delta}, **facts})
            self._is_open[index] = self._is_open.get(index, True) and not said.get("finish_reason")
        self.whole.add(
            {"choices": choices, **{name: event.get(name) for name in ("model", "usage", "error")}}
        )
        self.is_complete = self.is_complete or (bool(self._is_open) and not any(self._is_open.values()))


# -- the provider


@model("openai")
class OpenAI(ChatEndpoint):
    """An OpenAI-compatible endpoint: ``openai/served-name``, with `base_url` for any but OpenAI's own."""

    provider = "openai"
    vendor = "OpenAI"
    server = "an OpenAI-compatible server"
    official_url = "https://api.openai.com/v1"
    path = "/chat/completions"
    key_variable = KEY
    url_variables: ClassVar[tuple[str, ...]] = ADDRESSES
    batch_api: ClassVar[str] = "OpenAIBatches"
    capabilities = Capabilities(is_endpoint=True, takes_urls=True, takes_tools=True)
    streamed = _Chunks
    stream_fields: ClassVar[Mapping[str, Any]] = {"stream": True, "stream_options": {"include_usage": True}}
    # What OpenAI's chat completions and the common servers (vLLM, SGLang) document, less what eyechart sets
    # itself.
    # fmt: off
    parameters = frozenset({
        "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "presence_penalty",
        "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "verbosity",
        "response_format", "service_tier", "user", "store", "metadata", "top_k", "min_p", "top_a",
        "typical_p", "repetition_penalty", "length_penalty", "min_tokens", "ignore_eos", "stop_token_ids",
        "skip_special_tokens", "bad_words", "best_of", "use_beam_search", "chat_template_kwargs",
        "mm_processor_kwargs", "guided_choice", "guided_regex", "guided_json", "structured_outputs",
        "thinking", "enable_thinking", "include_reasoning", "image_detail", "extra_body",
    })
    # fmt: on

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        self._detail = parameters.pop("image_detail", None)  # goes with every image
        fields = super().build_fields(parameters, extra)
        if self.wants_max_completion_tokens and "max_tokens" in fields:
            fields["max_completion_tokens"] = fields.pop("max_tokens")
        return fields

    @property
    def wants_max_completion_tokens(self) -> bool:
        """Whether `max_tokens` goes by the name that OpenAI uses today."""
        return self.is_official

    @property
    def ends_silent_requests(self) -> bool:
        return self.is_official  # others are mostly people's own servers

    @property
    def identity(self) -> Mapping[str, Any]:
        detail = {"image_detail": self._detail} if self._detail else {}
        return {**super().identity, **detail}

    def build_body(self, messages: Sequence[Message], attachments: Attachments) -> dict[str, Any]:
        return {"messages": [self._build_turn(turn, attachments) for turn in messages]}

    def _build_turn(self, turn: Message, attachments: Attachments) -> dict[str, Any]:
        built: dict[str, Any] = {"role": turn.role, "content": self._content(turn, attachments)}
        if turn.calls:
            built["tool_calls"] = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
                for one in turn.calls
            ]
            built["content"] = built["content"] or None
        return built | ({"tool_call_id": turn.answers} if turn.answers else {})

    def build_tools(self, tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"tools": [{"type": "function", "function": dict(tool)} for tool in tools]}

    def _content(self, turn: Message, attachments: Attachments) -> str | list[dict[str, Any]]:
        if all(isinstance(part, str) for part in turn.parts):
            return turn.text
        detail = {"detail": self._detail} if self._detail else {}
        return [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image_url", "image_url": {"url": attachments.url(part), **detail}}
            for part in turn.parts
        ]

    async def replies(self, request: Request, n: int) -> list[Reply]:
        """Ask once for `n` answers. A server that does not know how gives one."""
        return await self.ask(request, {"n": n})

    def read_replies(self, content: bytes, latency_s: float) -> list[Reply]:
        completion = _decode(content)
        self.raise_error(completion.error)
        if not completion.choices:
            raise self.no_reply("without any choice")
        choices = [choice for choice in completion.choices if not choice.error]
        if not choices:
            self.raise_error(completion.choices[0].error)
        replies = [_read_choice(completion, choice, latency_s) for choice in choices]
        answers = [reply for reply in replies if not _is_failure(reply)]
        if not answers:
            reason = replies[0].finish_reason
            nothing = "no content (null)" if reason in ("stop", "") else f"nothing, for the reason {reason!r}"
            raise self.no_reply(f"with {nothing}")
        return answers


# -- what comes back -------------------------------------------------------------------------------
# Only the words decide whether an answer can be read: servers differ in the rest, and an answer that is
# paid for must not be lost to an odd token count.


class _Message(msgspec.Struct):
    content: str | list[str | dict[str, Any]] | None = None
    role: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: Any = None
    error: Any = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: Any = None
    usage: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Completion).decode

_USAGE = UsageFields(
    ("prompt_tokens",),
    ("completion_tokens",),
    reasoning="completion_tokens_details.reasoning_tokens",
    cached="prompt_tokens_details.cached_tokens",
)


def _read_choice(completion: _Completion, choice: _Choice, latency_s: float) -> Reply:
    """One choice, with the thoughts of its text or of a field of their own."""
    message = choice.message
    content = message.content or ""
    if isinstance(content, list):  # some servers answer in parts
        content = _join_parts(content)
    refusal = _text_of(message.refusal)
    # What some official scorers count as a failure: no content in place of an empty one, another role.
    oddities: dict[str, Any] = {} if message.role == "assistant" else {"role": message.role}
    if message.content is None and not refusal:
        oddities["null_content"] = True
    reply = Reply.read(
        content,
        thinking=_text_of(message.reasoning_content) or _text_of(message.reasoning),
        finish_reason=_text_of(choice.finish_reason),
        usage=_USAGE.read(completion.usage),
        model=_text_of(completion.model),
        latency_s=latency_s,
        evidence=oddities,
        calls=read_calls(message.tool_calls),
    )
    is_refused = bool(refusal) and not reply.text
    return replace(reply, text=refusal, finish_reason="refusal") if is_refused else reply


def _join_parts(content: Sequence[str | Mapping[str, Any]]) -> str:
    return "".join(part if isinstance(part, str) else _text_of(part.get("text")) for part in content)


def _text_of(said: object) -> str:
    """A text as it is, and nothing for anything else."""
    return said if isinstance(said, str) else ""


def _is_failure(reply: Reply) -> bool:
    """Whether it is an error in the shape of an answer: aborted, or finished without content."""
    is_null = bool(reply.evidence.get("null_content")) and not reply.thinking and not reply.calls
    return reply.finish_reason in ("error", "abort") or (reply.finish_reason in ("stop", "") and is_null)


# -- Azure, OpenRouter: the same API at other vendors

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
