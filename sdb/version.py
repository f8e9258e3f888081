"""The version, where reading it costs nothing."""

from __future__ import annotations

VERSION = "0.1.0"
DISTRIBUTION = "sdb-packfile"  # the name that pip knows; the import and the command are sdb
LINE = f"sdb {VERSION}\n"
