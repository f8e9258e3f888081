"""Commands as copies of a process that has imported DuckDB, Arrow and `sdb` already.

Most of the processor time of a short command are imports of these. All else is as in a process
that a shell begins: arguments, environment, folder, standard streams and the exit code.

As a program, `python forks.py SOCKET`, this is the process that is copied.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = 8
_COPIED = ("duckdb", "numpy", "pyarrow")
_LEFT_OUT = ("sdb.cli.main", "sdb.client.options", "sdb.serve", "sdb.spark")


class Forks:
    """The process that is copied, and how to get a copy."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(other.fileno())],
                env=environment,
                pass_fds=[other.fileno()],
            )

    def close(self) -> None:
        self._socket.close()
        self._process.wait(timeout=60)

    def run(
        self,
        arguments: list[str],
        *,
        input: bytes | None = None,  # noqa: A002 - this and the others are those of subprocess.run
        stdin: IO[bytes] | None = None,
        stdout: IO[bytes] | int = subprocess.PIPE,
        cwd: Any,
        env: dict[str, str],
        timeout: float,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run `sdb`, as `subprocess.run` would."""
        request = json.dumps([arguments, str(cwd), env]).encode()
        with ExitStack() as mine, ThreadPoolExecutor(4) as threads:
            with ExitStack() as theirs:
                streams: list[Any] = []
                feed = None
                if stdin is None:
                    streams.append(theirs.enter_context(_end(0, "rb", pipe := os.pipe())))
                    feed = mine.enter_context(_end(1, "wb", pipe))
                else:
                    streams.append(stdin)
                read = []
                for target in (stdout, subprocess.PIPE):
                    if isinstance(target, int):
                        assert target == subprocess.PIPE
                        streams.append(theirs.enter_context(_end(1, "wb", pipe := os.pipe())))
                        source = mine.enter_context(_end(0, "rb", pipe))
                        read.append(threads.submit(source.read))
                    else:
                        streams.append(target)
                        read.append(None)
                streams.append(theirs.enter_context(_end(1, "wb", pipe := os.pipe())))
                answer = mine.enter_context(_end(0, "rb", pipe))
                with self._lock:
                    header = len(request).to_bytes(_HEADER)
                    socket.send_fds(self._socket, [header], [item.fileno() for item in streams])
                    self._socket.sendall(request)
            if feed is not None:
                threads.submit(_feed, feed, input or b"")
            command = int(answer.readline())
            try:
                code = int(threads.submit(answer.read).result(timeout))
            except BaseException:
                os.kill(command, signal.SIGKILL)
                raise
            out, err = (None if item is None else item.result(timeout) for item in read)
        return subprocess.CompletedProcess(arguments, code, out, err)


def _end(which: int, mode: str, pipe: tuple[int, int]) -> IO[Any]:
    return os.fdopen(pipe[which], mode)


def _feed(file: IO[bytes], data: bytes) -> None:
    try:
        with file:
            file.write(data)
    except BrokenPipeError:
        pass  # a command need not read all


def _modules() -> Iterator[str]:
    """Iterate over the modules of `sdb` that commands import when they are used."""
    import sdb

    for module in pkgutil.walk_packages(sdb.__path__, "sdb."):
        if not module.name.startswith(_LEFT_OUT):
            yield module.name


def _serve(connection: socket.socket) -> None:
    for name in (*_COPIED, *_modules()):
        __import__(name)
    sys.modules.pop("sdb.cli.main", None)  # commands run it
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait
    while True:
        header, streams, *_ = socket.recv_fds(connection, _HEADER, 4)
        if not header:
            return
        with connection.makefile("rb", buffering=0) as file:
            request = b""
            size = int.from_bytes(header)
            while len(request) < size:
                request += file.read(size - len(request)) or b""
        if os.fork() == 0:
            connection.close()
            _wait(streams, *json.loads(request))
        for stream in streams:
            os.close(stream)


def _wait(streams: list[int], arguments: list[str], folder: str, env: dict[str, str]) -> None:
    """Begin the command, and answer with its exit code."""
    *standard, answer = streams
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command == 0:
        os.close(answer)
        _command(standard, arguments, folder, env)
    os.write(answer, b"%d\n" % command)
    for item in (0, 1, 2, *standard):
        os.close(item)
    _, status = os.waitpid(command, 0)
    os.write(answer, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _command(standard: list[int], arguments: list[str], folder: str, env: dict[str, str]) -> None:
    for number, item in enumerate(standard):
        os.dup2(item, number)
    os.closerange(3, 64)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["sdb", *arguments]
    sys.path[:1] = [folder, env["PYTHONPATH"]]
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    code = 1
    try:
        runpy.run_module("sdb.cli.main", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: BLE001 - what Python does with all of them
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
