"""Other spellings of ``s3://``: those of Hadoop and Spark, and the addresses of AWS."""

from __future__ import annotations

_SCHEME = "s3://"
_HADOOP = ("s3a://", "s3n://", "s3://")
_ADDRESS = (
    r"(?is)https?://(?:(?P<bucket>[a-z0-9][a-z0-9._-]+)\.)?s3[.-](?:dualstack\.)?(?:[a-z0-9-]+\.)?"
    r"amazonaws\.com(?:\.cn)?/(?P<path>.*)"
)


def plain(location: str) -> str:
    """Return a location with ``s3://`` in place of what means the same; others stay.

    >>> plain("s3a://bucket/a b"), plain("https://bucket.s3.eu-west-1.amazonaws.com/a%20b")
    ('s3://bucket/a b', 's3://bucket/a b')
    >>> plain("https://s3.amazonaws.com/bucket/key"), plain("folder/S3")
    ('s3://bucket/key', 'folder/S3')
    """
    start = location[:8].lower()
    if start.startswith(_HADOOP):
        return _SCHEME + location[location.index("://") + 3 :]
    if start.startswith("http") and ".amazonaws.com" in location.lower():
        import re
        from urllib.parse import unquote

        match = re.fullmatch(_ADDRESS, location)
        if match is None:
            return location
        path = unquote(match["path"].partition("?")[0])
        return _SCHEME + (f"{match['bucket']}/{path}" if match["bucket"] else path)
    return location
