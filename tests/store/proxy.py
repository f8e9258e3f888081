"""A proxy between `sdb` and an S3 server that does what networks and servers do on bad days."""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.store import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FAULTS = ("reset", "500", "503", "slow", "lost", "truncated", "twice", "twice, first answer")
_CODES = {
    400: "InvalidRequest",
    403: "AccessDenied",
    500: "InternalError",
    501: "NotImplemented",
    503: "SlowDown",
}
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Request:
    """A request on its way."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        """Its name in the protocol of S3."""
        if "/.sdb-lock-" in self.path:
            return f"Lock {self.method}"
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        match self.method:
            case "POST":
                return "CompleteMultipartUpload" if "uploadId" in query else "CreateMultipartUpload"
            case "PUT" if "partNumber" in query:
                is_copy = any(name.lower() == "x-amz-copy-source" for name in self.headers)
                return "UploadPartCopy" if is_copy else "UploadPart"
            case "PUT":
                return "PutObject"
            case "DELETE":
                return "AbortMultipartUpload" if "uploadId" in query else "DeleteObject"
            case "HEAD":
                return "HeadObject"
            case _:
                return "ListParts" if "uploadId" in query else "GetObject"


@dataclass
class Proxy:
    """What to do to the requests, and what was done."""

    port: int
    choose: Callable[[Request], str] = lambda _: ""
    log: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""
    ignored: frozenset[str] = frozenset()
    slow_seconds: float = 0.2
    sent_bytes: int = 0  # of bodies of answers


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name
        """Say nothing."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {n: v for n, v in self.headers.items() if n.lower() != "expect"}
        request = Request(self.command, self.path, headers, body)
        if self.proxy.ignored & {name.lower() for name in headers}:
            request = _without(request, self.proxy.ignored)
        fault = self.proxy.choose(request)
        self.proxy.log.append((request.kind, fault))
        if fault == "reset":
            return self._reset()
        if fault.isdecimal():
            return self._fail(int(fault))
        if fault == "slow":
            time.sleep(self.proxy.slow_seconds)
        answer = self._forward(request)
        if fault.startswith("twice"):
            second = self._forward(request)
            answer = answer if fault == "twice, first answer" else second
        if fault == "lost":
            return self._reset()
        if fault == "goodbye":
            # Nobody listens any more: later connections are refused.
            self.server.socket.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        return self._answer(*answer, truncated=fault == "truncated")

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - their names

    def _forward(self, request: Request) -> tuple[int, list[tuple[str, str]], bytes]:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=60)
        ) as connection:
            connection.putrequest(
                request.method, request.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in request.headers.items():
                connection.putheader(name, value)
            connection.endheaders(request.body)
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()

    def _answer(
        self, status: int, headers: list[tuple[str, str]], body: bytes, *, truncated: bool
    ) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                self.send_header(name, value)
        length = next((v for n, v in headers if n.lower() == "content-length"), str(len(body)))
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body[: len(body) // 2] if truncated else body)
        self.proxy.sent_bytes += len(body)
        self.close_connection = self.close_connection or truncated

    def _fail(self, status: int) -> None:
        code = _CODES[status]
        text = f"<Error><Code>{code}</Code><Message>on purpose</Message></Error>".encode()
        self._answer(status, [("Content-Type", "application/xml")], text, truncated=False)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.close_connection = True


def _without(request: Request, ignored: frozenset[str]) -> Request:
    """Sign a request again that lacks headers which some servers do not know."""
    own = {"authorization", "x-amz-date", "x-amz-content-sha256", "content-length", "host"}
    headers = {n: v for n, v in request.headers.items() if n.lower() not in own | ignored}
    url = f"http://{request.headers['Host']}{request.path}"
    again = AWSRequest(request.method, url, headers, request.body)
    S3SigV4Auth(Credentials(server.KEY, server.SECRET), "s3", "us-east-1").add_auth(again)
    signed = {"Host": request.headers["Host"], **dict(again.headers.items())}
    signed["Content-Length"] = str(len(request.body))
    return Request(request.method, request.path, signed, request.body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of clients that went away."""

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """Close without a polite end, which would hide a reset."""
        assert isinstance(request, socket.socket)
        request.close()


@contextlib.contextmanager
def running(upstream: str) -> Iterator[Proxy]:
    """Run a proxy in front of a server."""
    proxy = Proxy(urlsplit(upstream).port or 80)
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    with _Server(("127.0.0.1", 0), handler) as server:
        proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
