"""`eyechart view` over HTTP: every page answers, nothing else does, and every answer carries the headers."""

from __future__ import annotations

import http.client
import json
import re
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

import eyechart as ec
from extras.view.conftest import Serve
from eyechart.report.page import write_policy
from eyechart.runs.listing import list_runs


def get(address: str, path: str, *, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    connection.request(
        method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


@pytest.fixture(scope="session")
def name(runs: Path) -> str:
    return next(run.name for run in list_runs(runs) if run.model == "baseline/majority")


def test_every_page_answers_with_the_headers(address: str, runs: Path, name: str) -> None:
    names = [run.name for run in list_runs(runs) if run.model.startswith("baseline")]
    two = urlencode([("run", one) for one in names])
    pages = {
        "/": 200,
        "/?q=nothing": 200,
        f"/run/{name}": 200,
        f"/run/{name}?outcome=wrong&q=which&page=2": 200,
        f"/sample/{name}?id=charts-cups-1": 200,
        f"/compare?{two}": 200,
        f"/compare/sample?{two}&id=charts-cups-1": 200,
        f"/image/{name}?id=charts-cups-1": 200,
        f"/image/{name}?id=charts-cups-1&n=0&small": 200,
        f"/download/summary.json/{name}": 200,
        f"/download/samples.csv/{name}": 200,
        "/static/page.css": 200,
        "/static/view.js": 200,
        "/compare": 400,
        f"/compare?run={name}&run={name}": 400,
        f"/run/{name}/..": 404,
        f"/sample/{name}?id=nothing": 404,
        f"/sample/{name}?id=charts-cups-1&trial=x": 404,
        f"/image/{name}?id=charts-cups-1&n=7": 404,
        f"/image/{name}?id=charts-cups-1&n=-1": 404,
        f"/report?run={name}": 200,
        f"/report?{two}": 200,
        "/report": 400,
        "/report?run=nothing": 404,
        f"/judge/{name}": 404,
        f"/audit/{name}": 404,
        f"/download/run.sqlite/{name}": 404,
        f"/download/report.html/{name}": 200,
        "/nothing": 404,
        "/static/..%2fserver.py": 404,
    }
    for path, status in pages.items():
        found, headers, _ = get(address, path)
        assert found == status, path
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self';"
            if not path.startswith("/report?run=demo")
            else write_policy()
        ), path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/run/../../etc/passwd", "/run/%2e%2e/%2e%2e/etc/passwd", "/run//etc/passwd", "/run/%2fetc%2fpasswd",
        "/download/summary.json/../..", "/download/%2e%2e%2fsummary.json/demo", "/image/..?id=1", "/run/%00",
        "/static/%2e%2e/%2e%2e/pyproject.toml", "/run/" + "a" * 5000,
    ],
)  # fmt: skip
def test_no_path_leaves_the_folder(address: str, path: str) -> None:
    status, _, body = get(address, path)
    assert status in (400, 404)
    assert b"root:" not in body


def test_images_are_images_and_files_are_attachments(address: str, name: str) -> None:
    _, headers, body = get(address, f"/image/{name}?id=charts-cups-1")
    assert headers["content-type"] == "image/png"
    assert body.startswith(b"\x89PNG")
    _, headers, body = get(address, f"/image/{name}?id=charts-cups-1&small")
    assert headers["content-type"] == "image/jpeg"
    assert len(body) < 10_000
    _, headers, body = get(address, f"/download/summary.json/{name}")
    assert headers["content-disposition"].startswith("attachment")
    assert json.loads(body)["n"] == 60
    _, headers, body = get(address, f"/download/samples.csv/{name}")
    assert headers["content-disposition"].startswith("attachment")
    assert body.count(b"charts-cups-1") >= 1


def test_others_are_refused(address: str, name: str) -> None:
    assert get(address, "/", Host="evil.example")[0] == 421
    assert get(address, f"/run/{name}", Host="evil.example:2020")[0] == 421
    assert get(address, "/", Origin="http://evil.example")[0] == 403
    assert get(address, "/", Origin=address)[0] == 200
    assert (
        get(address, f"/image/{quote(name)}?id=1", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0]
        == 403
    )
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert get(address, "/", method=method)[0] == 405
    assert get(address, "/", method="HEAD")[0] == 200


def test_a_run_is_deleted_with_the_token_of_its_page_alone(
    tmp_path: Path, address: str, name: str, serve: Serve
) -> None:
    run = ec.run("demo", "baseline/random", out=tmp_path / "runs", limit=4, progress=False)
    mine, own = serve(tmp_path / "runs", "--write"), f"demo/{run.folder.name}"

    def post(where: str, name: str, body: str, **headers: str) -> int:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        connection = http.client.HTTPConnection(where.removeprefix("http://"), timeout=30)
        connection.request("POST", f"/delete/{name}", body=body, headers={"Origin": where, **kind, **headers})
        status = connection.getresponse().status
        connection.close()
        return status

    assert b"/delete/" not in get(address, f"/run/{name}")[2]
    assert post(address, name, "token=&sure=yes") == 405, "without --write"
    found = re.search(rb'name="token" value="([^"]+)"', get(mine, f"/run/{own}")[2])
    assert found is not None
    token = found[1].decode()
    assert post(mine, own, "token=wrong&sure=yes") == 403
    assert post(mine, own, "sure=yes") == 403
    assert post(mine, own, f"token={token}") == 400
    assert post(mine, own, f"token={token}&sure=yes", Origin="http://evil.example") == 403
    assert post(mine, "demo/nothing", f"token={token}&sure=yes") == 404
    assert run.folder.exists()
    assert post(mine, own, f"token={token}&sure=yes") == 303
    assert not run.folder.exists()


def test_a_name_can_be_allowed(runs: Path, serve: Serve) -> None:
    named = serve(runs, "--allow-host", "Box.lan")
    assert get(named, "/", Host="box.lan:8080")[0] == 200
    assert get(named, "/", Host="other.lan")[0] == 421
