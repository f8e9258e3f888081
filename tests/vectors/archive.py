"""The vectors as they are checked in: an archive for each folder, and the hashes of what is inside.

    python -m tests.vectors.archive             print the folder of the vectors, unpacked
    python -m tests.vectors.archive --check     compare with where they come from
    python -m tests.vectors.archive --refresh   take over what is there now (make vectors)

They come from `SDB_VECTORS`, or from `../shared/vectors`. It runs with any Python and without
packages, so that the tests of the Rust core can call it, too.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import os
import sys
import tarfile
import tempfile
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORED = Path(__file__).resolve().parent / "stored"
CONTENTS = "contents.txt"
"""The hash and the name of each file, as `sha256sum --check` reads them in the unpacked folder."""

CACHE = ROOT / ".pytest_cache" / "vectors"

LEFT_OUT = (
    "packfile/golden/s*/input.json*",
    "packfile/golden/s*/[abc].json*",
    "packfile/golden/d17-*/input.json.gz",
)
"""What no test reads and takes a megabyte: inputs of packfiles that are not packed again."""


_DRAFT = ".draft-"


class VectorsError(Exception):
    """The vectors are not what they should be."""


def source() -> Path:
    """Return the folder that the vectors come from."""
    return Path(os.environ.get("SDB_VECTORS") or ROOT.parent / "shared" / "vectors")


def files(folder: Path) -> dict[str, bytes]:
    """Read the files of a folder that belong into the archives, by name."""
    actual = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    return {
        name: path.read_bytes()
        for name, path in sorted(actual.items())
        if "/" in name and not any(fnmatchcase(name, pattern) for pattern in LEFT_OUT)
    }


def contents(stored: Path = STORED) -> dict[str, str]:
    """Read the hash of each file that is checked in, by name."""
    pairs = (line.split("  ", 1) for line in (stored / CONTENTS).read_text().splitlines())
    return {name: pair for pair, name in pairs}


def hashes(facts: dict[str, bytes]) -> dict[str, str]:
    """Return the hash of each file by name."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in facts.items()}


def differences(folder: Path, stored: Path = STORED) -> list[str]:
    """Return a line for each file that differs between a folder and what is checked in."""
    there, here = hashes(files(folder)), contents(stored)
    lines = [f"{name}: not checked in" for name in there.keys() - here.keys()]
    lines += [f"{name}: checked in, but no longer there" for name in here.keys() - there.keys()]
    both = there.keys() & here.keys()
    return sorted(lines + [f"{name}: differs" for name in both if there[name] != here[name]])


def check(folder: Path, stored: Path = STORED) -> None:
    """Raise `VectorsError`, with a line for each file that differs, unless a folder is the same."""
    if not folder.is_dir():
        raise VectorsError(f"no vectors at {folder}: set SDB_VECTORS to their folder")
    wrong = differences(folder, stored)
    if wrong:
        wrong.append(f"{folder} has other vectors: make vectors takes them over")
        raise VectorsError("\n".join(wrong))


def refresh(folder: Path, stored: Path = STORED) -> list[str]:
    """Take over the files of a folder; return the names of the archives that were written.

    An archive with the same files stays as it is, since another release of the compressor may
    write other bytes, and each change of an archive stays in the history of the repository.
    """
    actual = files(folder)
    if not actual:
        raise VectorsError(f"no vectors in {folder}: set SDB_VECTORS to their folder")
    now = hashes(actual)
    old = contents(stored) if (stored / CONTENTS).exists() else {}
    stored.mkdir(exist_ok=True)
    written = []
    tops = {name.split("/")[0] for name in actual}
    for top in sorted(tops):
        inside = {name for name in actual if name.startswith(f"{top}/")}
        target = stored / f"{top}.tar.xz"
        before = {name: known for name, known in old.items() if name.startswith(f"{top}/")}
        if target.exists() and before == {name: now[name] for name in inside}:
            continue
        target.write_bytes(packed({name: actual[name] for name in inside}))
        written.append(target.name)
    for path in stored.glob("*.tar.xz"):
        if path.name.removesuffix(".tar.xz") not in tops:
            path.unlink()
    lines = [f"{known}  {name}\n" for name, known in sorted(now.items())]
    (stored / CONTENTS).write_text("".join(lines))
    return written


def packed(facts: dict[str, bytes]) -> bytes:
    """Return files as an archive, of which nothing depends on who makes it and when."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(facts.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def unpacked(stored: Path = STORED, cache: Path = CACHE) -> Path:
    """Return the folder of the vectors, unpacked at the first call for these archives.

    Many processes may do so at once: the folder gets its name when all is in it and was compared
    with the hashes. Folders of other archives go.

    Raises
    ------
    VectorsError
        An archive is missing or damaged: the checkout is not whole.
    """
    archives = sorted(stored.glob("*.tar.xz"))
    whole = hashlib.sha256()
    for path in [stored / CONTENTS, *archives]:
        if not path.exists():
            raise VectorsError(f"{path} is missing: git checkout -- tests/vectors/stored")
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    folder = cache / whole.hexdigest()[:16]
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    others = [other for other in cache.iterdir() if not other.name.startswith(_DRAFT)]
    with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=cache) as name:
        draft = Path(name) / "new"
        for path in archives:
            _extract(path, draft)
        wrong = differences(draft, stored)
        if wrong:
            raise VectorsError(f"the archives in {stored} are not what {CONTENTS} says: {wrong[0]}")
        with suppress(OSError):  # another process was faster, and what it made is the same
            draft.rename(folder)
        for other in others:
            with suppress(OSError):
                other.rename(Path(name) / other.name)  # what is left of it is never taken as whole
    if not folder.is_dir():
        raise VectorsError(f"the vectors cannot be put at {folder}")
    return folder


def _extract(path: Path, folder: Path) -> None:
    known = contents(path.parent)
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member)
                if member.name not in known or file is None:
                    raise VectorsError(f"{path} has {member.name}, which {CONTENTS} does not")
                location = folder / member.name
                location.parent.mkdir(parents=True, exist_ok=True)
                location.write_bytes(file.read())
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise VectorsError(f"{path} is damaged: {error}") from None


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with where they come from")
    parser.add_argument("--refresh", action="store_true", help="take over what is there now")
    asked = parser.parse_args()
    folder = source()
    try:
        if asked.refresh:
            written = refresh(folder)
            print(f"from {folder}: {', '.join(written) or 'nothing new'}")  # noqa: T201
        elif asked.check:
            check(folder)
            print(f"the same {len(contents()):,} files as in {folder}")  # noqa: T201
        else:
            print(unpacked())  # noqa: T201
    except VectorsError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
