"""The page without a browser: frames, files, policies, log-in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.serve.conftest import COUNT, ROOT, Server, made, rows

pytest.importorskip("msgspec", reason="the extra serve is not installed")
from sdb.serve.tokens import create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FILES = ROOT / "sdb/serve/page/static"
ROW = {"data": '{"n": 1}', "headers": {"content-type": "application/x-ndjson"}}
READ, WRITE = "read:web.*", "write:logs.*"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    above = tmp_path_factory.mktemp("page")
    made(above / "lake")
    return above


@pytest.fixture(scope="module")
def open_server(folder: Path) -> Iterator[Server]:
    running = Server(folder / "lake")
    yield running
    running.close()


@pytest.fixture(scope="module")
def guarded_server(folder: Path) -> Iterator[tuple[Server, str]]:
    tokens = folder / "tokens.json"
    token = create(tokens, "eve", (READ, WRITE), now_us=0)
    running = Server(folder / "lake", "--tokens", str(tokens))
    yield running, token
    running.close()


@pytest.fixture
def server(open_server: Server) -> Server:
    open_server.session.cookies.clear()
    return open_server


@pytest.fixture
def guarded(guarded_server: tuple[Server, str]) -> tuple[Server, str]:
    """A server with tokens, and one of them."""
    guarded_server[0].session.cookies.clear()
    return guarded_server


def test_browsers_see_a_page_and_programs_what_they_saw_before(server: Server) -> None:
    page = server.get("/", headers=HTML)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for headers in ({}, {"accept": "application/json"}, {"accept": "*/*"}):
        answer = server.get("/", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert server.get("/tables/web.gha", headers=headers).status_code == 404


def test_a_page_that_the_browser_has_is_not_sent_again(server: Server) -> None:
    tag = server.get("/", headers=HTML).headers["etag"]
    assert server.get("/", headers=HTML | {"if-none-match": tag}).status_code == 304
    other = server.get("/tables/web.gha", headers=HTML | {"if-none-match": tag})
    assert other.status_code == 200


def test_the_policy_lets_nothing_in_but_files_of_the_server(server: Server) -> None:
    policy = server.get("/", headers=HTML).headers["content-security-policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert {parts[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert (parts["base-uri"], parts["frame-ancestors"]) == ("'none'", "'none'")
    assert "unsafe" not in policy
    # Answers that are no screens keep theirs, once.
    query = server.query(COUNT, format="html")
    assert query.headers["content-security-policy"].startswith("default-src 'none'; style-src")


def test_a_page_names_files_of_the_server_alone(server: Server) -> None:
    html = server.get("/tables/web.gha", headers=HTML).text
    links = re.findall(r'(?:src|href|action)="([^"]*)"', html)
    assert links
    assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in links)
    assert " style=" not in html
    for link in links:
        if link.startswith("/static/"):
            assert server.get(link).status_code == 200, link


def test_each_file_is_sent_with_a_tag(server: Server) -> None:
    for file in FILES.iterdir():
        answer = server.get(f"/static/{file.name}")
        assert answer.content == file.read_bytes()
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = server.get(
            f"/static/{file.name}", headers={"if-none-match": answer.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
        text = answer.text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://", text), f"{file.name} names another folder"


def test_modules_import_what_is_there() -> None:
    for file in FILES.glob("*.js"):
        for name in re.findall(r'from "\./([^"]+)"|import\("\./([^"]+)"\)', file.read_text()):
            assert (FILES / "".join(name)).is_file(), (file.name, name)


def test_texts_become_html_nowhere_in_scripts() -> None:
    for file in FILES.glob("*.js"):
        call = re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function",
            file.read_text(),
        )
        assert call is None, (file.name, call)


@pytest.mark.parametrize("name", ["x.js", "../app.py", "..%2fapp.py", "%2e%2e/app.py"])
def test_no_other_file_is_sent(server: Server, name: str) -> None:
    assert server.get(f"/static/{name}").status_code == 404


def test_a_name_of_a_table_is_escaped(server: Server) -> None:
    html = server.get('/tables/a.<script>alert("1")</script>', headers=HTML)
    assert html.status_code == 404 or "<script>alert" not in html.text
    html = server.get('/tables/a."<b onclick=x>"', headers=HTML)
    assert "<b onclick" not in html.text
    bidi = server.get("/tables/a.x%E2%80%AEy", headers=HTML).text
    assert "\u202e" not in bidi


def test_who_has_no_token_sees_the_log_in(guarded: tuple[Server, str]) -> None:
    server, _ = guarded
    for path in ("/", "/tables/web.gha?q=a%26b"):
        page = server.get(path, headers=HTML)
        assert (page.status_code, 'action="/login"' in page.text) == (401, True)
        assert path.replace("&", "&amp;") in page.text
        # Chromium would ask by itself, and cover the page.
        assert "Basic" not in page.headers["www-authenticate"]
    assert server.get("/static/page.css").status_code == 200
    assert server.get("/login", headers=HTML).status_code == 200


def test_a_refusal_says_how_to_ask(guarded: tuple[Server, str]) -> None:
    server, _ = guarded
    answer = server.query(COUNT)
    assert answer.status_code == 401
    assert all(word in answer.json()["hint"] for word in ("Bearer", "Basic", "browser"))
    schemes = answer.raw.headers.getlist("www-authenticate")
    assert [scheme.split()[0] for scheme in schemes] == ["Bearer", "Basic"]
    script = server.query(COUNT, {"sec-fetch-mode": "cors", "sec-fetch-site": "same-origin"})
    assert script.raw.headers.getlist("www-authenticate") == ['Bearer realm="sdb"']


def logged_in(server: Server, token: str, **more: Any) -> Any:
    form = {"token": token, "next": "/tables/web.gha?q=x"} | more.pop("form", {})
    headers = {"origin": server.url} | more.pop("headers", {})
    return server.post("/login", data=form, headers=headers, allow_redirects=False, **more)


def test_a_log_in_gives_a_cookie_that_scripts_cannot_read(guarded: tuple[Server, str]) -> None:
    server, token = guarded
    answer = logged_in(server, token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/tables/web.gha?q=x")
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    assert "secure" not in cookie
    page = server.get("/", headers=HTML)  # with the cookie
    assert (page.status_code, "Log out" in page.text, "eve" in page.text) == (200, True, True)
    assert rows(server.query(COUNT)) == [{"n": 1000}]
    assert server.get("/v1/tables/logs.app", cookies={}).status_code == 200
    left = server.post("/logout", headers={"origin": server.url}, allow_redirects=False)
    assert 'sdb-token=""' in left.headers["set-cookie"]
    assert left.headers["clear-site-data"] == '"cache"'
    assert server.query(COUNT).status_code == 401


def test_the_cookie_is_secure_where_the_browser_speaks_tls(guarded: tuple[Server, str]) -> None:
    server, token = guarded
    host = server.url.removeprefix("http://")
    answer = logged_in(server, token, headers={"origin": f"https://{host}"})
    assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize("token", ["", "sdb_wrong", "ä", "a\r\nset-cookie: x=1", '"; x'])
def test_an_unknown_token_gets_no_cookie(guarded: tuple[Server, str], token: str) -> None:
    server, _ = guarded
    answer = logged_in(server, token)
    assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
    assert "unknown" in answer.text


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_a_log_in_leads_to_no_other_place(guarded: tuple[Server, str], target: str) -> None:
    server, token = guarded
    answer = logged_in(server, token, form={"next": target})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_log_in_by_the_page_of_a_stranger_is_refused(guarded: tuple[Server, str]) -> None:
    server, token = guarded
    for origin in ("https://evil.example", "null"):
        answer = logged_in(server, token, headers={"origin": origin})
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_the_cookie_counts_for_the_page_alone(guarded: tuple[Server, str]) -> None:
    server, token = guarded
    logged_in(server, token)
    own = {"sec-fetch-site": "same-origin"}
    assert server.query(COUNT, own).status_code == 200
    for site in ("cross-site", "same-site"):
        assert server.query(COUNT, {"sec-fetch-site": site}).status_code == 401
    assert server.query(COUNT, {"origin": "http://127.0.0.1:1"}).status_code == 401
    path = "/v1/tables/logs.app/rows"
    assert server.post(path, **ROW).status_code == 401
    other = ROW["headers"] | {"origin": "http://127.0.0.1:1"}  # type: ignore[operator]
    assert server.post(path, data=ROW["data"], headers=other).status_code == 403
    mine = ROW["headers"] | {"origin": server.url}  # type: ignore[operator]
    assert server.post(path, data=ROW["data"], headers=mine).status_code == 201


def test_what_the_cookie_got_is_remembered_for_nobody_else(guarded: tuple[Server, str]) -> None:
    server, token = guarded
    logged_in(server, token)
    for _ in range(3):
        answer = server.query(COUNT)
        assert answer.status_code == 200
    assert "cookie" in answer.headers["vary"]
    assert "private" in answer.headers["cache-control"]
    server.session.cookies.clear()
    assert server.query(COUNT).status_code == 401


def test_a_token_in_the_header_counts_before_the_cookie(guarded: tuple[Server, str]) -> None:
    server, token = guarded
    logged_in(server, token)
    assert server.query(COUNT, {"authorization": "Bearer sdb_wrong"}).status_code == 401


def test_a_reader_who_is_led_here_by_another_page_is_asked_by_the_page_itself(
    guarded: tuple[Server, str],
) -> None:
    """Browsers send no cookie then, which is strict; they do when the page leads to itself."""
    server, _ = guarded
    led = server.get("/", headers=HTML | {"sec-fetch-site": "cross-site"})
    assert 'http-equiv="refresh"' in led.text
    typed = server.get("/", headers=HTML | {"sec-fetch-site": "none"})
    assert 'http-equiv="refresh"' not in typed.text


def test_without_tokens_there_is_nothing_to_log_in_to(server: Server) -> None:
    assert server.get("/login", headers=HTML, allow_redirects=False).status_code == 303
    assert "Log out" not in server.get("/", headers=HTML).text


def test_the_wheel_has_the_files_of_the_page() -> None:
    assert '"sdb/serve/page/static/*"' in (ROOT / "pyproject.toml").read_text()


def test_the_reference_has_each_request_with_what_its_members_may_be(server: Server) -> None:
    html = server.get("/docs", headers=HTML).text
    for path, methods in server.get("/openapi.json").json()["paths"].items():
        assert path in html
        for node in methods.values():
            for each in node.get("parameters", ()) if isinstance(node, dict) else ():
                assert f"<code>{each['name']}</code>" in html
    assert "rfc3339" in html  # what a member may be
    assert "from 1 to 10,000" in html


def test_the_state_of_a_table_is_for_who_may_read_it(
    server: Server, guarded: tuple[Server, str]
) -> None:
    state = server.get("/v1/tables/web.gha/status").json()
    assert (state["table"], state["packfiles"], state["rows"]) == ("web.gha", 1, 1000)
    assert isinstance(state["needs"], list)
    assert server.get("/v1/tables/web.gha@1/status").status_code == 400
    other, token = guarded
    headers = {"authorization": f"Bearer {token}"}
    assert other.get("/v1/tables/web.gha/status", headers=headers).status_code == 200
    assert other.get("/v1/tables/aws.gha/status", headers=headers).status_code == 404


def test_open_serves_at_a_free_port_and_shows_the_table(folder: Path) -> None:
    """The browser is a script that writes down what it has to show."""
    shown = folder / "shown.txt"
    script = folder / "browser.sh"
    script.write_text(f'#!/bin/sh\necho "$1" >> {shown}\n')
    script.chmod(0o755)
    words = ["open", "web.gha", "--root", str(folder / "lake")]
    command = [sys.executable, "-m", "sdb.cli.main", *words]
    environment = os.environ | {"BROWSER": f"{script} %s"}
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr
        url = process.stderr.readline().split()[-1].decode()
        stop = time.monotonic() + 60
        while not shown.exists() and time.monotonic() < stop:
            time.sleep(0.05)
        html = requests.get(f"{url}/tables/web.gha", headers=HTML, timeout=60)
        process.terminate()
    assert shown.read_text().strip() == f"{url}/tables/web.gha"
    assert ":7373" not in url
    assert html.status_code == 200


def test_a_table_to_open_needs_the_option(run: Callable[..., Any]) -> None:
    done = run("serve", "web.gha", "--root", "lake")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"sdb open web.gha" in done.stderr
