"""Selectivity: how many blocks a search for one value reads, by their zone maps."""

from __future__ import annotations

import math
from itertools import islice

from sdb.packfile.trailer.zonemap import TEXT_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sdb.packfile.trailer.zonemap import Zone

_PROBED_BLOCKS = 16


def share_read(zones: Sequence[Zone | None]) -> float:
    """Return the share of blocks that may have what is in the middle of a block, on average.

    The least value would not do: of ids, which are alike in all blocks, it is below the bounds of
    half of them.

    Examples
    --------
    >>> from sdb.packfile.trailer.zonemap import Zone
    >>> share_read([Zone(4, 9, numbers=(0, 9)), Zone(4, 9, numbers=(9, 19))])
    0.5
    """
    held = [zone for zone in zones if zone is not None]
    probes = list(islice(held, 0, None, max(1, len(held) // _PROBED_BLOCKS)))
    if len(zones) == 1:
        return 1.0
    read = 0
    for probe in probes:
        pair = probe.numbers or probe.times or probe.texts
        if pair is None:
            read += sum(zone is None or zone.types & probe.types != 0 for zone in zones)
            continue
        value = _middle(*pair)
        for zone in zones:
            read += zone is None or _may_hold(zone, probe, value)
    return read / (len(probes) * len(zones)) if probes else 1.0


def _middle(least: Any, greatest: Any) -> Any:  # noqa: ANN401 - numbers, times or texts
    """Return what lies in the middle between two bounds."""
    if greatest is None or least == greatest:
        return least
    if isinstance(least, bytes):
        whole = [int.from_bytes(text.ljust(TEXT_BYTES, b"\0"), "big") for text in (least, greatest)]
        return (sum(whole) // 2).to_bytes(TEXT_BYTES, "big")
    middle = (least + greatest) / 2
    return middle if math.isfinite(middle) else least


def _may_hold(zone: Zone, probe: Zone, value: object) -> bool:
    for name in ("numbers", "times", "texts"):
        if getattr(probe, name) is not None:
            pair = getattr(zone, name)
            return pair is not None and pair[0] <= value and (pair[1] is None or value <= pair[1])
    return True
