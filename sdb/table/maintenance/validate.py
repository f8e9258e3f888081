"""Validate a table: the index, every object that it leads to, and every row."""

from __future__ import annotations

from sdb import notes
from sdb.errors import CorruptError, NotFoundError, SdbError, UnsupportedError
from sdb.packfile.inspect import validate
from sdb.packfile.read.ahead import WHOLE_BYTES, in_order
from sdb.packfile.read.reader import open_packfile
from sdb.progress import silent
from sdb.records import record
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.leases import hold
from sdb.table.commit.putback import described
from sdb.table.format import etags
from sdb.table.format.keys import folder_of
from sdb.table.format.versionref import MAIN
from sdb.table.maintenance.keptversions import KeptVersions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor

_CONTENT_ID_LETTERS = 32
_MOST_LOOKS = 3


@record
class TableFinding:
    """One thing that is wrong with a table.

    Attributes
    ----------
    key : str
        The object at fault.
    text : str
        What is wrong with it.
    """

    key: str
    text: str

    def __str__(self) -> str:
        """Return the line that `validate` prints."""
        return self.text if self.text.startswith(self.key) else f"{self.key}: {self.text}"


@record
class TableReport:
    """The findings in a table.

    Attributes
    ----------
    name : str
        The table.
    findings : tuple of TableFinding
        What is wrong.
    dropped : dict
        Numbers of findings beyond those that are kept, by the key of the packfile.
    packfiles : int
        Number of packfiles that were read.
    rows : int
        Number of their rows.
    inputs : int
        Number of inputs that the table knows.
    """

    name: str
    findings: tuple[TableFinding, ...]
    dropped: dict[str, int]
    packfiles: int
    rows: int
    inputs: int

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.findings and not self.dropped


def validate_table(
    handle: TableHandle,
    *,
    threads: int | None = None,
    max_findings: int = validate.MAX_FINDINGS,
    watch: Callable[[str], None] = lambda _: None,
    progress: Progress = silent,
) -> TableReport:
    """Check a table whose index was read.

    * ``threads``: How many threads decode; without it one for each processor.
    * ``max_findings``: How many findings of a packfile are kept; the others are counted.
    * ``watch``: Called with the key of each packfile before it is read.
    * ``progress``: Called with how many bytes of all packfiles were read.
    """
    check = _TableCheck(handle)
    descriptors = check.descriptors()
    total = sum(descriptor.size_bytes for descriptor in descriptors)
    done = 0
    lease = hold(handle)
    try:
        opened = in_order(check.opened, descriptors, is_remote=handle.root.store.is_remote)
        for descriptor, pack in zip(descriptors, opened, strict=True):
            watch(descriptor.key)
            meter = _shifted(progress, done, total)
            check.packfile(descriptor, pack, threads, max_findings, meter)
            done += descriptor.size_bytes
    finally:
        lease.release()
    check.provenance()
    check.kept([descriptor.key for descriptor in descriptors])
    return TableReport(
        handle.name,
        tuple(check.findings),
        check.dropped,
        len(descriptors),
        check.rows,
        len(check.inputs),
    )


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(before + done, total)


class _TableCheck:
    """Collects what is wrong with a table."""

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
        self._root = handle.root
        self._origins: dict[str, set[str]] = {}
        self._are_origins_known = True
        self.findings: list[TableFinding] = []
        self.dropped: dict[str, int] = {}
        self.rows = 0
        self.inputs: dict[str, bool] = {}

    def find(self, key: str, text: str) -> None:
        self.findings.append(TableFinding(key, text))

    def descriptors(self) -> list[Descriptor]:
        """Return the packfiles, of all lists that can be read."""
        descriptors: list[Descriptor] = []
        for ref in self._handle.index.indirect.refs:
            try:
                descriptors += self._handle.listed(ref)
            except SdbError as error:
                self.find(ref.key, error.message)
        descriptors += self._handle.index.inline
        seen: set[str] = set()
        for descriptor in descriptors:
            if descriptor.key in seen:
                self.find(descriptor.key, "the table has this packfile twice")
            seen.add(descriptor.key)
        return descriptors

    def opened(self, descriptor: Descriptor) -> Packfile | SdbError:
        """Open a packfile, or return why it cannot be."""
        size_bytes = descriptor.size_bytes
        try:
            return open_packfile(
                self._root.place(descriptor.key),
                verify=False,
                whole_bytes=size_bytes if size_bytes <= WHOLE_BYTES else 0,
            )
        except (NotFoundError, CorruptError, UnsupportedError) as error:
            return error

    def packfile(
        self,
        descriptor: Descriptor,
        opened: Packfile | SdbError,
        threads: int | None,
        most: int,
        progress: Progress,
    ) -> None:
        """Check a packfile: that it is the one that is meant, and all that is in it."""
        key = descriptor.key
        try:
            if isinstance(opened, SdbError):
                raise opened
            with opened:
                self._compare(descriptor, opened)
                report = validate.validate_opened(opened, threads, most, progress)
        except NotFoundError:
            self.find(key, "is missing")
            return
        except (CorruptError, UnsupportedError) as error:
            self.find(key, error.message)
            return
        self.rows += report.rows
        for finding in report.findings:
            self.find(key, str(finding))
        if report.dropped:
            self.dropped[key] = report.dropped
        if descriptor.rows not in {None, report.rows}:
            self.find(key, f"has {report.rows:,} rows; the index says {descriptor.rows:,}")
        self._collect(key, opened.trailer)

    def _compare(self, descriptor: Descriptor, pack: Packfile) -> None:
        """Compare a packfile with its descriptor and its name."""
        key = descriptor.key
        copied = descriptor.checked().trailer
        reader, trailer = pack.reader, pack.trailer
        if reader.size_bytes != descriptor.size_bytes:
            text = f"has {reader.size_bytes:,} bytes; the index says {descriptor.size_bytes:,}"
            self.find(key, text)
        etag = reader.etag
        if not etag or etags.is_of_content(descriptor.etag):
            etag = etags.of_content(reader.pieces(0, reader.size_bytes))
        if etag != descriptor.etag:
            self.find(key, f"etag changed: {descriptor.etag} -> {etag}")
        if (copied.blocks, copied.algorithm) != (trailer.blocks, trailer.algorithm):
            self.find(key, "its trailer is not the one that the index has")
        if copied.sparse.constants != trailer.sparse.constants:
            self.find(key, "its constants are not those that the index has")
        self._compare_times(key, copied, trailer)
        named = _content_id(key)
        if named is not None and etags.read_content_id(reader) != named:
            self.find(key, "its content does not match the digest in its name")

    def _compare_times(self, key: str, copied: Trailer, trailer: Trailer) -> None:
        """Require time indexes in the index that do not leave out blocks that have rows."""
        for path, index in copied.sparse.indices.items():
            own = trailer.sparse.indices.get(path)
            if own is None or own.is_empty or index.is_empty:
                continue
            for block in range(len(trailer.blocks)):
                bounds, mine = index.known_range(block), own.known_range(block)
                if bounds and mine and (bounds[0] > mine[0] or bounds[1] < mine[1]):
                    name = ".".join(path)
                    text = f"the index gives block {block} other times at {name} than it has"
                    self.find(key, text)
                    break

    def _collect(self, key: str, trailer: Trailer) -> None:
        """Record the inputs that a packfile names."""
        try:
            provenance = trailer.sparse.provenance()
        except CorruptError:
            return  # reported already
        if provenance is None or not provenance.complete:
            self._are_origins_known = False
            return
        for origin in provenance.origins:
            self._origins.setdefault(origin.name, set()).add(key)

    def provenance(self) -> None:
        """Compare the inputs that packfiles name with those that the table has taken."""
        try:
            for entry in self._handle.inputs.walk():
                self.inputs[entry.path] = not entry.is_failed
        except SdbError as error:
            self.find(error.path or self._handle.keys.index, error.message)
            return
        for name, keys in sorted(self._origins.items()):
            if self.inputs.get(name) is False:
                self.find(min(keys), f"has rows of {name}, which the inputs tree says has failed")
            if len(keys) > 1 and name in self.inputs:
                self.find(max(keys), f"has rows of {name}, as {min(keys)} has")

    def kept(self, seen: Collection[str]) -> None:
        """Look at the versions that the table keeps, and at what they lead to.

        Versions in the history of an old version may have expired since.
        """
        keys, path = self._handle.keys, self._handle.reader.path
        if path.startswith(self._root.place(f"{keys.folder}/versions/")):
            return
        head, findings = self._handle, []
        for _ in range(_MOST_LOOKS):
            findings = list(KeptVersions(head, seen).findings())
            now = self._head() if findings else head
            if now is None:
                return  # the branch has gone
            if now.data == head.data:
                break
            head = now  # what is missing may have expired since the head before was read
        for key, text in findings:
            self.find(key, text)
        newer = described(head)
        if newer is not None and newer.was_put_back:
            self.find(newer.key, newer.text)
        elif newer is not None:
            notes.tell(f"{newer.key} {newer.text}")  # a commit that was killed does no harm

    def _head(self) -> TableHandle | None:
        """Return the newest version of the branch as it is now; None if the branch has gone."""
        keys, state = self._handle.keys, self._handle.state
        branch = MAIN if state is None else state.branch or MAIN
        head = find_table(self._root, keys.database, keys.table, branch=branch)
        return self._handle if head is None and branch == MAIN else head


def _content_id(key: str) -> str | None:
    """Return the content id that a packfile of ours is named by; None: it is not one of ours."""
    if not key.startswith(f"{folder_of(key)}/data/"):
        return None
    name = key.rpartition("/")[2].removesuffix(".zion").partition("-")[0].partition(".")[0]
    return name if len(name) == _CONTENT_ID_LETTERS else None
