"""Command lines that are understood without typer mean what typer says they mean."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb.cli import app, compat, plain
from sdb.cli.commands import leaves, load

FLAGS = sorted(
    {
        f"--{flag}"
        for flag in compat.long_flags() - {"help", "install-completion", "show-completion"}
    }
    | {f"-{letter}" for letter in "cfjmnoqv"}
)
VALUES = ["a", "a.zion", "-", "7", "0", "007", "-1", "+1", "1_0", "", "x=y", "-x", "--", "=", "ä"]
WORDS = st.one_of(
    st.sampled_from(FLAGS),
    st.sampled_from(VALUES),
    st.tuples(st.sampled_from(FLAGS), st.sampled_from(["=", ""]), st.sampled_from(VALUES)).map(
        "".join
    ),
)


def by_typer(name: str, words: list[str]) -> dict[str, Any]:
    """What a command is called with by typer."""
    calls: list[dict[str, Any]] = []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app.parameters, "call", lambda _, values: calls.append(values))
        app._build(name).main(words, standalone_mode=False, obj="")
    (values,) = calls
    return values


@given(st.sampled_from([name for name in leaves() if name != "version"]), st.lists(WORDS))
def test_means_what_typer_says(name: str, words: list[str]) -> None:
    module = load(name)
    values = plain.read(module.command, words)
    if values is None:
        return
    expected = by_typer(name, words)
    for both in (values, expected):
        if "context" in both:
            context = both["context"]
            both["context"] = (context.root, context.allow_inputs)
    assert values == expected


@pytest.mark.parametrize(
    "line",
    [
        "pack -o x.zion -j2 -c zstd --force events.json",
        "pack -o x.zion --constant a=1 --constant=b=2 -q - events.json",
        "append --output y.zion x.zion events.json events.json",
        "concat -o y.zion a.zion -- -b.zion",
        "unpack -o - --limit 3 --fmt=json x.zion",
        "head -n 3 x.zion",
        "describe --json x.zion",
        "validate -v x.zion y.zion",
    ],
)
def test_usual_lines_are_understood(line: str) -> None:
    name, *words = line.split()
    module = load(name)
    values = plain.read(module.command, words)
    assert values is not None
    expected = by_typer(name, words)
    assert {**values, "context": None} == {**expected, "context": None}


@pytest.mark.parametrize("words", [["--root", "deep"], ["--root=deep"]])
def test_a_root_before_the_command_is_understood(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLER_BUCKET", "other")
    roots = []
    monkeypatch.setattr(plain, "call", lambda _, values: roots.append(values["context"].root))
    monkeypatch.setattr(
        app.parameters, "call", lambda _, values: roots.append(values["context"].root)
    )
    for line in (["describe", "x"], ["describe", "--root", "there", "x"]):
        run = plain.understand([*words, *line])
        assert run is not None
        run()
        app.dispatch([*words, *line])
    assert roots == ["deep", "deep", "there", "there"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "pack",
        "pack --help",
        "concat events.zion",
        "pack -o",
        "pack -o x --forse y",
        "pack -o -q y",
        "head -n -1 x",
        "head -n many x",
        "head x y",
        "unpack -qv x",
        "unpack --limit= x",
        "--root -q describe x",
        "--root= describe x",
        "-v describe x",
        "describe --json=1 x",
        "describ x",
    ],
)
def test_typer_looks_at_the_rest(line: str) -> None:
    assert plain.understand(line.split()) is None


def test_completion_is_for_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SDB_COMPLETE", "complete_bash")
    assert plain.understand(["describe", "x"]) is None
