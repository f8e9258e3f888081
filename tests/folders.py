"""Packfiles of a folder that count, as tests of jobs look at them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sdb.packfile.read.resolve import _in_folder, _Manifests
from sdb.store.url import store_of

if TYPE_CHECKING:
    from sdb.packfile.read.resolve import PackfileReference
    from sdb.store.base import Location


def contents(folder: Location) -> list[PackfileReference]:
    """List them, none where there are none; see :func:`sdb.packfile.read.resolve.resolve`."""
    return _in_folder(os.fspath(folder), store_of(folder), _Manifests())
