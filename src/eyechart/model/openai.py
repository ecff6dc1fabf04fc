"""What an OpenAI-compatible server says back: a completion, or an error and how long to wait."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from eyechart.errors import ModelError, UsageError
from eyechart.model import environment
from eyechart.model.http import Broken, Http, Response, Unreachable, check_headers
from eyechart.model.redact import is_no_answer, without_secrets, written_forms
from eyechart.model.specs import proxy_for, refuse_unknown, split_address, without_password
from eyechart.model.thinking import split_thinking
from eyechart.registry import model
from eyechart.types import Capabilities, Image, ImageRef, Message, ModelSettings, Reply, Request, Usage

if TYPE_CHECKING:
    from eyechart.model.proxied import ProxiedHttp


class _Details(msgspec.Struct):
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    completion_tokens_details: _Details | None = None
    prompt_tokens_details: _Details | None = None


# Only the words decide whether an answer can be read: servers differ in the rest, and an answer that is
# paid for must not be lost to an odd token count.
class _Message(msgspec.Struct):
    content: str | list[str | dict[str, Any]] | None = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: Any = None


class Completion(msgspec.Struct):
    """An answer to chat completions."""

    choices: list[_Choice]
    model: Any = None
    usage: Any = None

    def replies(self, *, latency_s: float) -> list[Reply]:
        """Every choice, its thinking kept apart."""
        return [self._reply(choice, latency_s) for choice in self.choices]

    def _reply(self, choice: _Choice, latency_s: float) -> Reply:
        message = choice.message
        text, thinking = split_thinking(_plain(message.content))
        finish_reason = _text_of(choice.finish_reason) or "stop"
        refusal = _text_of(message.refusal)
        if refusal and not text:
            text, finish_reason = refusal, "refusal"
        return Reply(
            text=text,
            thinking=_text_of(message.reasoning_content) or _text_of(message.reasoning) or thinking,
            finish_reason=finish_reason,
            usage=_usage(self.usage),
            model=_text_of(self.model),
            latency_s=latency_s,
            # Some official scorers tell no answer from an empty one.
            evidence={"null_content": True} if message.content is None and not text else {},
        )


_completion = msgspec.json.Decoder(Completion)


def read_completion(content: bytes) -> Completion:
    """Decode a body; what is no completion raises msgspec's `DecodeError`, or `UnicodeDecodeError`."""
    return _completion.decode(content)


def _plain(content: str | list[str | dict[str, Any]] | None) -> str:
    if isinstance(content, list):  # some servers answer in parts
        return "".join(part if isinstance(part, str) else _text_of(part.get("text")) for part in content)
    return content or ""


def _text_of(said: object) -> str:
    """A text as it is, and nothing for anything else."""
    return said if isinstance(said, str) else ""


def _usage(said: Any) -> Usage | None:
    try:
        usage = msgspec.convert(said, _Usage, strict=False)
    except msgspec.ValidationError:
        return None
    completion, prompt = usage.completion_tokens_details, usage.prompt_tokens_details
    return Usage(
        prompt_tokens=usage.prompt_tokens or 0,
        completion_tokens=usage.completion_tokens or 0,
        reasoning_tokens=(completion.reasoning_tokens if completion else 0) or 0,
        cached_tokens=(prompt.cached_tokens if prompt else 0) or 0,
    )


def error_text(content: bytes) -> str:
    """What an error body says, whatever its shape, on one line."""
    try:
        decoded = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = content.decode("utf-8", errors="replace")
    else:
        error = decoded.get("error", decoded) if isinstance(decoded, dict) else decoded
        if isinstance(error, dict):
            words = [error.get(name) for name in ("message", "code", "detail")]
            error = " / ".join(str(word) for word in words if word) or error
        text = str(error)
    return " ".join(text.split())


def shortened(text: str) -> str:
    """As much of what a server said as a message can hold."""
    return (text[:300] + " …" if len(text) > 300 else text) or "(no explanation)"


def retry_after_s(said: str) -> float | None:
    """Seconds to wait, from a header that holds seconds or a date."""
    said = said.strip()
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(said)
    except (ValueError, OverflowError):
        return None
    if until.tzinfo is None:  # the date's own way of saying UTC
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


# -- The body of a request, made of pieces: pictures go from memory to the socket as they are.
#
# A picture's base64 text needs no JSON escaping, so it never passes through an encoder. The words around it
# are encoded with a mark in its place, and cut at the marks.

_encode = msgspec.json.Encoder().encode
_MARK = b"\0"  # stands in no JSON: in a text it would be escaped
_PICTURE = msgspec.Raw(_MARK)


class Bodies:
    """Makes the bodies for one model: what is the same in all of them is encoded once."""

    def __init__(self, fields: Mapping[str, Any], detail: Any = None) -> None:
        self._detail = detail
        self._fields = fields
        self._head = _head_of(fields)

    def pieces(self, messages: Sequence[Message], more: Mapping[str, Any]) -> list[bytes]:
        """The body for these messages, `more` being fields of this request alone."""
        pictures: list[Image] = []
        turns = [{"role": turn.role, "content": self._content(turn, pictures)} for turn in messages]
        words = _encode(turns).split(_MARK)
        is_special = not more.keys().isdisjoint(self._fields)
        head = _head_of({**self._fields, **more}) if is_special else self._head
        pieces = [head, words[0]]
        for picture, after in zip(pictures, words[1:], strict=True):
            pieces += (b'"data:%s;base64,' % picture.mime.encode(), picture.base64, b'"', after)
        pieces.append(b"," + _encode(more)[1:] if more and not is_special else b"}")
        return pieces

    def _content(self, message: Message, pictures: list[Image]) -> str | list[dict[str, Any]]:
        parts = message.parts
        if all(isinstance(part, str) for part in parts):
            return message.text
        return [
            {"type": "text", "text": part} if isinstance(part, str) else self._picture(part, pictures)
            for part in parts
        ]

    def _picture(self, image: Image | ImageRef, pictures: list[Image]) -> dict[str, Any]:
        address: str | msgspec.Raw = _PICTURE
        if isinstance(image, Image):
            pictures.append(image)
        else:
            assert image.kind == "url", "the engine loads all other pictures before it asks"
            address = image.location
        url = {"url": address, "detail": self._detail} if self._detail else {"url": address}
        return {"type": "image_url", "image_url": url}


def _head_of(fields: Mapping[str, Any]) -> bytes:
    """All before the messages, which are the run's own whatever an `extra_body` says."""
    others = {name: value for name, value in fields.items() if name != "messages"}
    return _encode(others)[:-1] + b',"messages":'


# -- Any endpoint that speaks OpenAI's chat completions: OpenAI itself, vLLM, SGLang, LM Studio and so on.
#
# Requests go over kept-alive connections. Retries, pace and patience are the engine's business: here an error
# is only named.

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
GIVEN_UP = frozenset({"error", "abort"})
MOVED = frozenset({301, 302, 303, 307, 308})
FATAL = frozenset({401, 403, 404}) | MOVED
NOT_IMPLEMENTED = frozenset({501, 505})  # said of the request itself: it will not be answered later

# An unknown model is HTTP 404 at most servers; LiteLLM, OpenRouter, DeepSeek and Mistral say 400.
_UNKNOWN_MODEL = re.compile(
    r"model_not_found|\b(?:invalid|unknown|no such|not a valid) model(?: name| id)?\b"
    r"(?! (?:param|arg|in|out))|\bmodel\b[^.]{0,80}\b(?:not exist|not found)",
    re.IGNORECASE,
)
# llama.cpp answers every image with HTTP 500 where it has no projector.
_UNSUPPORTED = re.compile(r"\b(?:is|are) not supported\b|\bdoes not support\b|\bunsupported\b", re.IGNORECASE)


NOTHING_MORE: Mapping[str, Any] = MappingProxyType({})


@model("openai")
def openai(name: str, settings: ModelSettings) -> OpenAIModel:
    """An OpenAI-compatible endpoint: ``openai/served-name``, with `base_url` for any but OpenAI's own."""
    base_url = normal_base_url(str(settings.base_url or environment.address() or OFFICIAL))
    api_key = (settings.api_key or environment.key() or "").strip() or None
    if not settings.base_url:
        environment.refuse_foreign_key(api_key)
    if api_key is None and _is_official(base_url):
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
    parts = split_address(url.strip())
    if parts is None:
        shown = url.strip().rpartition("@")[2].partition("?")[0]  # neither a password nor a query
        raise UsageError(f"the endpoint's address {shown!r} is not a URL", hint=f"write {_as_url(shown)}")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            "the endpoint's address holds a password or a query",
            hint="addresses are kept in the run folder: give the key as OPENAI_API_KEY or --api-key instead",
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _is_official(base_url: str) -> bool:
    return urlsplit(base_url).hostname == urlsplit(OFFICIAL).hostname


class OpenAIModel:
    """One served model at one endpoint."""

    capabilities = Capabilities(is_endpoint=True, takes_urls=True)

    def __init__(self, name: str, base_url: str, api_key: str | None, settings: ModelSettings) -> None:
        self.name = f"openai/{name}"
        self._base_url = base_url
        self._url = f"{base_url}/chat/completions"
        self._key_forms = written_forms(api_key) if api_key else ()
        self._is_key_in_no_answer = api_key is not None and is_no_answer(api_key)
        self._parameters = dict(settings.parameters)
        self._http: Http | ProxiedHttp | None = None
        self._headers = {"Content-Type": "application/json", "Accept": "*/*", "User-Agent": "eyechart"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        check_headers(self._headers)  # a key that cannot be sent is told before anything is begun
        self._proxy = proxy_for(base_url)
        self._detail = self._parameters.pop("image_detail", None)
        extra = self._parameters.pop("extra_body", None) or {}
        if not isinstance(extra, Mapping):
            raise UsageError("extra_body holds names and values", hint="write --param extra_body.NAME=VALUE")
        fields = {"model": name, **self._parameters, **extra}
        if _is_official(base_url) and "max_tokens" in fields:
            fields["max_completion_tokens"] = fields.pop("max_tokens")  # what OpenAI calls it today
        self._fields = fields
        self._bodies = Bodies(fields, self._detail)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Endpoint and parameters; the key is not among them."""
        detail = {"image_detail": self._detail} if self._detail else {}
        return {"endpoint": self._base_url, **without_secrets(self._fields), **detail}

    async def reply(self, request: Request) -> Reply:
        """Ask once."""
        return (await self._post(request, NOTHING_MORE))[0]

    async def replies(self, request: Request, n: int) -> list[Reply]:
        """Ask once for `n` answers. A server that does not know how gives one."""
        return await self._post(request, {"n": n})

    async def _post(self, request: Request, fields: Mapping[str, Any]) -> list[Reply]:
        pieces = self._bodies.pieces(request.messages, fields)
        start = time.perf_counter()
        try:
            response = await self._connected().post(pieces)
        except Unreachable as err:
            why = _reason(err)
            is_ours = os.strerror(errno.EMFILE) in why
            raise ModelError(
                f"cannot connect to {self._base_url}: {why}",
                hint="allow more with ulimit -n, or ask fewer at once with --concurrency"
                if is_ours
                else "is the server running? --base-url names another address",
                is_retryable=True,
                is_unreachable=True,
            ) from err
        except Broken as err:
            raise ModelError(f"no answer from {self._base_url}: {_reason(err)}", is_retryable=True) from err
        if response.status != 200:
            raise self._refusal(response)
        return self._read(response.content, latency_s=time.perf_counter() - start)

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    def _connected(self) -> Http | ProxiedHttp:
        if self._http is None:
            self._http = self._connect()
        return self._http

    def _connect(self) -> Http | ProxiedHttp:
        if self._proxy is None:
            return Http(self._url, self._headers)
        from eyechart.model.proxied import ProxiedHttp

        return ProxiedHttp(self._url, self._headers, self._proxy)

    def _read(self, content: bytes, *, latency_s: float) -> list[Reply]:
        try:
            completion = read_completion(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
            said = shortened(self._without_key(error_text(content)))
            raise ModelError(
                f"{self._base_url} answered with something that is not a chat completion ({err}): {said}",
                hint="does the address point at an OpenAI-compatible server?",
                is_retryable=True,
            ) from err
        if not completion.choices:
            raise ModelError(f"{self._base_url} answered without any choice", is_retryable=True)
        replies = completion.replies(latency_s=latency_s)
        if self._is_key_in_no_answer:
            replies = [self._cleaned(reply) for reply in replies]
        answers = [reply for reply in replies if not _is_failure(reply)]
        if not answers:
            reason = replies[0].finish_reason
            why = "no content (null)" if reason == "stop" else f"nothing, for the reason {reason!r}"
            raise ModelError(f"{self._base_url} answered with {self._without_key(why)}", is_retryable=True)
        return answers

    def _without_key(self, text: str) -> str:
        """What a server said, in case it repeats the key to us."""
        for form in self._key_forms:
            text = text.replace(form, "[key]")
        return text

    def _cleaned(self, reply: Reply) -> Reply:
        """The same for an answer, of which nearly none needs it."""
        said = (reply.text, reply.thinking, reply.model, reply.finish_reason)
        if not any(form in one for form in self._key_forms for one in said):
            return reply
        text, thinking, model, finish_reason = map(self._without_key, said)
        return replace(reply, text=text, thinking=thinking, model=model, finish_reason=finish_reason)

    def _refusal(self, response: Response) -> ModelError:
        status = response.status
        said = self._without_key(error_text(response.content))
        out_of_credit = "insufficient_quota" in said
        is_unknown = status in (400, 422) and _UNKNOWN_MODEL.search(said) is not None
        is_permanent = status in NOT_IMPLEMENTED or (status >= 500 and _UNSUPPORTED.search(said) is not None)
        hint = {
            401: "check the key (OPENAI_API_KEY or --api-key)",
            403: "the key is not allowed to use this model",
            404: self._hint_for_404(),
        }.get(status, "")
        if is_unknown:
            hint = f"check the model's name: {self._base_url}/models lists those that are served"
        if status in MOVED:
            said = f"moved to {self._without_key(response.headers.get('location', 'nowhere'))}"
            hint = "give the new address with --base-url: keys are not carried from one place to another"
        return ModelError(
            f"HTTP {status} from {self._base_url}: {shortened(said)}",
            hint="the account has no credit left" if out_of_credit else hint,
            status=status,
            is_retryable=(status in RETRYABLE or status >= 500) and not (out_of_credit or is_permanent),
            is_fatal=status in FATAL or out_of_credit or is_unknown,
            retry_after_s=retry_after_s(response.headers.get("retry-after", "")),
        )

    def _hint_for_404(self) -> str:
        hint = f"check the model's name and the address: requests go to {self._url}"
        if not urlsplit(self._base_url).path:  # as good as every server has its API below a path
            return f"{hint}. Is /v1 missing? Try --base-url {self._base_url}/v1"
        return hint


def _as_url(text: str) -> str:
    """What was probably meant by an address without a scheme; an example where nothing can be guessed.

    >>> _as_url("localhost:8000"), _as_url("localhost:8000/v1"), _as_url("ftp://host/v1")
    ('http://localhost:8000/v1', 'http://localhost:8000/v1', 'it like http://localhost:8000/v1')
    """
    host, _, path = text.partition("/")
    if not re.fullmatch(r"[\w.-]+(:\d+)?", host, re.ASCII):
        return "it like http://localhost:8000/v1"
    return f"http://{host}/{path or 'v1'}"


def _reason(err: BaseException) -> str:
    return without_password(" ".join(str(err).split())) or type(err).__name__


def _is_failure(reply: Reply) -> bool:
    """Whether it is an error in the shape of an answer: given up on the way, or done without a word."""
    is_null = bool(reply.evidence.get("null_content")) and not reply.thinking
    return reply.finish_reason in GIVEN_UP or (reply.finish_reason == "stop" and is_null)
