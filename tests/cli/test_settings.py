"""Settings of files: which count, where they are from, and what an untrusted one cannot do."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from sdb.cli.settingfiles import SETTINGS
from tests.cli.conftest import COMMAND, SAMPLE, environment
from tests.table.made import made_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with tables, in the home of its user."""
    made_table(tmp_path / "home/work/lake", "web", "gha", [SAMPLE])
    return tmp_path / "home/work"


def sdb(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder of a user whose home is the nearest folder of that name."""
    home = next(str(item) for item in (folder, *folder.parents) if item.name == "home")
    env = {"HOME": home} | more
    return subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def own(project: Path, text: str) -> None:
    """Write the user's own file."""
    path = project.parent / ".config/sdb/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def values(done: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, str]]:
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    return {setting["name"]: (setting["value"], setting["from"]) for setting in facts["settings"]}


def test_the_first_of_flag_environment_project_user_and_default_counts(project: Path) -> None:
    def root(*words: str, **more: str) -> tuple[str, str]:
        return values(sdb(project, *words, "config", "--json", **more))["root"]

    assert root() == (".", "default")
    own(project, f'root = "{project}/own"')
    assert root() == (f"{project}/own", "user")
    (project / "sdb.toml").write_text('root = "lake"')
    assert root() == (f"{project}/lake", "project")
    assert root(SNELLER_BUCKET="there") == ("there", "environment")
    assert root("--root", "here", SNELLER_BUCKET="there") == ("here", "flag")
    assert root(SDB_ROOT="own", SNELLER_BUCKET="there") == ("own", "environment")
    assert root("--root", "here", SDB_ROOT="own") == ("here", "flag")
    again = values(sdb(project, "config", "--root", "behind", "--json", SNELLER_BUCKET="there"))
    assert again["root"] == ("behind", "flag")


def test_every_setting_is_shown_with_its_place(project: Path) -> None:
    own(project, 'allow-inputs = ["~/in", "s3://b"]\n[cache]\nfolder = "~/c"\nsize = "2MiB"')
    (project / "sdb.toml").write_text('format = "csv"\ncolor = "never"\npatience = 90')
    shown = sdb(project, "config", SDB_CACHE="").stdout.splitlines()
    assert [line.split()[0] for line in shown[:-2]] == [item.name for item in SETTINGS]
    places = {line.split()[0]: line.split()[1:] for line in shown}
    home = project.parent
    assert places["format"] == ["csv", f"{project}/sdb.toml"]
    assert places["patience"] == ["90s", f"{project}/sdb.toml"]
    assert places["cache.folder"] == [f"{home}/c", f"{home}/.config/sdb/config.toml"]
    assert places["allow-inputs"][0] == f"{home}/in:s3://b"
    # Options before the command change nothing.
    assert sdb(project, "-v", "config").stdout == sdb(project, "config").stdout
    assert values(sdb(project, "config", "--json", NO_COLOR="1"))["color"] == (
        "never",
        "environment",
    )


def test_settings_act_on_commands(project: Path) -> None:
    (project / "sdb.toml").write_text('root = "lake"')
    (project / "deep/er").mkdir(parents=True)
    for folder in (project, project / "deep/er"):
        assert sdb(folder, "tables").stdout.splitlines()[1].split()[0] == "web.gha"
        assert sdb(folder, "describe", "web", "gha").returncode == 0
        counted = sdb(folder, "query", "SELECT COUNT(*) AS n FROM web.gha")
        assert json.loads(counted.stdout) == {"n": 1000}
    nothing = sdb(project, "tables", "--root", "deep")
    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert "the root deep has no tables" in nothing.stderr
    assert "has no tables" in sdb(project.parent, "tables").stderr  # above it
    missing = sdb(project, "head", "none.zion")
    assert missing.returncode == 3
    assert f"paths start at {project}/lake: {project}/sdb.toml says so" in missing.stderr


def test_the_cache_is_where_the_user_wants_it(project: Path) -> None:
    own(project, '[cache]\nfolder = "~/mine"\nsize = "5MiB"')
    (project / "rows.json").write_text('{"a": 1}\n')
    done = sdb(project, "query", "SELECT a FROM 'rows.json'", SDB_CACHE="")
    assert done.returncode == 0
    facts = json.loads(sdb(project, "cache", "--json", SDB_CACHE="").stdout)
    assert (facts["folder"], facts["most_bytes"]) == (f"{project.parent}/mine", 5 << 20)
    assert len(facts["shown"]) == 1


def test_places_of_inputs(project: Path) -> None:
    (project.parent / "in").mkdir()
    (project.parent / "in/a.json").write_text('{"a": 1}\n')
    words = ["create", "--root", "lake", "web.new", "--input", "file://../../in/*.json"]
    assert sdb(project, *words).returncode == 7
    own(project, 'allow-inputs = ["~/in"]')
    assert sdb(project, *words).returncode == 0
    assert sdb(project, "sync", "--root", "lake", "web.new", "-q").returncode == 0
    assert sdb(project, "sync", "--root", "lake", "web.new", "-q", HOME="/nowhere").returncode == 7


def test_format_and_color_are_for_terminals(screen: Any, run: Any, events: Path) -> None:
    (events.parent / "sdb.toml").write_text('format = "vertical"\ncolor = "never"')
    query = ["query", "SELECT id, type FROM 'events.zion' LIMIT 1"]
    assert screen(*query)[1].splitlines()[1].startswith("id")
    assert screen("head", "-n1", "--fields", "id", "events.zion")[1].splitlines()[1][:2] == "id"
    assert json.loads(run(*query).stdout)["id"]  # in a pipe
    assert screen(*query, SDB_FORMAT="csv")[1].splitlines()[0] == "id,type"
    assert screen(*query, "--fmt", "tsv")[1].splitlines()[0] == "id\ttype"
    shown = screen("head", "-n1", "--fmt", "json", "--fields", "id", "events.zion")[1]
    assert "id" in shown
    assert "\x1b[" not in shown
    (events.parent / "sdb.toml").write_text('format = "csv"')
    assert screen("unpack", "--limit", "1", "--fields", "id", "events.zion")[1].startswith("id\n")
    code, text = screen(*query, SDB_FORMAT="xml")
    assert (code, "SDB_FORMAT=xml: no such format" in text) == (2, True)


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        ('rot = "x"', "unknown setting 'rot'", "did you mean root?"),
        ('xyzzy = "x"', "unknown setting 'xyzzy'", "there are root, format"),
        ("[cache]\nsice = 1", "unknown setting 'cache.sice'", "did you mean cache.size?"),
        ("cache = 1", "unknown setting 'cache'", ""),
        ("root = 5", "root is 5", "a folder or s3:// URL"),
        ('root = ""', 'root is ""', "a folder"),
        ("root = 2021-01-02", "root is 2021-01-02", "a folder"),
        ('format = "xml"', 'format is "xml"', "one of json, csv"),
        ('color = "red"', 'color is "red"', "auto or never"),
        ('patience = "long"', 'patience is "long"', "90s"),
        ("patience = true", "patience is true", "90s"),
        ("root = ", "invalid TOML", ""),
        ('secret_key = "x"', "'secret_key' looks like a credential", "the environment"),
        ('aws_access_key_id = "x"', "looks like a credential", "the environment"),
        ("[s3]\npassword = 1", "'s3.password' looks like a credential", ""),
        ('cache.folder = "/tmp"', "cache.folder does not belong", "SDB_CACHE"),
        ('allow-inputs = ["/"]', "allow-inputs does not belong", "SDB_ALLOW_INPUTS"),
        ('trusted = ["/"]', "unknown setting 'trusted'", ""),
    ],
)
def test_mistakes_are_told_in_a_line(project: Path, text: str, expected: str, hint: str) -> None:
    path = project / "sdb.toml"
    path.write_text(text)
    for words in (["tables"], ["config"]):
        done = sdb(project, *words)
        assert (done.returncode, done.stdout) == (2, "")
        first, *rest = done.stderr.splitlines()
        assert first.startswith(f"sdb: {path}: ")
        assert expected in first
        assert hint in "".join(rest)
        assert len(rest) <= 1
    for words in (["--help"], ["help", "config"], ["version"], ["tables", "--help"]):
        assert sdb(project, *words).returncode == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('trusted = "x"', "trusted is"),
        ('trusted = ["work"]', "paths from / or ~ on"),
        ('[cache]\nfolder = "rel"', "paths from / or ~ on"),
        ('[cache]\nsize = "much"', "not a size"),
        ("allow-inputs = [5]", "a list like"),
    ],
)
def test_mistakes_in_the_users_file(project: Path, text: str, expected: str) -> None:
    own(project, text)
    done = sdb(project, "tables")
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr


@pytest.mark.parametrize("root", ["..", "/usr", "s3://other", "link"])
def test_a_root_outside_counts_only_where_the_user_trusts_the_folder(
    project: Path, root: str
) -> None:
    (project / "link").symlink_to(project.parent)
    (project / "sdb.toml").write_text(f'root = "{root}"')
    (project / "rows.json").write_text('{"a": 1}\n')
    done = sdb(project, "insert", "web.gha", "rows.json")
    assert done.returncode == 7
    assert "outside of this folder, which you have not trusted" in done.stderr
    assert f'trusted = ["{project}"] in ' in done.stderr
    # What uses no root, or another one, is not concerned.
    assert sdb(project, "pack", "rows.json").returncode == 0
    assert sdb(project, "insert", "--root", "lake", "web.gha", "rows.json").returncode == 0
    assert sdb(project, "--root", "lake", "tables").returncode == 0
    assert sdb(project, "tables", SNELLER_BUCKET="lake").returncode == 0
    shown = sdb(project, "config")
    assert "root does not count: the root" in shown.stdout
    own(project, f'trusted = ["{project}"]')
    assert "does not count" not in sdb(project, "config").stdout
    if "://" not in root:
        done = sdb(project, "tables")
        assert (done.returncode, "has no tables" in done.stderr) == (3, True)


def test_a_file_that_others_may_write_is_not_read(project: Path) -> None:
    path = project / "sdb.toml"
    path.write_text('root = "lake"')
    path.chmod(path.stat().st_mode | stat.S_IWOTH)
    done = sdb(project, "tables")
    assert (done.returncode, done.stdout) == (3, "")  # the root is this folder, without tables
    assert done.stderr.startswith(f"warning: {path} is not read: other users may write it\n")
    assert "did you mean --root lake?" in done.stderr
    own(project, 'trusted = ["~/work"]')
    assert "web.gha" in sdb(project, "tables").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_not_read(project: Path) -> None:
    (project / "sdb.toml").write_text('root = "lake"')
    os.chown(project / "sdb.toml", 4711, 4711)
    done = sdb(project, "tables")
    assert (done.returncode, done.stdout) == (3, "")
    assert "is not read: other users may write it" in done.stderr


def test_what_is_no_file_of_settings_is_refused(project: Path) -> None:
    os.mkfifo(project / "sdb.toml")
    done = sdb(project, "tables")
    assert (done.returncode, "not a file of settings" in done.stderr) == (2, True)
    (project / "sdb.toml").unlink()
    (project / "sdb.toml").write_bytes(b"#" * (65 << 10))
    assert "not a file of settings" in sdb(project, "tables").stderr


def test_files_above_home_are_not_looked_at(project: Path) -> None:
    (project.parent.parent / "sdb.toml").write_text("nonsense")
    assert sdb(project, "tables", "--root", "lake").returncode == 0
    (project.parent / "sdb.toml").write_text("nonsense")
    assert sdb(project, "tables").returncode == 2


def test_a_removed_folder_has_no_settings(project: Path) -> None:
    code = (
        f"import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir({str(project)!r} + '/gone')"
        "\nsys.argv = ['sdb', 'config']\nfrom sdb.cli.main import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "no sdb.toml" in done.stdout


def test_nothing_is_loaded_where_there_are_no_files(project: Path, events: Path) -> None:
    code = (
        f"import sys, atexit; sys.argv = ['sdb', 'describe-file', {str(events)!r}]\n"
        "atexit.register(lambda: print('tomllib' in sys.modules, file=sys.stderr))\n"
        "from sdb.cli.main import main\nmain()"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(
        run, cwd=project, env=environment(HOME="/"), capture_output=True, check=False
    )
    assert done.stderr == b"False\n"


def test_logging(project: Path, events: Path) -> None:
    words = ["describe-file", str(events)]
    plain = sdb(project, *words)
    for more, variables in (
        (["-vv", *words], {}),
        ([*words, "-vv"], {}),
        (["-v", *words], {}),
        (words, {"SDB_LOG": "debug"}),
    ):
        done = sdb(project, *more, **variables)
        assert (done.returncode, done.stdout) == (0, plain.stdout)
    done = sdb(project, *words, SDB_LOG="loud")
    assert (done.returncode, "'loud'" in done.stderr) == (2, True)
    made = sdb(project, "pack", "-o", "x.zion", "--", "-vv")
    assert (made.returncode, "-vv" in made.stderr) == (3, True)  # a name behind --


def test_a_key_for_tables_on_s3_is_made_once(project: Path) -> None:
    create = "create", "--root", "s3://nobodys-bucket/lake", "web.a", "--input", "in/*.json"
    done = sdb(project, *create)
    assert done.returncode == 2
    assert "there is no key to sign the index with" in done.stderr
    assert "sdb config set index-key --new makes one" in done.stderr
    made = sdb(project, "config", "set", "index-key", "--new")
    path = project.parent / ".config/sdb/index-key"
    assert (made.returncode, made.stderr) == (0, "")
    assert f"export SNELLER_INDEX_KEY=$(cat {path})" in made.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key = path.read_text().strip()
    assert key not in made.stdout
    again = sdb(project, "config", "set", "index-key", "--new")
    assert (again.returncode, path.read_text().strip()) == (4, key)
    assert f"key of tables on S3: {path}" in sdb(project, "config").stdout
    shown = sdb(project, "show-config", "--reveal", "--root", "s3://nobodys-bucket/lake")
    assert key in shown.stdout + shown.stderr
    path.chmod(0o644)
    done = sdb(project, *create)
    assert done.returncode == 2
    assert f"{path} is not read: other users may read" in done.stderr
    assert sdb(project, "config", "set", "index-key").returncode == 2
