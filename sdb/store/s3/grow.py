"""Objects that grow: a multipart copy takes over what stays, and only what is new is sent."""

from __future__ import annotations

import contextlib

from sdb.store.s3.address import parse
from sdb.store.s3.client import connect, endpoint
from sdb.store.s3.drafts import S3Draft, check_absent, drafting
from sdb.store.s3.failures import changed, translated
from sdb.store.s3.objects import S3Reader
from sdb.store.s3.parts import MIN_PART_BYTES, copy_ranges
from sdb.store.s3.probe import check_conditions
from sdb.store.s3.publish import Condition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.store.base import Reader
    from sdb.store.s3.address import ObjectAddress


class GrowingDraft(S3Draft):
    """An object in the making whose first bytes are those of another one."""

    def __init__(self, address: ObjectAddress, source: Reader, kept_bytes: int) -> None:
        super().__init__(address, source.settings if isinstance(source, S3Reader) else {})
        self._source = source
        self._kept_bytes = kept_bytes
        self.copied_bytes = 0
        self.kept_by = "upload"
        self.sources: dict[str, S3Reader] = {}

    def begin(self) -> None:
        """Take the first bytes over."""
        self.copy_range(self._source, 0, self._kept_bytes)
        if self.copied_bytes:
            self.kept_by = "server"

    def copy_range(self, source: Reader, start: int, stop: int) -> None:
        """Write a range of another object at the end; the store copies what makes whole parts."""
        if isinstance(source, S3Reader):
            self.sources[source.path] = source
            read = self.parts.missing_bytes if endpoint().copies_parts else stop - start
            if stop - start - read >= MIN_PART_BYTES:
                self._write_range(source, start, start + read)
                start += read
                self.parts.flush()
                for first, last in copy_ranges(stop - start):
                    self.upload.copy(source, start + first, start + last)
                self.copied_bytes += stop - start
                return
        self._write_range(source, start, stop)

    def _write_range(self, source: Reader, start: int, stop: int) -> None:
        for piece in source.pieces(start, stop):
            self.write(piece)


@contextlib.contextmanager
def create_from_prefix(
    source: Reader,
    kept_bytes: int,
    url: str,
    *,
    overwrite: bool = False,
    single_writer: bool = False,
) -> Iterator[GrowingDraft]:
    """Write an object that begins with the bytes of another one, and appears when it is complete.

    * ``source``: The object to begin with. What another store holds, and what is too small to be
      copied by the store, is read and sent.
    * ``url``: Where the object shall be. When it is the place that `source` was opened at, the
      object there is replaced, provided that it is still the same.
    * ``overwrite``: Whether an object at another place may be replaced.
    * ``single_writer``: Whether the caller vouches for nobody else writing there, so that the store
      need not enforce conditions.

    Raises `ConflictError` if someone replaced `source` since it was opened; theirs stays;
    `ExistsError`, `NotFoundError` or `AccessError` as :func:`sdb.store.s3.drafts.atomic_write`
    does; `UnsupportedError` if the endpoint ignores conditions, and `single_writer` is off;
    `UncertainError` if it is not known whether the object was written.
    """
    address = parse(url)
    original = source if isinstance(source, S3Reader) else None
    replaced = original if original is not None and original.address == address else None
    if replaced is None and not overwrite:
        check_absent(address)
    condition = Condition(replaced, replaced is None and not overwrite, not single_writer)
    with drafting(GrowingDraft(address, source, kept_bytes)) as draft:
        is_checked = replaced is not None and not single_writer
        if is_checked:
            check_conditions(address, completion=kept_bytes >= MIN_PART_BYTES)
        draft.begin()
        yield draft
        if is_checked:
            check_conditions(address, completion=bool(draft.upload.id))
        for copied in draft.sources.values():
            if copied is not replaced:
                _check_unchanged(copied)
        draft.publish(condition)


def _check_unchanged(source: S3Reader) -> None:
    """Check that the source is what was read of it: not every store does when it copies."""
    with translated("reading", source.path):
        answer = connect().head_object(**source.address.names)
    if answer["ETag"] != source.etag:
        raise changed(f"reading {source.path}", source.path)
