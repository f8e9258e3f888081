"""Log records: who gets them, what a line looks like, and that they cost nothing when off."""

from __future__ import annotations

import logging
import re
import subprocess
import sys

import pytest

from sdb import log
from sdb.errors import UsageError


def python(program: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-c", program]
    return subprocess.run(arguments, check=True, capture_output=True, text=True)


def test_off_nothing_is_written_and_logging_is_not_imported() -> None:
    done = python(
        "import sys; from sdb.log import Logger\n"
        "one = Logger('sdb.x'); one.info('a %s', 1); one.debug('b')\n"
        "print('logging' in sys.modules, one.wants_debug)"
    )
    assert (done.stdout, done.stderr) == ("False False\n", "")


def test_a_program_that_imports_logging_and_sets_nothing_up_sees_nothing() -> None:
    done = python("import logging; from sdb.log import Logger\nLogger('sdb.x').info('a')")
    assert (done.stdout, done.stderr) == ("", "")


def test_setup_writes_one_line_a_record() -> None:
    done = python(
        "from sdb import log\none = log.Logger('sdb.x')\none.info('lost')\n"
        "log.setup('INFO'); log.setup('info')\n"
        "one.info('a %s', 'b\\nc'); one.debug('no')\n"
        "log.setup('debug'); one.debug('d')"
    )
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO sdb\.x: a b\\nc", first), (
        first
    )
    assert second.endswith("DEBUG sdb.x: d")


def test_setup_writes_once_where_a_program_has_handlers() -> None:
    done = python(
        "import logging; logging.basicConfig(level='DEBUG')\nfrom sdb import log\n"
        "log.setup('info'); log.Logger('sdb.x').info('a')"
    )
    assert len(done.stderr.splitlines()) == 1


def test_programs_get_ordinary_records(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sdb.some")
    log.Logger("sdb.some.where").debug("%d of %d", 1, 2)
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == (
        "sdb.some.where",
        "DEBUG",
        "1 of 2",
    )
    assert record.funcName == "test_programs_get_ordinary_records"


def test_unknown_levels_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown log level 'loud'"):
        log.setup("loud")
