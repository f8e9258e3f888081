from __future__ import annotations

from tests.cli.conftest import forks, run

__all__ = ["forks", "run"]
