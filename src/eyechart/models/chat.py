"""Models behind an HTTP API: the base class of providers.

`ChatEndpoint` sends a request over kept-alive connections, reads the reply and classifies errors. A provider
is a subclass that states how its API differs: URL, headers, how messages are encoded (`build_body`), how an
answer is read (`read_replies`), and what an error means where the usual rules do not fit. Retries, rate
limits and budgets are the engine's.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import json
import math
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from eyechart.errors import ModelError, UsageError, join_names
from eyechart.models import environment
from eyechart.models.http import OK, Broken, Http, Response, Unreachable, check_headers
from eyechart.models.redact import Secrets, is_unlike_answers, redact_parameters
from eyechart.models.specs import find_proxy, refuse_unknown, split_address, strip_password
from eyechart.models.streams import MALFORMED, StreamedAnswer
from eyechart.registry import suggest_name
from eyechart.types import (
    Capabilities,
    Image,
    ImageRef,
    Message,
    ModelSettings,
    Reply,
    Request,
    ToolCall,
    Usage,
)

_encode = msgspec.json.Encoder().encode
_MARK = b"\0"  # never occurs in JSON: in a string it is escaped
NOTHING: Mapping[str, Any] = MappingProxyType({})

# An answer of more tokens may take more than ten minutes, at the speed that Anthropic's client reckons with.
MAX_SILENT_TOKENS = 21_333
_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_RETRYABLE = frozenset({408, 409, 425, 429})
_MOVED = frozenset({301, 302, 303, 307, 308})
_FATAL = frozenset({401, 403, 404}) | _MOVED
_LISTING_S, _MAX_LISTING = 5.0, 1_000_000  # for the list of a server's models: seconds, bytes
_NOT_IMPLEMENTED = frozenset({501, 505})  # about the request itself: a retry would fail, too
_STATUS = re.compile("[45][0-9][0-9]")  # of the answer itself, which is told already
_RETRY_SAYS = {"true": True, "false": False}  # of x-should-retry, which OpenAI and Anthropic send

# An unknown model is HTTP 404 at most servers; LiteLLM, OpenRouter, DeepSeek and Mistral say 400.
_UNKNOWN_MODEL = re.compile(
    r"model_not_found|\b(?:invalid|unknown|no such|not a valid) model(?: name| id)?\b"
    r"(?! (?:param|arg|in|out))|\bmodel\b[^.]{0,80}\b(?:not exist|not found)",
    re.IGNORECASE,
)
# llama.cpp answers every image with HTTP 500 where it has no projector.
_UNSUPPORTED = re.compile(r"\b(?:is|are) not supported\b|\bdoes not support\b|\bunsupported\b", re.IGNORECASE)


# OpenAI's and Azure's code, and Anthropic's words.
_FILTERED = re.compile("content_filter|blocked by content filtering")


class Attachments:
    """The images of one request body.

    Base64 text needs no JSON escaping, so it never passes through an encoder: the body is encoded with a mark
    in place of each image, split at the marks, and the images go from memory to the socket as they are.
    """

    __slots__ = ("slots",)

    def __init__(self) -> None:
        self.slots: list[tuple[bytes, bytes]] = []  # the text before an image, and its base64

    def url(self, image: Image | ImageRef) -> str | msgspec.Raw:
        """A ``data:`` URL; the URL itself of an image that is passed by URL."""
        if isinstance(image, Image):
            self.slots.append((b'"data:%s;base64,' % image.mime.encode(), image.base64))
            return msgspec.Raw(_MARK)
        assert image.kind == "url", "the engine loads all other images before it asks"
        return image.location

    def base64(self, image: Image | ImageRef) -> msgspec.Raw:
        """The base64 text alone, for APIs that take no URLs."""
        assert isinstance(image, Image), "only a model that states takes_urls is given URLs"
        self.slots.append((b'"', image.base64))
        return msgspec.Raw(_MARK)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLimits:
    """What an API documents about the images it takes. A request beyond that is refused before it is sent.

    Images are never resized for it: that would change what is measured. The message names the run's option
    that makes the image fit.
    """

    formats: frozenset[str] = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif"})
    max_images: int | None = None  # per request
    max_side: int | None = None  # pixels
    many_images: int | None = None  # with more images than this, `max_side_of_many` applies
    max_side_of_many: int | None = None
    max_bytes: int | None = None  # of an image's file
    max_body_bytes: int | None = None  # of a request

    def find_problem(self, images: Sequence[Image], body_bytes: int) -> tuple[str, str] | None:
        """What is beyond the limits, and what to do about it; None if nothing is."""
        if self.max_images is not None and len(images) > self.max_images:
            return f"{len(images):,} images, and {self.max_images:,} per request are accepted", "send fewer"
        is_many = self.many_images is not None and len(images) > self.many_images
        max_side = self.max_side_of_many if is_many else self.max_side
        for image in images:
            what = image.origin or "an image"
            if image.mime not in self.formats:
                return f"{what} is {image.mime}, which is not accepted", "--jpeg-quality 95 sends JPEG"
            if max_side is not None and max(image.width, image.height) > max_side:
                said = (
                    f"{what} has {image.width} x {image.height} pixels, and {max_side} per side are accepted"
                )
                said += f" in requests with more than {self.many_images} images" if is_many else ""
                return said, f"--max-side {max_side} shrinks larger images"
            if self.max_bytes is not None and image.n_bytes > self.max_bytes:
                said = f"{what} has {image.n_bytes:,} bytes, and {self.max_bytes:,} are accepted"
                return said, "--jpeg-quality or --max-pixels makes images smaller"
        if self.max_body_bytes is not None and body_bytes > self.max_body_bytes:
            said = f"the request has {body_bytes:,} bytes, and {self.max_body_bytes:,} are accepted"
            return said, "--jpeg-quality or --max-pixels makes images smaller"
        return None


class ChatEndpoint(ABC):
    """One served model at one URL. A provider sets the attributes and the first group of methods."""

    provider: ClassVar[str]  # as in provider/name
    vendor: ClassVar[str]  # for messages
    official_url: ClassVar[str]  # used if no URL is given; needs a key
    path: ClassVar[str]  # below the base URL; {model} stands for the model's name
    key_variable: ClassVar[str]
    other_key_variables: ClassVar[tuple[str, ...]] = ()  # looked up if the first is not set
    url_variables: ClassVar[tuple[str, ...]] = ()
    url_version: ClassVar[str] = ""  # ends the base URL; the vendor's own clients take it without
    parameters: ClassVar[frozenset[str]]  # sent as they are; anything else goes into `extra_body`
    server: ClassVar[str] = "a server of this API"
    out_of_credit: ClassVar[re.Pattern[str]] = re.compile("insufficient_quota")
    limits: ClassVar[ImageLimits | None] = None
    batch_api: ClassVar[str] = ""  # the class in models/batch.py; empty: it has none
    max_temperature: ClassVar[float] = 2.0
    error_words: ClassVar[tuple[str, ...]] = ("message", "code", "detail")  # what an error says of itself
    streamed: ClassVar[type[StreamedAnswer] | None] = (
        None  # how an answer is joined; None: it does not stream
    )
    stream_path: ClassVar[str] = ""  # where streams are asked for, if not at `path`
    stream_fields: ClassVar[Mapping[str, Any]] = MappingProxyType({"stream": True})
    capabilities = Capabilities(is_endpoint=True, takes_urls=True)

    # -- what a provider defines

    @abstractmethod
    def build_body(self, messages: Sequence[Message], attachments: Attachments) -> dict[str, Any]:
        """The fields of the body that hold the conversation."""

    @abstractmethod
    def read_replies(self, content: bytes, latency_s: float) -> list[Reply]:
        """The replies in a response with status 200.

        Malformed content may raise `DecodeError`, `KeyError` and the like; a response without a usable reply
        raises `self.no_reply(...)`.
        """

    def build_tools(self, tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The fields that offer tools, for an API whose `capabilities` say that it takes them."""
        raise NotImplementedError

    def build_headers(self, api_key: str | None) -> dict[str, str]:
        """The header with the key, and others that the API requires."""
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that are the same in every body."""
        return {"model": self.model, **parameters, **extra}

    @classmethod
    def is_official_host(cls, host: str) -> bool:
        """Whether it is the vendor's own, which requires a key."""
        return host == urlsplit(cls.official_url).hostname

    def find_url(self) -> str | None:
        """The base URL that the environment names, if it does."""
        return environment.find_address(self.url_variables)

    @property
    def ends_silent_requests(self) -> bool:
        """Whether the endpoint, or what lies before it, ends requests on which nothing comes for minutes."""
        return True

    def build_url(self) -> str:
        """Where requests go."""
        path = (self.stream_path if self.streams else "") or self.path
        return self.base_url + path.format(model=quote(self.model, safe="/:@"))

    def read_error(self, content: bytes) -> str:
        """The message in an error body of any shape, on one line."""
        try:
            decoded = msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = content.decode("utf-8", errors="replace")
        else:
            error = decoded.get("error", decoded) if isinstance(decoded, dict) else decoded
            if isinstance(error, dict):
                words = [str(error.get(name) or "") for name in self.error_words]
                words = [word for word in words if word and not _STATUS.fullmatch(word)]
                error = " / ".join(words) or error
            text = str(error)
        return " ".join(text.split())

    def is_retryable(self, status: int, said: str) -> bool:
        """Whether the same request may succeed later."""
        is_permanent = status in _NOT_IMPLEMENTED or (status >= 500 and _UNSUPPORTED.search(said) is not None)
        return (status in _RETRYABLE or status >= 500) and not is_permanent

    def is_unknown_model(self, status: int, said: str) -> bool:
        """Whether the error means that the endpoint does not serve this model."""
        return status in (400, 422) and _UNKNOWN_MODEL.search(said) is not None

    def is_fatal(self, status: int, said: str) -> bool:
        """Whether no other request can succeed either."""
        return status in _FATAL

    def is_wrong_key(self, status: int, said: str) -> bool:
        """Whether the error means that the key is not valid."""
        return status == 401

    def is_withheld(self, status: int, said: str) -> bool:
        """Whether the error means that a content filter stopped the request: an outcome, not a failure."""
        return status == 400 and _FILTERED.search(said) is not None

    def retry_after_s(self, response: Response) -> float | None:
        """How long the server asks to wait, if it does; in milliseconds it is more precise."""
        if (precise_ms := read_retry_after_s(response.headers.get("retry-after-ms", ""))) is not None:
            return precise_ms / 1000
        return read_retry_after_s(response.headers.get("retry-after", ""))

    # -- construction

    def __init__(self, name: str, settings: ModelSettings) -> None:
        self.model = name
        self.name = f"{self.provider}/{name}"
        url = settings.base_url or self.find_url() or self.official_url
        self.base_url = self.normalise_url(str(url))
        self.is_official = self.is_official_host(urlsplit(self.base_url).hostname or "")
        key_variables = (self.key_variable, *self.other_key_variables)
        key_found = next(filter(None, map(environment.find_key, key_variables)), None)
        api_key = (settings.api_key or key_found or "").strip() or None
        if not settings.base_url:
            environment.refuse_foreign_key(api_key, self.url_variables)
        if api_key is None and self.is_official:
            raise UsageError(
                f"no API key for {self.vendor}'s endpoint",
                hint=f"set {self.key_variable} (in the environment or a .env file), "
                "or name your own server with --base-url",
            )
        parameters = dict(settings.parameters)
        refuse_unknown(
            set(parameters),
            {*self.parameters, "extra_body", *(("ignore_limits",) if self.limits else ())},
            who=self.name,
            hint="To send a parameter that only your server knows: --param extra_body.NAME=VALUE",
        )
        extra = parameters.pop("extra_body", None) or {}
        if not isinstance(extra, Mapping):
            raise UsageError("extra_body must be a mapping", hint="write --param extra_body.NAME=VALUE")
        # Changes no answer, so it is not part of the identity.
        self._limits = None if parameters.pop("ignore_limits", False) else self.limits
        self._fields = self.build_fields(dict(parameters), extra)
        self._parameters, self._extra = parameters, extra
        self._encoded = {name: msgspec.Raw(_encode(value)) for name, value in self._fields.items()}
        self.streams = self._choose_streaming(settings)
        self._url = self.build_url()
        self.headers = {"Content-Type": "application/json", "Accept": "*/*", "User-Agent": "eyechart"}
        self.headers |= self.build_headers(api_key)
        check_headers(self.headers)  # refuse a key that cannot be sent before anything starts
        self._secrets = Secrets({"api_key": api_key}, mark="[key]")  # some servers repeat it
        self._is_key_in_no_answer = is_unlike_answers(api_key or "")
        self.proxy = find_proxy(self.base_url)
        self._http: Http | None = None
        self._served: list[str] = []  # the names of its models, asked for where ours is unknown
        self._last_server_error = ""  # explains why a server can no longer be reached

    def _choose_streaming(self, settings: ModelSettings) -> bool:
        """Whether replies arrive in parts: as the run says, or because one may take very long."""
        if self.streamed is None:
            if settings.stream:
                raise UsageError(f"{self.name} does not stream", hint="leave out --stream")
            return False
        limits = [fields.get(name) for fields in (self._fields, self._parameters) for name in _LENGTHS]
        longest = max((limit for limit in limits if isinstance(limit, int)), default=0)
        return settings.stream or (longest > MAX_SILENT_TOKENS and self.ends_silent_requests)

    @classmethod
    def normalise_url(cls, url: str) -> str:
        """The base URL of an endpoint, written with or without the path of the requests."""
        parts = split_address(url.strip())
        if parts is None:
            shown = url.strip().rpartition("@")[2].partition("?")[0]  # neither a password nor a query
            host, _, below = shown.partition("/")
            is_host = re.fullmatch(r"[\w.-]+(:\d+)?", host, re.ASCII)  # without a scheme
            meant = f"http://{host}/{below or 'v1'}" if is_host else "it like http://localhost:8000/v1"
            raise UsageError(f"the endpoint {shown!r} is not a URL", hint=f"write {meant}")
        if parts.username is not None or parts.query or parts.fragment:
            raise UsageError(
                "the endpoint's URL holds a password or a query",
                hint=f"URLs are stored in the run folder: give the key as {cls.key_variable} or --api-key",
            )
        path = parts.path.rstrip("/").removesuffix(cls.path).rstrip("/")
        if cls.url_version and not re.search(r"/v\d+\w*$", path):
            path = f"{path}/{cls.url_version}"
        return urlunsplit((parts.scheme, parts.netloc, path, "", ""))

    @property
    def identity(self) -> Mapping[str, Any]:
        """Endpoint, model and parameters; the key is not among them."""
        return {"endpoint": self.base_url, "model": self.model, **redact_parameters(self._fields)}

    # -- requests

    async def reply(self, request: Request) -> Reply:
        return (await self.ask(request))[0]

    async def ask(self, request: Request, more: Mapping[str, Any] = NOTHING) -> list[Reply]:
        """Send one request, with `more` fields in its body; returns at least one reply."""
        answer = self.streamed() if self.streams and self.streamed is not None else None
        pieces = self.encode_request(request, more if answer is None else {**more, **self.stream_fields})
        start = time.perf_counter()
        http = self._http = self._http or Http(self._url, self.headers, self.proxy)
        try:
            response = await http.post(pieces, None if answer is None else answer.feed)
        except Unreachable as err:
            why, hint = _reason(err), "is the server running? --base-url names another one"
            if os.strerror(errno.EMFILE) in why:
                hint = "raise the limit with ulimit -n, or lower --concurrency"
            elif self._last_server_error:
                why += f", after the server had answered {self._last_server_error}"
                hint = "the server has probably crashed: see its log"
            what = f"cannot connect to {self.base_url}: {why}"
            raise ModelError(what, hint=hint, is_retryable=True, is_unreachable=True) from err
        except asyncio.CancelledError:
            if answer is not None:
                answer.leave(self._secrets.hide(answer.text))
            raise
        except Broken as err:
            if answer is not None and answer.has_events:
                raise self._build_cut(answer, _reason(err)) from err
            raise ModelError(f"no response from {self.base_url}: {_reason(err)}", is_retryable=True) from err
        latency_s = time.perf_counter() - start
        if response.status != OK:
            said = self._explain(response.content)
            if response.status == 404 or self.is_unknown_model(response.status, said):
                self._served = await self._list_served()
            return [self._read_refusal(response, latency_s)]
        if answer is not None and not response.content.lstrip().startswith(b"{"):
            answer.feed(response.content)  # what could not be read while it came
        if answer is None or not answer.has_events:  # some servers do not stream
            return self._read(response.content, latency_s)
        return self._read_stream(answer, start, latency_s)

    def encode_request(self, request: Request, more: Mapping[str, Any] = NOTHING) -> list[bytes]:
        """The body in pieces; raises if it exceeds a limit of the API."""
        own = self._parameters.get("temperature")
        if request.more_temperature and isinstance(own, int | float):
            raised = min(own + request.more_temperature, self.max_temperature)
            more = {**self.build_fields({**self._parameters, "temperature": raised}, self._extra), **more}
        if request.tools:
            more = {**self.build_tools(request.tools), **more}
        pieces = self.encode_body(request.messages, more)
        if self._limits is not None and (problem := self.find_problem(request, sum(map(len, pieces)))):
            raise ModelError(problem[0], hint=problem[1])
        return pieces

    def find_problem(self, request: Request, body_bytes: int | None = None) -> tuple[str, str] | None:
        """Which limit of the API the request exceeds, and what to do about it; None if it exceeds none.

        Without `body_bytes`, the size of the images in base64 stands for that of the body.
        """
        if self._limits is None:
            return None
        images = [part for turn in request.messages for part in turn.parts if isinstance(part, Image)]
        if body_bytes is None:
            body_bytes = sum((image.n_bytes + 2) // 3 * 4 for image in images)
        problem = self._limits.find_problem(images, body_bytes)
        return problem and (f"beyond the limits of {self.vendor}'s API: {problem[0]}", problem[1])

    def encode_body(self, messages: Sequence[Message], more: Mapping[str, Any] = NOTHING) -> list[bytes]:
        """The body in pieces. Its messages win over those of an `extra_body`."""
        attachments = Attachments()
        body = self.build_body(messages, attachments)
        words = _encode({**self._encoded, **more, **body}).split(_MARK)
        pieces = [words[0]]
        for (before, base64), after in zip(attachments.slots, words[1:], strict=True):
            pieces += (before, base64, b'"', after)
        return pieces

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    # -- responses

    def read_response(self, response: Response) -> Reply:
        """The reply in a response that came in a batch; raises what the response itself would have."""
        if response.status != OK:
            return self._read_refusal(response, 0.0)
        return self._read(response.content, 0.0)[0]

    def _read(self, content: bytes, latency_s: float) -> list[Reply]:
        try:
            try:
                replies = self.read_replies(content, latency_s)
            except (msgspec.DecodeError, ValueError):
                if (tidied := tidy_json(content)) is None:
                    raise
                replies = self.read_replies(tidied, latency_s)
        except _Withheld as err:
            return [self._withhold(str(err), latency_s)]
        except (msgspec.DecodeError, ValueError, LookupError, TypeError, RecursionError) as err:
            said = _shorten(self._explain(content))
            raise ModelError(
                f"the response from {self.base_url} is not a chat completion ({err}): {said}",
                hint=f"does the URL point to {self.server}?",
                is_retryable=True,
            ) from err
        return [*map(self._secrets.redact_reply, replies)] if self._is_key_in_no_answer else replies

    def _read_stream(self, answer: StreamedAnswer, start: float, latency_s: float) -> list[Reply]:
        """The replies of a stream that has ended."""
        try:
            joined = answer.finish()
        except MALFORMED as err:
            raise self._build_cut(answer, f"a part is not what the API documents ({err})") from err
        if not answer.is_complete and not joined.get("error"):
            raise self._build_cut(answer, "it ended before the reply did")
        try:
            replies = self._read(_encode(joined), latency_s)
        except ModelError as err:
            err.partial = self._secrets.hide(answer.text)
            raise
        first_s = None if answer.first_at is None else answer.first_at - start
        return [replace(reply, first_token_s=first_s) for reply in replies]

    def _build_cut(self, answer: StreamedAnswer, why: str) -> ModelError:
        """The error for a stream that did not come to its end; its words are no reply."""
        partial = self._secrets.hide(answer.text)
        return ModelError(
            f"the reply from {self.base_url} was cut: {why}", is_retryable=True, partial=partial
        )

    def raise_error(self, error: Any) -> None:
        """Raise the error that came with status 200, in place of an answer or beside it, if there is one."""
        if not error:
            return
        said = self._explain(_encode({"error": error}))
        if self.is_withheld(400, said):
            raise _Withheld(said)
        raise self.no_reply(f"with the error {_shorten(said)}")

    def no_reply(self, why: str) -> ModelError:
        """The error for a response with status 200 and no reply in it."""
        return ModelError(f"{self.base_url} answered {self._secrets.hide(why)}", is_retryable=True)

    def _explain(self, content: bytes) -> str:
        try:
            said = self.read_error(content)
        except Exception:  # a proxy may answer in another shape
            said = ChatEndpoint.read_error(self, content)
        return str(self._secrets.hide(said))

    def _read_refusal(self, response: Response, latency_s: float) -> Reply:
        """The reply that a content filter withheld; any other error is raised."""
        said = self._explain(response.content)
        if self.is_withheld(response.status, said):
            return self._withhold(said, latency_s)
        raise self.build_error(response)

    @staticmethod
    def _withhold(said: str, latency_s: float) -> Reply:
        evidence = {"withheld": _shorten(said)}
        return Reply(text="", finish_reason="content_filter", latency_s=latency_s, evidence=evidence)

    def build_error(self, response: Response) -> ModelError:
        """The error that a response with another status than 200 means."""
        status, said = response.status, self._explain(response.content)
        is_wrong_key = self.is_wrong_key(status, said)
        is_out_of_credit = self.out_of_credit.search(said) is not None
        is_unknown = self.is_unknown_model(status, said)
        hint = "the key is not allowed to use this model" if status == 403 else ""
        if status == 404:
            hint = f"check the model's name and the URL: requests go to {self._url}"
            version = urlsplit(self.official_url).path
            if version and not urlsplit(self.base_url).path:
                hint += f". Is {version} missing? Try --base-url {self.base_url}{version}"
        if is_wrong_key:
            hint = f"check the key ({self.key_variable} or --api-key)"
        if is_unknown:
            hint = f"check the model's name: {self.base_url}/models lists the served models"
        if self._served and self.model not in self._served:
            near = suggest_name(self.model, self._served)
            hint = f"{near} {self.base_url} has: {join_names(self._served, 8)}".strip()
        if is_out_of_credit:
            hint = "the account has no credit left"
        if status >= 500:
            self._last_server_error = f"HTTP {status}: {_shorten(said)}"
        retry_after_s, is_retryable = self.retry_after_s(response), self.is_retryable(status, said)
        is_retryable = _RETRY_SAYS.get(response.headers.get("x-should-retry", ""), is_retryable)
        if status in _MOVED:
            location = response.headers.get("location", "(no location given)")
            said = f"redirected to {self._secrets.hide(location)}"
            hint = "redirects are not followed, to keep the key safe; give the new URL with --base-url"
        return ModelError(
            f"HTTP {status} from {self.base_url}: {_shorten(said)}",
            hint=hint,
            status=status,
            is_retryable=is_retryable and not is_out_of_credit,
            is_fatal=self.is_fatal(status, said) or is_out_of_credit or is_unknown or is_wrong_key,
            retry_after_s=retry_after_s,
        )

    async def _list_served(self) -> list[str]:
        """What an OpenAI-compatible server says that it serves; empty if it does not say."""
        import aiohttp

        url, limit = f"{self.base_url}/models", aiohttp.ClientTimeout(total=_LISTING_S)
        with contextlib.suppress(aiohttp.ClientError, OSError, ValueError):
            async with (
                aiohttp.ClientSession(headers=self.headers, timeout=limit) as session,
                session.get(url, proxy=self.proxy, allow_redirects=False) as response,
            ):
                found = read_served(await response.content.read(_MAX_LISTING))
                return [str(self._secrets.hide(name)) for name in found]
        return []


class _Withheld(Exception):
    """An answer whose error says that a content filter stopped it."""


def tidy_json(content: bytes) -> bytes | None:
    r"""JSON as some servers write it, as JSON: without a byte order mark, numbers that are none as texts.

    >>> tidy_json(b'\xef\xbb\xbf{"a": NaN, "b": 1e999, "c": 1}'), tidy_json(b"{")
    (b'{"a":"NaN","b":"1e999","c":1}', None)
    """
    try:
        decoded = json.loads(
            content.removeprefix(codecs.BOM_UTF8),
            parse_constant=str,
            parse_int=lambda text: int(text) if len(text) < 20 else text,
            parse_float=lambda text: number if math.isfinite(number := float(text)) else text,
        )
        return _encode(decoded)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None


class _Listed(msgspec.Struct):
    id: str


class _Listing(msgspec.Struct):
    data: list[_Listed] = []


def read_served(content: bytes) -> list[str]:
    """The names in a server's list of models, the answer of ``/models``; raises `ValueError` for another."""
    return [one.id for one in msgspec.json.decode(content, type=_Listing).data]


class UsageFields(NamedTuple):
    """Where an API counts tokens; several counts are added, ``details.name`` is a value of a mapping."""

    prompt: tuple[str, ...]
    completion: tuple[str, ...]
    reasoning: str = ""
    cached: str = ""

    def read(self, said: object) -> Usage | None:
        """The counts of an answer; None if it has none."""

        def find(path: str) -> object:
            found = said
            for name in path.split("."):
                found = found.get(name) if isinstance(found, Mapping) else None
            return found

        if not isinstance(said, Mapping):
            return None
        counts = map(find, self.prompt), map(find, self.completion)
        return Usage.read(*counts, reasoning=find(self.reasoning), cached=find(self.cached))


def join_system(messages: Sequence[Message]) -> str:
    """The system messages as one text, for APIs that take it apart from the turns."""
    system = [turn for turn in messages if turn.role == "system"]
    if any(turn.images for turn in system):
        raise ModelError(
            "a system message holds an image, which this API does not take",
            hint="put the image into the user's message",
        )
    return "\n\n".join(turn.text for turn in system)


def read_calls(found: object) -> tuple[ToolCall, ...]:
    """Calls as OpenAI's APIs write them, flat or in `function`; what has no name is left out.

    >>> read_calls([{"id": "1", "function": {"name": "zoom", "arguments": "{"}}, {}, None])
    (ToolCall(name='zoom', arguments='{', id='1'),)
    """
    calls = []
    for one in found if isinstance(found, list) else ():
        call = one.get("function", one) if isinstance(one, dict) else None
        if not isinstance(call, dict) or not isinstance(name := call.get("name"), str) or not name:
            continue
        said = call.get("arguments")
        arguments = said if isinstance(said, str) else _encode(said).decode()
        calls.append(ToolCall(name, arguments, str(one.get("call_id") or one.get("id") or "")))
    return tuple(calls)


def read_arguments(call: ToolCall) -> Any:
    """The arguments of a call as an object, for APIs that want it back as one; empty if they are none."""
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def read_retry_after_s(said: str) -> float | None:
    """Seconds to wait, from a header that holds seconds or a date."""
    from email.utils import parsedate_to_datetime

    with contextlib.suppress(ValueError):
        return max(0.0, float(said))
    with contextlib.suppress(ValueError, OverflowError):
        until = parsedate_to_datetime(said.strip())
        until = until if until.tzinfo else until.replace(tzinfo=UTC)  # "-0000" means UTC
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    return None


def _shorten(text: str) -> str:
    """The first 300 characters of what a server said."""
    return (text[:300] + " …" if len(text) > 300 else text) or "(no explanation)"


def _reason(err: BaseException) -> str:
    return strip_password(" ".join(str(err).split())) or type(err).__name__
