"""The server of the web page: routes, live progress, and what keeps it safe.

It reads and answers GET alone; with `--write`, a form of its own pages may delete a run, with a token. It
listens on this machine unless told otherwise. A page of another site cannot read from it: the Host header
must be an address or a name of this machine (against DNS rebinding), the Origin header, where a browser sends
one, must be the server's own, and the content security policy allows nothing but the server's own scripts,
styles and images. Replies and questions are text.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import json
import os
import re
import secrets
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from eyechart.data.images.pixels import MIME, reencode
from eyechart.errors import EyechartError, UsageError
from eyechart.memory import claim_image
from eyechart.report.export import write_csv
from eyechart.report.page import ASSETS as PAGE_ASSETS
from eyechart.report.page import ImagePolicy, write_policy
from eyechart.runs.inputs import count_images, load_sent_image
from eyechart.runs.pages import write_html, write_runs_html
from eyechart.store.folder import remove_run
from eyechart.view.library import DOWNLOADS, Library, NotFound
from eyechart.view.pages import HERE, Choice, Pages, clean_query, read_number

PORT = 2020
_TRIED_PORTS = 20  # from the default on, if it is taken
_THUMBNAIL_SIDE = 120  # pixels
_MOST_REPORTED = 10  # runs on one page
_IMAGES_S = 5.0  # of small copies for such a page
_POLL_S = 1.0
_BRIEFLY = {"cache-control": "private, max-age=60"}
_BEAT_S = 15.0  # a comment on a quiet stream, so that proxies keep it open
IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    )
)  # fmt: skip
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none at all, the origin of a form would be null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
ASSETS = {
    "page.css": (PAGE_ASSETS / "page.css", "text/css"),
    "icon.svg": (HERE / "static" / "icon.svg", "image/svg+xml"),
    "view.css": (HERE / "static" / "view.css", "text/css"),
    "view.js": (HERE / "static" / "view.js", "text/javascript"),
    "dom.js": (PAGE_ASSETS / "dom.js", "text/javascript"),
    "text.js": (PAGE_ASSETS / "text.js", "text/javascript"),
    "rich.js": (PAGE_ASSETS / "vendor" / "rich.js", "text/javascript"),
}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


# -- Who may ask

_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s,:/@\[\]]+))(?::[0-9]{1,5})?")


def is_own_host(host: str, allowed: Collection[str] = ()) -> bool:
    """Whether a Host header names this machine: localhost, an address, or a name that the user allowed.

    A name of another domain that leads to this machine (DNS rebinding) is none of these. The port is
    not compared: a tunnel may have another one.

    >>> [is_own_host(host) for host in ("localhost:2020", "127.0.0.1", "[::1]:80", "evil.example:2020", "")]
    [True, True, True, False, False]
    """
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = (found[1] or found[2]).lower()
    if name == "localhost" or name.endswith(".localhost") or name in allowed:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def find_refusal(
    method: str, headers: Mapping[str, str], allowed: Collection[str] = (), *, writes: bool = False
) -> tuple[int, str] | None:
    """Status and reason if a request must not be answered; None if it may be."""
    host = headers.get("host", "")
    if method not in ("GET", "HEAD", "POST" if writes else "GET"):
        return 405, "this page only reads: use GET"
    if not is_own_host(host, allowed):
        return 421, f"{host!r} is not a name of this server; start it with --allow-host NAME to add one"
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return 403, "requests of other sites are not answered"
    # Links from elsewhere may lead here; nothing here may be part of another site's page.
    if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
        return 403, "requests of other sites are not answered"
    return None


class Guard:
    """ASGI middleware: refuses what may not be asked, and adds the security headers to every answer."""

    def __init__(self, app: App, allowed: Collection[str] = (), *, writes: bool = False) -> None:
        self.app = app
        self.allowed = allowed
        self.writes = writes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_safely(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {"cache-control": "no-store", **HEADERS}.items():
                    headers.setdefault(name, value)
            await send(message)

        given = Headers(scope=scope)
        headers = {name: ", ".join(given.getlist(name)) for name in given}  # repeated ones: all values count
        app = self.app
        if refusal := find_refusal(scope["method"], headers, self.allowed, writes=self.writes):
            status, reason = refusal
            app = PlainTextResponse(f"{reason}\n".encode("utf-8", "replace"), status)
        await app(scope, receive, send_safely)


# -- The application


def make_app(root: str | Path, *, allowed: Collection[str] = (), writes: bool = False) -> App:
    """The ASGI application over the runs below a folder; `writes`: runs can be deleted."""
    answers = _Answers(Library(root), secrets.token_urlsafe() if writes else "")
    routes = [
        *(_make_route(path, render) for path, render in _list_pages(answers.pages).items()),
        Route("/image/{name:path}", answers.image),
        Route("/download/{file}/{name:path}", answers.download),
        Route("/report", answers.report),
        Route("/delete/{name:path}", answers.delete, methods=["POST"]),
        Route("/events", answers.events),
        Route("/static/{file}", answers.static),
    ]
    handlers: dict[Any, Any] = dict.fromkeys((404, EyechartError, Exception), answers.trouble)
    return Guard(Starlette(routes=routes, exception_handlers=handlers), allowed, writes=writes)


def _list_pages(pages: Pages) -> dict[str, Callable[[str, Any], str]]:
    """The pages by their address: made of the name in it, and of the query."""
    return {
        "/": lambda _, query: pages.render_index(clean_query(query.get("q", ""))),
        "/run/{name:path}": lambda name, query: pages.render_run(name, Choice.read(query)),
        "/sample/{name:path}": lambda name, query: pages.render_sample(
            name, query.get("id", ""), _read_index(query, "trial"), Choice.read(query)
        ),
        "/compare": lambda _, query: pages.render_comparison(
            _read_runs(query), query.get("show", ""), read_number(query.get("page"), 1)
        ),
        "/compare/sample": lambda _, query: pages.render_pair(
            _read_runs(query), query.get("id", ""), query.get("show", "flips")
        ),
        "/judge/{name:path}": lambda name, _: pages.render_judge(name),
        "/audit/{name:path}": lambda name, _: pages.render_audit(name),
    }


def _make_route(path: str, render: Callable[[str, Any], str]) -> Route:
    def answer(request: Any) -> Response:
        return _show(render(request.path_params.get("name", ""), request.query_params))

    return Route(path, answer)


class _Answers:
    """What is no page: one method per route. Plain functions, which read files, run in threads."""

    def __init__(self, library: Library, token: str = "") -> None:
        self.library = library
        self.pages = Pages(library, token)
        self.pages.load_templates()

    def image(self, request: Any) -> Response:
        """An image of a sample, by its place in the request: as it was sent, or small for a list."""
        name, query = request.path_params["name"], request.query_params
        try:
            result = self.library.read_sample(name, query.get("id", ""), _read_index(query, "trial"))
            number = _read_index(query, "n")
            if not 0 <= number < count_images(result):
                raise NotFound("no such image")
            with claim_image():  # pages ask for many at once
                found = load_sent_image(self.library.open(name).manifest, result, number)
                if found.image is None:
                    raise NotFound(found.remark)
                data, mime = found.image.data(), found.image.mime
                if "small" in query:
                    small = reencode(data, "image", max_side=_THUMBNAIL_SIDE, jpeg_quality=80)
                    data, mime = small.data, MIME[small.format]
        except EyechartError as err:
            raise NotFound(err.message) from err
        if mime not in IMAGE_TYPES:
            raise NotFound("not an image")
        return Response(data, media_type=mime, headers=_BRIEFLY)

    def download(self, request: Any) -> Response:
        """A file of a run, always as an attachment: nothing in it runs on this site."""
        file, name = request.path_params["file"], request.path_params["name"]
        if file in DOWNLOADS:
            path = self.library.find_file(name, file)
            if path is None:
                raise NotFound(f"{name} has no {file}", hint="a run writes it at its end")
            return FileResponse(path, media_type=DOWNLOADS[file], filename=file)
        if file != "samples.csv":
            raise NotFound(f"no file {file!r} to download")
        run = self.library.open(name)
        return _send_new("text/csv", lambda made: write_csv(run.samples(), made, run.price()), filename=file)

    def report(self, request: Any) -> Response:
        """report.html of one run or of several, made anew: all samples as a table to sort and filter."""
        names = dict.fromkeys(request.query_params.getlist("run"))
        if not 1 <= len(names) <= _MOST_REPORTED:
            hint = f"choose one to {_MOST_REPORTED} runs"
            raise UsageError("a page of samples is of one run or of a few", hint=hint)
        runs = [self.library.open(name) for name in names]

        def write(path: Path) -> None:
            if len(runs) == 1:
                write_html(runs[0], path, ImagePolicy(max_s=_IMAGES_S))
            else:
                write_runs_html(runs, path, max_s=_IMAGES_S)

        return _send_new("text/html", write, headers={"content-security-policy": write_policy()})

    def static(self, request: Any) -> Response:
        path, mime = ASSETS.get(request.path_params["file"], (None, ""))
        if path is None:
            raise NotFound("no such file")
        return Response(path.read_bytes(), media_type=mime, headers=_BRIEFLY)

    async def delete(self, request: Any) -> Response:
        """Delete a run: from a page of this server alone, which has the token, and confirmed there."""
        token, sent = self.pages.token, parse_qs((await request.body())[:1000].decode("latin-1"))
        if not token or not secrets.compare_digest(sent.get("token", [""])[0].encode(), token.encode()):
            return self._error(403, "runs are deleted on their own pages, if the server has --write")
        if sent.get("sure") != ["yes"]:
            return self._error(400, "nothing was deleted: it was not confirmed")
        run = await asyncio.to_thread(self.library.find, request.path_params["name"])
        await asyncio.to_thread(remove_run, run.folder)
        return RedirectResponse("/", status_code=303)

    async def events(self, request: Any) -> Response:
        """Server-sent events: the state of every run that is going on, when it changes."""
        return StreamingResponse(self._stream(request), media_type="text/event-stream")

    async def _stream(self, request: Any) -> AsyncIterator[str]:
        told, told_at = "", 0.0
        yield "retry: 2000\n\n"
        while not await request.is_disconnected():
            began = time.monotonic()
            state = json.dumps(await asyncio.to_thread(self._read_progress))
            now = time.monotonic()
            if state != told:
                yield f"event: progress\ndata: {state}\n\n"
                told, told_at = state, now
            elif now - told_at > _BEAT_S:
                yield ": nothing new\n\n"
                told_at = now
            await asyncio.sleep(max(_POLL_S, 5 * (now - began)))  # a fifth of a core at most

    def _read_progress(self) -> dict[str, Any]:
        runs = self.library.list_runs()
        return {
            "runs": {
                run.name: {
                    "state": run.state,
                    "done": run.n_done,
                    "total": run.n_total,
                    "score": run.score,
                    "outcomes": dict(run.outcomes),
                }
                for run in runs
                if run.state == "running"
            },
            "n": len(runs),
        }

    def _error(self, status: int, message: str, hint: str = "") -> Response:
        return _show(self.pages.render_error(status, message, hint), status)

    def trouble(self, request: Any, err: Exception) -> Response:
        if isinstance(err, EyechartError):
            status = 404 if isinstance(err, NotFound) else 400 if isinstance(err, UsageError) else 500
            return self._error(status, err.message, err.hint)
        if isinstance(err, HTTPException):
            return self._error(err.status_code, "there is no such page")
        return self._error(500, f"internal error: {type(err).__name__}: {err}")


def _show(page: str, status: int = 200) -> Response:
    return HTMLResponse(page.encode("utf-8", "replace"), status)


def _send_new(mime: str, write: Callable[[Path], object], **how: Any) -> Response:
    """A file that is made for this answer and removed after it."""
    handle, name = tempfile.mkstemp(prefix="eyechart-")
    os.close(handle)
    made = Path(name)
    try:
        write(made)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return FileResponse(made, media_type=mime, background=BackgroundTask(made.unlink, missing_ok=True), **how)


def _read_index(query: Mapping[str, str], name: str) -> int:
    return read_number(query.get(name, "0"), -1, least=0)


def _read_runs(query: Any) -> list[str]:
    names: list[str] = query.getlist("run")
    if len(names) not in (2, 3) or len({*names}) < len(names):
        raise UsageError(
            "a comparison needs two or three runs", hint="choose different runs of one benchmark"
        )
    return names


# -- Starting it


def open_socket(host: str, port: int | None) -> socket.socket:
    """A listening socket; without a port, the usual one or one of those after it. 0: any free one."""
    wanted = [port] if port is not None else [*range(PORT, PORT + _TRIED_PORTS), 0]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # "::" is asked over IPv4 as well
    trouble: OSError | None = None
    for one in wanted:
        try:
            return socket.create_server((host, one), family=family, backlog=128, dualstack_ipv6=is_both)
        except OSError as err:
            trouble = err
    assert trouble is not None
    is_taken = trouble.errno in (errno.EADDRINUSE, errno.EACCES)
    reason = (trouble.strerror or str(trouble)).partition(" (while ")[0]
    raise UsageError(
        f"cannot listen on {host}:{wanted[0]}: {reason}",
        hint="choose another port with --port N, or --port 0 for any free one"
        if is_taken
        else "--host must be an address of this machine, such as 127.0.0.1 or 0.0.0.0",
    ) from trouble


def make_server(root: str | Path, *, allowed: Collection[str] = (), writes: bool = False) -> Any:
    """A server with everything imported, so that its first page does not wait for that."""
    app = make_app(root, allowed=allowed, writes=writes)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=1,  # streams of progress never end by themselves
    )
    config.load()
    return uvicorn.Server(config)


def serve(server: Any, listening: socket.socket) -> None:
    """Answer requests until interrupted."""
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
