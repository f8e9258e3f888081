"""The step in which an object appears, and what to do when it is not known whether it did.

The request is sent once. When there is no answer, or one that may come from a repetition by
something in between, the store is asked what is there:

* an object that has the number of this write among the writes that made it: it took place;
* what was there before: the request is sent again, which is harmless, because it has a condition;
* something else: another writer was faster. The request can never succeed any more.

A store that refuses the request, and was never sent another one without an answer, has decided by
that, even if reading is not allowed.

An upload is aborted before the failure is reported, so that it cannot succeed afterwards.
"""

from __future__ import annotations

import enum

from sdb.errors import ExistsError, SdbError, UncertainError
from sdb.log import Logger
from sdb.records import record
from sdb.retry import Backoff
from sdb.store.s3.client import connect
from sdb.store.s3.failures import changed, is_answer, is_refusal, status_of, translate, was_sent
from sdb.store.s3.history import ids_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sdb.store.s3.address import ObjectAddress
    from sdb.store.s3.objects import S3Reader
    from sdb.store.s3.upload import Upload

ATTEMPTS = 5
_log = Logger("sdb.store.s3")
_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.6
_SENDING_SECONDS = 60  # well within the time that a lock lasts
_NOT_FOUND = 404


@record
class Condition:
    """The condition on a place for an object to appear there."""

    replaced: S3Reader | None = None  # this version of the object
    absent: bool = False  # no object at all. Without either, anything may be there.
    enforced: bool = True  # whether the store has to enforce it; otherwise it is only looked at

    @property
    def headers(self) -> dict[str, str]:
        """The arguments of a request."""
        if not self.enforced:
            return {}
        if self.replaced is not None:
            return {"IfMatch": self.replaced.etag}
        return {"IfNoneMatch": "*"} if self.absent else {}


class _Now(enum.Enum):
    """The object that is there, compared to what was and what should be."""

    OURS = enum.auto()
    BEFORE = enum.auto()
    THEIRS = enum.auto()
    UNRELATED = enum.auto()


@record
class Publication:
    """An object that is about to appear."""

    address: ObjectAddress  # where
    write_id: str  # the number of the write, which the object has in its metadata
    condition: Condition  # what must be there
    send: Callable[[], Any]  # sends the request, once
    upload: Upload | None = None  # the upload that it completes, if it does

    def run(self) -> str:
        """Publish the object.

        Returns: Its ETag; empty when the answer was lost and the object was replaced since.
        Raises `ConflictError` if another writer was faster, and this write will not take place any
        more; `ExistsError` if there is an object already; `UncertainError` if it is not known
        whether the object was published; `SdbError` if it was not.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        if not self.condition.enforced and self._look() is not _Now.BEFORE:
            raise self._lost()
        sure = True
        last: Exception | None = None
        backoff = Backoff(
            f"writing {self.address}",
            _log,
            first_seconds=_PAUSE_SECONDS,
            longest_seconds=_LONGEST_PAUSE_SECONDS,
            patience_seconds=_SENDING_SECONDS,
            attempts=ATTEMPTS,
        )
        while True:
            try:
                return str(self.send().get("ETag", ""))
            except (ClientError, BotoCoreError) as error:
                sure = sure and (is_answer(error) or not was_sent(error))
                last = error
                if self._is_settled(error, sure=sure):
                    return self._own_etag()
                if not backoff.may_retry(error):
                    break
            backoff.pause()
        self._abort(last if sure else None, sure=sure)
        return self._own_etag()

    def _own_etag(self) -> str:
        """Ask for the ETag of an object that was published without an answer."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = connect().head_object(**self.address.names)
        except (ClientError, BotoCoreError):
            return ""
        return str(answer["ETag"]) if self.write_id in ids_of(answer)[:1] else ""

    def _is_settled(self, error: Exception, *, sure: bool) -> bool:
        """Find out what became of the request; false when it may be sent again."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            now = self._look()
        except (ClientError, BotoCoreError):
            if sure and is_refusal(error):
                self._abort(error, sure=True)
            return False
        if now is _Now.OURS:
            return True
        if now is _Now.THEIRS or (now is _Now.UNRELATED and sure):
            raise self._lost() from error
        if now is _Now.UNRELATED:
            self._compare_uploads(error)
        if is_answer(error):
            self._abort(error, sure=sure)
            return True
        return False

    def _look(self) -> _Now:
        """Ask the store what is there."""
        from botocore.exceptions import ClientError

        replaced = self.condition.replaced
        try:
            answer = connect().head_object(**self.address.names)
        except ClientError as error:
            if status_of(error) != _NOT_FOUND:
                raise
            return _Now.UNRELATED if replaced else _Now.BEFORE
        ids = ids_of(answer)
        if self.write_id in ids:
            return _Now.OURS
        if replaced is None:
            return _Now.UNRELATED if self.condition.absent else _Now.BEFORE
        if answer["ETag"] == replaced.etag:
            return _Now.BEFORE
        # Each write that came after the version that was read has it among its own.
        is_heir = bool(replaced.history) and replaced.history[0] in ids
        return _Now.THEIRS if is_heir else _Now.UNRELATED

    def _compare_uploads(self, error: Exception) -> None:
        """Report a write that never took place from one that was replaced at once."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            took_place = self.upload is None or self.upload.is_gone()
        except (ClientError, BotoCoreError) as unseen:
            raise self._unknown() from unseen
        if not took_place:
            raise self._lost() from error
        raise self._unknown() from error

    def _abort(self, error: Exception | None, *, sure: bool = False) -> None:
        """Make sure that the object does not appear later, and say that it did not."""
        from botocore.exceptions import BotoCoreError, ClientError

        is_over = sure if self.upload is None else self.upload.abort()
        if sure and error is not None and (is_refusal(error) or not was_sent(error)):
            # Whatever can be seen or given up: no request of it was taken.
            raise translate(error, "writing", str(self.address)) from error
        if not is_over:
            raise self._unknown() from error
        try:
            now = self._look()
        except (ClientError, BotoCoreError) as unseen:
            raise self._unknown() from unseen
        if now is _Now.OURS:
            return
        if error is not None:
            raise translate(error, "writing", str(self.address)) from error
        message = f"writing {self.address}: the store did not complete it; nothing was changed"
        raise SdbError(message, path=str(self.address), hint="run it again")

    def _lost(self) -> SdbError:
        url = str(self.address)
        if self.condition.absent:
            return ExistsError(f"{url} exists already", path=url, hint="--force replaces it")
        return changed(f"writing {url}", url)

    def _unknown(self) -> UncertainError:
        return UncertainError(
            f"writing {self.address}: no answer, and it cannot be seen whether it took place",
            path=str(self.address),
            hint="look at what is there before you run it again",
        )
