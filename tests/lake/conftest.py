from __future__ import annotations

from tests.cli.conftest import forks, run
from tests.store.conftest import bucket, endpoint

__all__ = ["bucket", "endpoint", "forks", "run"]
