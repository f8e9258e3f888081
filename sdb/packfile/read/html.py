"""Facts of an open packfile, as a table for notebooks."""

from __future__ import annotations

import html

from sdb import instants, ion, sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.read.reader import Packfile


def page(pack: Packfile) -> str:
    """Draw the facts of a packfile as HTML."""
    trailer = pack.trailer
    facts = [
        ("rows", "not counted" if trailer.rows is None else f"{trailer.rows:,}"),
        ("blocks", f"{len(trailer.blocks):,} of {trailer.chunks:,} chunks"),
        ("size", f"{sizes.human(pack.size_bytes)} ({trailer.packed_as})"),
        ("decompressed", sizes.human(trailer.decompressed_bytes)),
    ]
    facts += [(name, _shown(value)) for name, value in trailer.sparse.constants.items()]
    facts += [
        (".".join(path), f"{instants.text(index.first_us)} to {instants.text(index.last_us)}")
        for path, index in trailer.sparse.indices.items()
    ]
    rows = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in facts
    )
    return f"<table><caption>{html.escape(pack.path)}</caption><tbody>{rows}</tbody></table>"


def _shown(value: object) -> str:
    us = ion.instant_to_us(value)
    return instants.text(us) if us is not None else str(value)
