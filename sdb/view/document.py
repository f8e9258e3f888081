"""HTML documents, and texts in them."""

from __future__ import annotations

from html import escape


def text(value: object) -> str:
    """Escape text, and replace what HTML does not allow in a document."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in str(value))
    return escape(shown)


def document(title: str, body: str, *, head: str = "", attributes: str = "") -> str:
    """Write a document.

    * ``head``: More of its head: policies, styles, scripts.
    * ``attributes``: Those of its body, each after a space.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)} - sdb</title>\n{head}</head>\n"
        f"<body{attributes}>\n{body}</body>\n</html>\n"
    )
