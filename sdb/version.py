"""The version, where reading it costs nothing."""

from __future__ import annotations

VERSION = "0.1.0"
LINE = f"sdb {VERSION}\n"
