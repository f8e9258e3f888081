"""Settings of a root, as people and shells read them: where it is, and the keys for it."""

from __future__ import annotations

import os

from sdb.errors import UsageError
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot

FORMATS = ("text", "sh", "pwsh", "cmd")
_LABELS = {
    "AWS region": "AWS_REGION",
    "AWS access key ID": "AWS_ACCESS_KEY_ID",
    "AWS secret access key": "AWS_SECRET_ACCESS_KEY",
    "AWS session token": "AWS_SESSION_TOKEN",
    "S3 endpoint": "S3_ENDPOINT",
    "Storage prefix": "SNELLER_BUCKET",
    "Index key": "SNELLER_INDEX_KEY",
}
_SECRETS = {"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "SNELLER_INDEX_KEY"}
_VARIABLES = (
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "S3_ENDPOINT",
    "SNELLER_BUCKET",
    "SNELLER_INDEX_KEY",
)


@record
class RootConfig:
    """The settings of a root."""

    # Those that are set, by the names of their environment variables
    values: dict[str, str] = field(repr=False)
    prefix: str  # what the URIs of inputs below the root begin with

    def text(self, *, reveal: bool = False) -> str:
        """Write the settings for people, secrets only where they are asked for."""
        width = max(map(len, _LABELS))
        lines = []
        for label, name in _LABELS.items():
            value = self.values.get(name, "<not set>")
            if name in self.hidden and not reveal:
                value = "<set; --reveal shows it>"
            if name == "SNELLER_BUCKET":
                value = self.prefix
            lines.append(f"{label:>{width}}: {value}\n")
        return "".join(lines)

    def script(self, form: str, *, reveal: bool = False) -> str:
        """Write commands that set environment variables; secrets are left out unless asked for."""
        values = self.values | {
            "AWS_DEFAULT_REGION": self.values.get("AWS_REGION", ""),
            "AWS_SECURITY_TOKEN": "",
        }
        shown = [name for name in _VARIABLES if name not in self.hidden or reveal]
        return "".join(f"{_setting(form, name, values.get(name, ''))}\n" for name in shown)

    @property
    def hidden(self) -> list[str]:
        """Names of the secrets that are set. The key of all local roots is no secret."""
        known = _SECRETS - {"SNELLER_INDEX_KEY"} if self.prefix == "file://" else _SECRETS
        return sorted(known & self.values.keys())

    def as_dict(self, *, reveal: bool = False) -> dict[str, object]:
        """Return the settings as plain values, for JSON; hidden ones are null."""
        hidden = () if reveal else self.hidden
        return {
            "prefix": self.prefix,
            "values": {
                name: None if name in hidden else value for name, value in self.values.items()
            },
        }


def root_config(root: TableRoot) -> RootConfig:
    """Collect the settings of a root.

    Raises `AccessError` or `UsageError` if the settings of S3 are wrong.
    """
    from base64 import b64encode

    from sdb.store.url import absolute, settings

    values = settings()
    if root.store.is_remote:
        values["SNELLER_BUCKET"] = root.location.rstrip("/")
        values["SNELLER_INDEX_KEY"] = os.environ.get("SNELLER_INDEX_KEY", "")
        prefix = values["SNELLER_BUCKET"] + "/"
    else:
        values["SNELLER_BUCKET"] = absolute(root.location)
        values["SNELLER_INDEX_KEY"] = b64encode(root.keyring.keys[0]).decode()
        prefix = "file://"
    return RootConfig({name: value for name, value in values.items() if value}, prefix)


def _setting(form: str, name: str, value: str) -> str:
    """Write one command, so that the shell takes the value as it is."""
    if form == "sh":
        quoted = value.replace("'", "'\\''")
        return f"export {name}='{quoted}'"
    if form == "pwsh":
        quoted = value.replace("'", "''")
        return f"$env:{name}='{quoted}'"
    if form == "cmd":
        return f"set {name}={value}"
    raise UsageError(f"unknown format {form!r}", expected=", ".join(FORMATS))
