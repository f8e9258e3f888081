"""Options mean the same in every command."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from sdb.cli.commands import ALIASES, COMMANDS, leaves, load
from sdb.cli.parameters import Option, described

if TYPE_CHECKING:
    from collections.abc import Iterator


def options_of(name: str) -> Iterator[tuple[str, Option]]:
    for parameter, annotation in described(load(name).command):
        for option in getattr(annotation, "__metadata__", ()):
            if isinstance(option, Option):
                yield parameter, option


def has(name: str, flag: str) -> bool:
    return any(flag in option.flags(parameter) for parameter, option in options_of(name))


def test_a_letter_stands_for_one_long_name() -> None:
    meanings: dict[str, set[str]] = defaultdict(set)
    for name in leaves():
        for parameter, option in options_of(name):
            flags = option.flags(parameter)
            for letter in (flag for flag in flags if not flag.startswith("--")):
                meanings[letter].add(next(flag for flag in flags if flag.startswith("--")))
    assert {letter: names for letter, names in meanings.items() if len(names) > 1} == {}


def test_hidden_names_do_not_take_one_that_is_shown() -> None:
    for name in leaves():
        shown = {flag for parameter, option in options_of(name) for flag in option.flags(parameter)}
        hidden = [flag for _, option in options_of(name) for flag in option.hidden]
        assert shown.isdisjoint(hidden), name
        assert len(set(hidden)) == len(hidden), name


# What deletes or changes something that is there already.
CHANGING = {
    *("alter", "sync", "exec", "drop", "undo", "maintain", "compact", "expire", "gc", "purge"),
}


def test_what_changes_tables_has_a_dry_run() -> None:
    assert {name for name in leaves() if not has(name, "--dry-run")} & CHANGING == set()


@pytest.mark.parametrize("flag", ["--quiet", "--dry-run", "--yes", "--json", "--root", "--message"])
def test_an_option_says_the_same_in_every_help(flag: str) -> None:
    texts = {
        name: option.help
        for name in leaves()
        for parameter, option in options_of(name)
        if flag in option.flags(parameter)
    }
    own = {"--quiet": {"serve"}, "--json": {"query"}, "--root": {"query", "shell"}}.get(flag, set())
    assert len({text for name, text in texts.items() if name not in own}) == 1, texts


def test_every_command_has_quiet() -> None:
    assert [name for name in leaves() if not has(name, "--quiet")] == []


# Commands without facts, or whose output is a format of its own.
WITHOUT_JSON = {"unpack", "head", "tail", "shell", "fetch", "serve", "completion", "help"}


def test_every_command_that_prints_facts_has_json() -> None:
    assert {name for name in leaves() if not has(name, "--json")} == WITHOUT_JSON


@pytest.mark.parametrize("alias", ALIASES)
def test_old_names_work_and_no_help_shows_them(run: Any, alias: str) -> None:
    words = ALIASES[alias]
    assert alias not in COMMANDS
    assert words[0] in COMMANDS
    done = run(alias, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(b"Usage: sdb " + words[0].encode())


def test_quiet_leaves_errors(run: Any) -> None:
    done = run("head", "-q", "none.zion")
    assert (done.returncode, done.stderr[:5]) == (3, b"sdb: ")
