"""Any endpoint that speaks OpenAI's chat completions: OpenAI itself, vLLM, SGLang, LM Studio and so on.

Requests go over kept-alive connections. A picture's base64 text is placed into the body as it is, never
through a JSON encoder. Retries are the engine's business: here an error is only named.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from eyechart.errors import ModelError, UsageError
from eyechart.model.specs import refuse_unknown
from eyechart.model.thinking import split_thinking
from eyechart.registry import model
from eyechart.types import Image, Message, ModelSettings, Reply, Request, Usage

if TYPE_CHECKING:
    import aiohttp

OFFICIAL = "https://api.openai.com/v1"

# What OpenAI's chat completions and the common servers (vLLM, SGLang) document, less what eyechart sets
# itself. `extra_body` carries anything else.
# fmt: off
PARAMETERS = frozenset({
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "presence_penalty",
    "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "verbosity",
    "response_format", "service_tier", "user", "store", "metadata", "top_k", "min_p", "top_a", "typical_p",
    "repetition_penalty", "length_penalty", "min_tokens", "ignore_eos", "stop_token_ids",
    "skip_special_tokens", "bad_words", "best_of", "use_beam_search", "chat_template_kwargs",
    "mm_processor_kwargs", "guided_choice", "guided_regex", "guided_json", "structured_outputs",
    "thinking", "enable_thinking", "include_reasoning", "image_detail", "extra_body",
})
# fmt: on
RETRYABLE = frozenset({408, 409, 425, 429})
FATAL = frozenset({401, 403, 404})


class _Details(msgspec.Struct):
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    completion_tokens_details: _Details | None = None
    prompt_tokens_details: _Details | None = None


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


_completion = msgspec.json.Decoder(_Completion)
_encode = msgspec.json.Encoder().encode


@model("openai")
def openai(name: str, settings: ModelSettings) -> OpenAIModel:
    """An OpenAI-compatible endpoint: ``openai/served-name``, with `base_url` for any but OpenAI's own."""
    given = settings.base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    base_url = normal_base_url(given or OFFICIAL)
    api_key = settings.api_key or os.environ.get("OPENAI_API_KEY") or None
    if api_key is None and base_url == OFFICIAL:
        raise UsageError(
            "no key for OpenAI's endpoint",
            hint="set OPENAI_API_KEY (a .env file will do), or name your own server with --base-url",
        )
    refuse_unknown(
        set(settings.parameters),
        set(PARAMETERS),
        who=f"openai/{name}",
        hint="To send a parameter that only your server knows: --param extra_body.NAME=VALUE",
    )
    return OpenAIModel(name, base_url, api_key, settings)


def normal_base_url(url: str) -> str:
    """The base of an endpoint, however people write it.

    >>> normal_base_url("http://localhost:8000/v1/chat/completions")
    'http://localhost:8000/v1'
    """
    base = url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{url!r} is not the address of an endpoint", hint="write it like http://localhost:8000/v1"
        )
    if parts.username or parts.password or parts.query:
        raise UsageError(
            "the endpoint's address holds a password or a query",
            hint="addresses are kept in the run folder: give the key as OPENAI_API_KEY or --api-key instead",
        )
    return base


class OpenAIModel:
    """One served model at one endpoint."""

    def __init__(self, name: str, base_url: str, api_key: str | None, settings: ModelSettings) -> None:
        self.name = f"openai/{name}"
        self._base_url = base_url
        self._url = f"{base_url}/chat/completions"
        self._timeout_s = settings.timeout_s
        self._api_key = api_key
        self._parameters = dict(settings.parameters)
        self._session: aiohttp.ClientSession | None = None
        self._proxy = _proxy_for(base_url)
        self._detail = self._parameters.pop("image_detail", None)
        fields = {"model": name, **self._parameters, **dict(self._parameters.get("extra_body") or {})}
        fields.pop("extra_body", None)
        if base_url == OFFICIAL and "max_tokens" in fields:
            fields["max_completion_tokens"] = fields.pop("max_tokens")  # what OpenAI calls it today
        self._fields = fields

    @property
    def identity(self) -> Mapping[str, Any]:
        """Endpoint and parameters; the key is not among them."""
        detail = {"image_detail": self._detail} if self._detail else {}
        return {"endpoint": self._base_url, **self._fields, **detail}

    async def reply(self, request: Request) -> Reply:
        """Ask once."""
        import aiohttp

        body = self._body(request.messages)
        start = time.perf_counter()
        try:
            async with self._connected().post(self._url, data=body, proxy=self._proxy) as response:
                content = await response.read()
                if response.status != 200:
                    raise self._refusal(response.status, response.headers, content)
        except aiohttp.ClientConnectorError as err:
            raise ModelError(
                f"cannot connect to {self._base_url}: {_reason(err)}",
                hint="is the server running? --base-url names another address",
                is_retryable=True,
                is_unreachable=True,
            ) from err
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as err:
            raise ModelError(f"no answer from {self._base_url}: {_reason(err)}", is_retryable=True) from err
        return self._read(content, latency_s=time.perf_counter() - start)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp

            headers = {"Content-Type": "application/json", "User-Agent": "eyechart"}
            if self._api_key:
                headers["Authorization"] = f"Bearer {self._api_key}"
            self._session = aiohttp.ClientSession(
                # The engine bounds what is in flight; a second bound here could only get in its way.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=60),
                timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=30),
                headers=headers,
            )
        return self._session

    def _body(self, messages: Sequence[Message]) -> bytes:
        turns = [{"role": turn.role, "content": self._content(turn)} for turn in messages]
        return _encode({**self._fields, "messages": turns})

    def _content(self, message: Message) -> str | list[dict[str, Any]]:
        if not message.images:
            return message.text
        return [
            {"type": "text", "text": p} if isinstance(p, str) else self._picture(p) for p in message.parts
        ]

    def _picture(self, image: object) -> dict[str, Any]:
        assert isinstance(image, Image), "the engine loads pictures before it asks"
        # Base64 text needs no JSON escaping, so it goes in as it is: one copy, no encoder.
        url: dict[str, Any] = {
            "url": msgspec.Raw(b'"data:%s;base64,%s"' % (image.mime.encode(), image.base64))
        }
        if self._detail:
            url["detail"] = self._detail
        return {"type": "image_url", "image_url": url}

    def _read(self, content: bytes, *, latency_s: float) -> Reply:
        try:
            completion = _completion.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError) as err:
            raise ModelError(
                f"{self._base_url} answered with something that is not a chat completion: {err}",
                hint="does the address point at an OpenAI-compatible server?",
                is_retryable=True,
            ) from err
        if not completion.choices:
            raise ModelError(f"{self._base_url} answered without any choice", is_retryable=True)
        choice = completion.choices[0]
        text, thinking = split_thinking(_plain(choice.message.content))
        finish_reason = choice.finish_reason or "stop"
        if choice.message.refusal and not text:
            text, finish_reason = choice.message.refusal, "refusal"
        return Reply(
            text=text,
            thinking=choice.message.reasoning_content or choice.message.reasoning or thinking,
            finish_reason=finish_reason,
            usage=_usage(completion.usage),
            model=completion.model or "",
            latency_s=latency_s,
        )

    def _refusal(self, status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
        said = _error_text(content)
        if self._api_key:
            said = said.replace(self._api_key, "[key]")
        out_of_credit = "insufficient_quota" in said
        hint = {
            401: "check the key (OPENAI_API_KEY or --api-key)",
            403: "the key is not allowed to use this model",
            404: f"check the model's name and the address: requests go to {self._url}",
        }.get(status, "")
        return ModelError(
            f"HTTP {status} from {self._base_url}: {said}",
            hint="the account has no credit left" if out_of_credit else hint,
            status=status,
            is_retryable=(status in RETRYABLE or status >= 500) and not out_of_credit,
            is_fatal=status in FATAL or out_of_credit,
            retry_after_s=_retry_after(headers),
        )


def _plain(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):  # some servers answer in parts
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content or ""


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    completion, prompt = usage.completion_tokens_details, usage.prompt_tokens_details
    return Usage(
        prompt_tokens=usage.prompt_tokens or 0,
        completion_tokens=usage.completion_tokens or 0,
        reasoning_tokens=(completion.reasoning_tokens if completion else 0) or 0,
        cached_tokens=(prompt.cached_tokens if prompt else 0) or 0,
    )


def _error_text(content: bytes) -> str:
    """What an error body says, whatever its shape, on one line of bearable length."""
    try:
        decoded = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = content.decode("utf-8", errors="replace")
    else:
        error = decoded.get("error", decoded) if isinstance(decoded, dict) else decoded
        if isinstance(error, dict):
            words = [error.get(name) for name in ("message", "code", "detail")]
            error = " / ".join(str(word) for word in words if word) or error
        text = str(error)
    text = " ".join(text.split())
    return (text[:300] + " …" if len(text) > 300 else text) or "(no explanation)"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from a header that holds seconds or a date."""
    said = headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    if until.tzinfo is None:  # the date's own way of saying UTC
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _reason(err: BaseException) -> str:
    return " ".join(str(err).split()) or type(err).__name__


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment asks for; looked up once, since asking costs more than a request."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)
