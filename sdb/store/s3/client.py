"""Connections to S3: one for each process, with the settings that AWS tools use.

Profile, region, credentials and endpoint come from where boto3 looks for them: environment, files
in ``~/.aws``, the machine's role.
"""

from __future__ import annotations

import os
import re
import threading
from typing import Any
from urllib.parse import urlsplit

from sdb.errors import UsageError
from sdb.records import record
from sdb.store.s3 import answers, requestlog
from sdb.store.s3.failures import translated

Client = Any  # boto3 makes the classes of its clients at run time

CONNECT_SECONDS = 5
READ_SECONDS = 60
ATTEMPTS = 5
CONNECTIONS = 32

_AWS_HOST = re.compile(r"(^|\.)amazonaws\.com(\.cn)?$")
_GOOGLE_HOST = "storage.googleapis.com"


@record
class Endpoint:
    """The service that a process talks to."""

    url: str  # where it is

    @property
    def host(self) -> str:
        """Its host name."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_aws(self) -> bool:
        """True for S3 itself, which is known to do what it says."""
        return bool(_AWS_HOST.search(self.host))

    @property
    def copies_parts(self) -> bool:
        """True if it copies ranges of objects by itself: Google's does not."""
        return not self.host.endswith(_GOOGLE_HOST)


_guard = threading.Lock()
_clients: dict[bool, Client] = {}


def _forget() -> None:
    """Leave the connections to the parent process."""
    global _guard  # noqa: PLW0603 - it may have been held when the process was forked
    _guard = threading.Lock()
    _clients.clear()


os.register_at_fork(after_in_child=_forget)


def connect(*, once: bool = False) -> Client:
    """Return the client of this process, which all threads share.

    * ``once``: Whether requests are sent once only, so that the first answer is that of the only
      request. Otherwise they are repeated after what may pass, up to four times.

    Raises `AccessError` or `UsageError` if the profile or another setting is wrong.
    """
    with _guard:
        if not _clients:
            with translated("connecting to", "S3"):
                try:
                    _clients.update(_build())
                except ValueError as error:  # boto3 does not like the endpoint
                    message = f"connecting to S3: {str(error).rstrip('.')}"
                    hint = "as in AWS_ENDPOINT_URL_S3=http://host:9000, AWS_REGION=eu-central-1"
                    raise UsageError(message, hint=hint) from error
        return _clients[once]


def endpoint() -> Endpoint:
    """Return the service that this process talks to."""
    return Endpoint(connect().meta.endpoint_url)


def disconnect() -> None:
    """Close the connections; the next use makes new ones, with the settings of then."""
    with _guard:
        for client in _clients.values():
            client.close()
        _clients.clear()


def _build() -> dict[bool, Client]:
    from boto3.session import Session

    session = Session(region_name=region())
    style = "auto"
    if not Endpoint(_client(session, style, 1).meta.endpoint_url).is_aws:
        style = "path"
    return {False: _client(session, style, ATTEMPTS), True: _client(session, style, 1)}


def region() -> str | None:
    """Return the region as all other SDKs than boto3 find it; None: boto3 looks for it."""
    return os.environ.get("AWS_REGION") or None


def _client(session: Client, addressing_style: str, attempts: int) -> Client:
    from botocore.config import Config

    client = session.client(
        "s3",
        config=Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": attempts},
            max_pool_connections=CONNECTIONS,
            tcp_keepalive=True,
            user_agent_extra="sdb",
            s3={"addressing_style": addressing_style},
            # Other stores do not know the checksums that AWS would add by itself.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
    requestlog.register(client)
    answers.register(client)
    return client


def settings() -> dict[str, str]:
    """Return the settings that S3 is reached with, by the names of their environment variables.

    Raises `AccessError` or `UsageError` if the profile or another setting is wrong.
    """
    from boto3.session import Session

    with translated("connecting to", "S3"):
        session = Session(region_name=region())
        credentials = session.get_credentials()
        keys = credentials.get_frozen_credentials() if credentials is not None else None
    values = {
        "AWS_REGION": session.region_name,
        "AWS_ACCESS_KEY_ID": keys and keys.access_key,
        "AWS_SECRET_ACCESS_KEY": keys and keys.secret_key,
        "AWS_SESSION_TOKEN": keys and keys.token,
        "S3_ENDPOINT": endpoint().url.rstrip("/"),
    }
    return {name: str(value) for name, value in values.items() if value}
