"""Play seeds: ``python -m tests.table.simulation --help``."""

from __future__ import annotations

import sys

from tests.table.simulation.play import main

sys.exit(main())
