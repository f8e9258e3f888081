"""The signature of an index: 34 bytes behind it, made with a key that all machines share."""

from __future__ import annotations

import os

from sdb.errors import CorruptError, UsageError
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

VARIABLE = "SNELLER_INDEX_KEY"
KEY_BYTES = 32
_MAC_BYTES = 32
_PAD = b"\x0e\xa0"  # padding of 32 bytes: other readers of Ion skip the signature
SIGNATURE_BYTES = len(_PAD) + _MAC_BYTES
_LOCAL = bytes.fromhex("52fdfc072182654f163f5f0f9a621d729566c74d10037c4d7bbb0407d1e2c649")


@record
class Keyring:
    """Keys for indexes: the first signs, all verify."""

    # The keys, 32 bytes each; with none nothing is verified, and nothing can be signed
    keys: tuple[bytes, ...] = field(default=(), repr=False)
    names: tuple[str, ...] = ()  # their names, for people; empty where a key has none

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read keys as the environment has them.

        * ``text``: A key in base64, or several: ``id=base64,id=base64``.

        Raises `UsageError` for a key that is not 32 bytes in base64, or a name that occurs twice.
        """
        keys: list[bytes] = []
        names: list[str] = []
        for item in text.split(","):
            name, mark, coded = item.strip().partition("=")
            if not mark or not coded.strip("="):  # the only "=" are those at the end of base64
                name, coded = "", item.strip()
            keys.append(_decoded(coded))
            if name in names:
                raise UsageError(f"{VARIABLE} has two keys with the name {name!r}")
            names.append(name)
        return cls(tuple(keys), tuple(names))

    @classmethod
    def of_root(cls, *, is_remote: bool, environment: Mapping[str, str] | None = None) -> Self:
        """Return the keys of a root.

        * ``is_remote``: Whether the root is an S3 bucket. Local roots have a key that everyone
          knows, so that the signature finds damage and nothing else.
        * ``environment``: Environment variables; those of the process if not given.

        Returns: The keys; none when the variable for S3 is not set.
        """
        if not is_remote:
            return cls((_LOCAL,), ("",))
        text = (os.environ if environment is None else environment).get(VARIABLE, "")
        return cls.parse(text) if text else cls()

    def sign(self, data: bytes) -> bytes:
        """Return an index with its signature. Raises `UsageError` if there is no key."""
        if not self.keys:
            raise UsageError(
                "there is no key to sign the index with",
                hint=f"set {VARIABLE} to the key of the bucket (sdb config root prints it where it "
                "is known); sdb config set index-key --new makes one",
            )
        padded = data + _PAD
        return padded + _mac(padded, self.keys[0])

    def open(self, data: bytes) -> bytes:
        """Verify the signature of an index, and give the index without it.

        Raises `CorruptError` if it is too short, or no key made the signature.
        """
        from hmac import compare_digest

        if len(data) < SIGNATURE_BYTES:
            raise CorruptError(
                f"encoded size {len(data)} too small to fit signature ({SIGNATURE_BYTES})"
            )
        signed, mac = data[:-_MAC_BYTES], data[-_MAC_BYTES:]
        good = [compare_digest(_mac(signed, key), mac) for key in self.keys]
        if self.keys and not any(good):
            raise CorruptError("bad index signature")
        return signed


def _mac(data: bytes, key: bytes) -> bytes:
    from hashlib import blake2b

    return blake2b(data, digest_size=_MAC_BYTES, key=key).digest()


def _decoded(coded: str) -> bytes:
    from base64 import b64decode

    try:
        key = b64decode(coded, validate=True)
    except ValueError:
        raise UsageError(f"{VARIABLE} is not base64", expected="32 bytes in base64") from None
    if len(key) != KEY_BYTES:
        raise UsageError(f"unexpected {VARIABLE} length {len(key)}", expected="32 bytes in base64")
    return key
