# What the Rust module offers: bytes in, bytes out. Alphabetical.
# ruff: noqa: A002

from typing import Any, Self, final

from collections.abc import Iterator
from typing import Any, TypeAlias, final

__version__: str

# Path of a timestamp, first microsecond, and the one after the last.
_TimeFilter: TypeAlias = tuple[list[str], int | None, int | None]
# First and last microsecond, and number of timestamps, for each path.
_Ranges: TypeAlias = dict[tuple[str, ...], tuple[int, int, int]]

def ion_dumps(value: object, /) -> bytes: ...
def ion_loads(data: bytes, /) -> object: ...
def rows(
    block: bytes | bytearray | memoryview,
    algorithm: str,
    align: int,
    fields: list[str] | None = None,
    time_filter: _TimeFilter | None = None,
) -> Iterator[dict[str, Any]]: ...
def verify_block(
    block: bytes | bytearray | memoryview,
    algorithm: str,
    align: int,
    paths: list[list[str]],
    constants: dict[str, Any] | None = None,
    block: bytes,
    algorithm: str,
    align: int,
    fields: list[str] | None = None,
    time_filter: tuple[list[str], int | None, int | None] | None = None,
) -> RowIterator: ...
def verify_block(
    block: bytes,
    algorithm: str,
    align: int,
    paths: list[list[str]],
    constants: dict[str, object] | None = None,
    max_findings: int = 1000,
) -> BlockReport: ...

@final
class BlockReport:
    @property
    def chunk_ranges(self) -> list[_Ranges]: ...
    def chunk_ranges(self) -> list[dict[tuple[str, ...], tuple[int, int, int]]]: ...
    @property
    def chunks(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    @property
    def dropped(self) -> int: ...
    @property
    def findings(self) -> list[tuple[int, int | None, str]]: ...
    @property
    def ranges(self) -> _Ranges: ...
    def ranges(self) -> dict[tuple[str, ...], tuple[int, int, int]]: ...
    @property
    def rows(self) -> int: ...
    @property
    def types(self) -> dict[tuple[str, ...], int]: ...

class Packer:
    def __init__(
        self,
        *,
        algorithm: str,
        align: int = ...,
        block_bytes: int = ...,
        threads: int = 0,
        level: int = 3,
        constants: bytes | None = None,
        skip_errors: bool = False,
        part_bytes: int = ...,
    ) -> None: ...
    def begin(
        self,
        name: str,
        format: str,  # noqa: A002
        compression: str,
        hints: bytes | None,
    ) -> None: ...
    def feed(self, data: bytes) -> None: ...
    def end(self) -> None: ...
    def take(self) -> list[bytes]: ...
    def wait(self) -> bool: ...
    def close(self) -> None: ...
    def take_rejected(self) -> list[tuple[str, int, int, str, bytes]]: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def runs(
        self,
    ) -> list[tuple[int, int, int, dict[tuple[str, ...], tuple[int, int, int]], bool]]: ...
    @property
    def text_bytes(self) -> int: ...
    @property
    def types(self) -> tuple[dict[tuple[str, ...], int], bool]: ...

@final
class Unpacker:
    def __init__(
        self,
class RowIterator:
    def __iter__(self) -> Self: ...
    def __next__(self) -> dict[str, Any]: ...

@final
class Unpacker:
    def __new__(
        cls,
        algorithm: str,
        align: int,
        *,
        threads: int = 0,
        format: str = "json",  # noqa: A002
        fields: list[str] | None = None,
        time_filter: _TimeFilter | None = None,
        limit: int | None = None,
    ) -> None: ...
    def feed(self, block: bytes | bytearray | memoryview, chunks: int | None = None) -> None: ...
        format: str = "json",
        fields: list[str] | None = None,
        time_filter: tuple[list[str], int | None, int | None] | None = None,
        limit: int | None = None,
    ) -> Self: ...
    def feed(self, block: bytes, chunks: int | None = None) -> None: ...
    def take(self, *, wait: bool = False) -> list[bytes]: ...
    def finish(self) -> list[bytes]: ...
    @property
    def done(self) -> bool: ...
    @property
    def failed_block(self) -> int | None: ...
    @property
    def queued(self) -> int: ...
    @property
    def remaining(self) -> int | None: ...
