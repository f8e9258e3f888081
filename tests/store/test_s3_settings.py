"""Wrong settings of S3, and stores that are away: one line says what, where, and what to do."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from sdb.errors import AccessError, NotFoundError, SdbError, UsageError
from sdb.store import url as stores
from sdb.store.s3 import client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sdb.store.base import Store

PLACE = "s3://bucket/key.zion"
SSO = "sso_start_url=https://x.example\nsso_region=a\nsso_account_id=1\nsso_role_name=r"


class _Handler(BaseHTTPRequestHandler):
    """Answers each request with the same."""

    protocol_version = "HTTP/1.1"
    answer: tuple[int, dict[str, str], str]

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name
        """Say nothing."""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, body = self.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body.encode())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - their names


def error_of(code: str, more: str = "") -> str:
    return f"<Error><Code>{code}</Code><Message>Said by the store.</Message>{more}</Error>"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Set what is right, for an endpoint that is not there."""
    for name in ("AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_SESSION_TOKEN", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    right = {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in right.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    client.disconnect()
    yield monkeypatch
    monkeypatch.undo()
    client.disconnect()


@pytest.fixture
def serve(settings: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Return what runs a server with one answer, and makes it the endpoint."""
    running: list[ThreadingHTTPServer] = []

    def begin(status: int, body: str = "", **headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        handler = type("Handler", (_Handler,), {"answer": (status, named, body)})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        running.append(server)
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        settings.setenv("AWS_ENDPOINT_URL_S3", endpoint)
        return endpoint

    yield begin
    for server in running:
        server.shutdown()
        server.server_close()


def opened(kind: type[SdbError], said: str, hint: str) -> None:
    """Open an object, which fails with one line that says what and where, and one what to do."""
    with pytest.raises(SdbError) as caught:
        stores.open_read(PLACE)
    check(caught.value, kind, said, hint)


def check(error: SdbError, kind: type[SdbError], said: str, hint: str) -> None:
    assert type(error) is kind
    assert said in error.message
    assert hint in str(error.hint)
    assert "\n" not in error.message
    assert "Signature=" not in error.message


@pytest.mark.parametrize(
    ("name", "value", "kind", "said", "hint"),
    [
        (
            "AWS_ENDPOINT_URL_S3",
            "http://127.0.0.1:9",
            SdbError,
            "could not connect to http://127.0.0.1:9",
            "AWS_ENDPOINT_URL_S3",
        ),
        ("AWS_ENDPOINT_URL_S3", "127.0.0.1:9000", UsageError, "127.0.0.1:9000", "http://host:9000"),
        (
            "AWS_ENDPOINT_URL_S3",
            "http://127.0.0.1:99999",
            UsageError,
            "99999",
            "AWS_ENDPOINT_URL_S3",
        ),
        (
            "AWS_REGION",
            "Frankfurt am Main",
            UsageError,
            "Frankfurt am Main",
            "AWS_REGION=eu-central-1",
        ),
        ("HTTP_PROXY", "http://127.0.0.1:9", SdbError, "the proxy http://127.0.0.1:9", "NO_PROXY"),
        ("AWS_ACCESS_KEY_ID", "key\n", AccessError, "line end", "AWS_ACCESS_KEY_ID"),
        ("AWS_ACCESS_KEY_ID", "", AccessError, "credentials", "AWS_ACCESS_KEY_ID"),
        ("AWS_SECRET_ACCESS_KEY", "", AccessError, "AWS_SECRET_ACCESS_KEY", "aws configure"),
        ("AWS_PROFILE", "nobody", AccessError, "nobody", "AWS_PROFILE"),
    ],
)
def test_each_wrong_setting_is_named(
    settings: pytest.MonkeyPatch,
    name: str,
    value: str,
    kind: type[SdbError],
    said: str,
    hint: str,
) -> None:
    settings.setenv(name, value)
    opened(kind, said, hint)


@pytest.mark.parametrize(
    ("profile", "kind", "said", "hint"),
    [
        (SSO, AccessError, "SSO", "aws sso login"),
        ("credential_process=/bin/false", AccessError, "custom-process", "aws configure"),
        ("role_arn=arn:aws:iam::1:role/x\nsource_profile=none", UsageError, '"none"', "AWS_"),
        ("[profile", UsageError, "unable to parse config file", "AWS_CONFIG_FILE"),
    ],
)
def test_each_wrong_profile_is_named(
    settings: pytest.MonkeyPatch,
    tmp_path: Path,
    profile: str,
    kind: type[SdbError],
    said: str,
    hint: str,
) -> None:
    (tmp_path / "config").write_text(f"[profile x]\n{profile}\n")
    settings.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    settings.setenv("AWS_PROFILE", "x")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        settings.delenv(name)
    opened(kind, said, hint)


def test_an_endpoint_without_tls_is_named(
    settings: pytest.MonkeyPatch, serve: Callable[..., str]
) -> None:
    endpoint = serve(404).replace("http:", "https:")
    settings.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    opened(SdbError, f"no TLS with {endpoint}: ", "http:// if the endpoint has no TLS")
    settings.setenv("AWS_CA_BUNDLE", "/nowhere.pem")
    client.disconnect()
    opened(SdbError, "AWS_CA_BUNDLE names no file", "AWS_CA_BUNDLE=FILE")


@pytest.mark.parametrize(
    ("status", "code", "kind", "said", "hint"),
    [
        (400, "ExpiredToken", AccessError, "the credentials have expired", "log in again"),
        (400, "InvalidToken", AccessError, "(InvalidToken)", "aws configure"),
        (
            403,
            "InvalidAccessKeyId",
            AccessError,
            "does not accept the credentials",
            "aws configure",
        ),
        (
            403,
            "SignatureDoesNotMatch",
            AccessError,
            "does not accept the credentials",
            "aws configure",
        ),
        (403, "AccessDenied", AccessError, "access denied", "s3:GetObject"),
        (403, "RequestTimeTooSkewed", AccessError, "the clock of this machine", "NTP"),
        (403, "InvalidObjectState", AccessError, "in an archive", "restore-object"),
        (404, "NoSuchBucket", NotFoundError, "there is no S3 bucket", "aws s3 mb"),
        (500, "InternalError", SdbError, "500 InternalError: said by the store", "run it again"),
        (503, "SlowDown", SdbError, "no more requests at the moment (SlowDown)", "later"),
    ],
)
def test_each_refusal_has_its_text(
    serve: Callable[..., str],
    status: int,
    code: str,
    kind: type[SdbError],
    said: str,
    hint: str,
) -> None:
    serve(status, error_of(code))
    opened(kind, said, hint)


def test_the_region_of_a_bucket_is_told(serve: Callable[..., str]) -> None:
    region = {"x_amz_bucket_region": "eu-west-1"}
    for status, body, headers in (
        (301, error_of("PermanentRedirect"), region),
        (400, error_of("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"), {}),
        (400, "", region),
    ):
        client.disconnect()
        serve(status, body, **headers)
        opened(SdbError, "the S3 bucket is in region eu-west-1", "AWS_REGION=eu-west-1")


def test_an_answer_without_a_reason_names_what_it_may_be(serve: Callable[..., str]) -> None:
    serve(400)
    opened(UsageError, "gives no reason", "have the credentials expired?")


def test_another_service_is_no_bug(serve: Callable[..., str]) -> None:
    serve(200, "<html>", Content_Type="text/html")
    opened(SdbError, "not as S3 does", "AWS_ENDPOINT_URL_S3")


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.open(PLACE),
        lambda store: store.head(PLACE),
        lambda store: store.version(PLACE),
        lambda store: store.find("s3://bucket/*.zion"),
        lambda store: store.folders("s3://bucket"),
        lambda store: list(store.below("s3://bucket")),
    ],
)
@pytest.mark.parametrize("status", [200, 302])
@pytest.mark.parametrize("body", ["<html><body>Log in</body></html>", ""])
def test_the_page_of_a_proxy_is_no_object_and_no_empty_listing(
    serve: Callable[..., str], act: Callable[[Store], object], status: int, body: str
) -> None:
    serve(status, body, Content_Type="text/html", Location="http://login.example/")
    with pytest.raises(SdbError, match="the endpoint answers, but not as S3 does"):
        act(stores.store_of(PLACE))


def test_a_wrong_clock_is_told_where_the_answer_has_no_reason(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(403)
    monkeypatch.setattr(_Handler, "date_time_string", lambda *_: "Mon, 02 Feb 2026 00:00:00 GMT")
    with pytest.raises(AccessError, match="the clock of this machine is wrong"):
        stores.store_of(PLACE).head(PLACE)


@pytest.mark.parametrize(
    ("act", "needed"),
    [
        (lambda: stores.store_of(PLACE).find("s3://bucket/*.zion"), "s3:ListBucket"),
        (lambda: stores.store_of(PLACE).delete(PLACE), "s3:DeleteObject"),
        (lambda: stores.store_of(PLACE).uploads("s3://bucket"), "s3:ListBucketMultipartUploads"),
    ],
)
def test_the_missing_permission_is_named(
    serve: Callable[..., str], act: Callable[[], object], needed: str
) -> None:
    serve(403, error_of("AccessDenied"))
    with pytest.raises(SdbError) as caught:
        act()
    check(caught.value, AccessError, "access denied", needed)
