# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A process that has imported what nodes import, and forks a process for each node that is started.

A node that a test starts is a process of its own, with its own environment, output and end, but
does not spend half a second on the same imports as the one before. The first one in an environment,
those of ``test_nodes_start.py`` and of the demo are executables that are started as users do.
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import inspect
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

IMPORTED = (
    'nodes.contact_node',
    'nodes.dynamics_node',
    'nodes.executables',
    'nodes.impedance_controller_node',
    'nodes.kinematics_node',
    'nodes.cartesian_servo_node',
    'nodes.robot_simulator',
)
"""Modules of the package that are there before a node is asked for."""

PER_NODE = ('ROS_DOMAIN_ID', 'PYTEST_CURRENT_TEST')
"""Variables that differ from node to node, read after the imports."""

LARGEST = 2**20
"""Bytes of a request."""


def forkable() -> bool:
    """Whether nodes may be forked: the lines that a forked process runs are not counted."""
    return hasattr(os, 'pidfd_open') and 'COVERAGE_PROCESS_CONFIG' not in os.environ


class Server:
    """The process, for nodes in one environment.

    Attributes:
        address: of the socket to which run_forked.py connects.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.address = str(Path(self._folder.name) / 'requests')
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as requests:
            requests.bind(self.address)
            requests.listen()
            passed = [theirs.fileno(), requests.fileno()]
            self._process = subprocess.Popen(
                [sys.executable, __file__, *map(str, passed)],
                env={**environment, 'PYTHONUNBUFFERED': '1'},
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
            )
        self._socket = ours
        self._codes: dict[int, int] = {}
        self._lock = threading.Lock()
        atexit.register(self._close)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()  # so that its processor time is counted with that of the tests

    def start(self, command: list[str], environment: dict[str, str], output: IO[str]) -> Forked:
        """Start a node, and return when it has a process."""
        request = json.dumps([command, os.getcwd(), environment]).encode()
        with self._lock:
            socket.send_fds(self._socket, [request], [output.fileno()])
            while True:
                kind, pid, *code = json.loads(self._socket.recv(LARGEST))
                if kind == 'started':
                    return Forked(self, pid)
                self._codes[pid] = code[0]

    def code(self, pid: int) -> int | None:
        """The exit code of a node; None while it runs."""
        with self._lock:
            while pid not in self._codes and select.select([self._socket], [], [], 0.0)[0]:
                _, ended, code = json.loads(self._socket.recv(LARGEST))
                self._codes[ended] = code
            return self._codes.get(pid)


class Forked:
    """A node that a server has forked; has the interface of ``subprocess.Popen``."""

    def __init__(self, server: Server, pid: int) -> None:
        self._server, self.pid = server, pid

    def poll(self) -> int | None:
        return self._server.code(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + (timeout or 1e9)
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(0.005)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


_servers: dict[frozenset[tuple[str, str]], Server | None] = {}
"""By environment; None where one node has been started in it."""


def start_alone(command: list[str], environment: dict[str, str], output: IO[str]) -> Any:
    """Start an executable as a user does."""
    return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)


def server_for(environment: dict[str, str]) -> Server:
    """The server for an environment."""
    common = {name: value for name, value in environment.items() if name not in PER_NODE}
    key = frozenset(common.items())
    server = _servers.get(key)
    if server is None:
        server = _servers[key] = Server(common)
    return server


def start(command: list[str], environment: dict[str, str], output: IO[str]) -> Any:
    """Start an executable of this package, forked from the second one on in an environment."""
    common = {name: value for name, value in environment.items() if name not in PER_NODE}
    key = frozenset(common.items())
    if key not in _servers or not forkable():
        _servers[key] = None
        return start_alone(command, environment, output)
    own = {name: environment[name] for name in PER_NODE if name in environment}
    return server_for(environment).start(command, own, output)


# --- in the server ------------------------------------------------------------------------------


def serve(tests: socket.socket, requests: socket.socket) -> None:
    """Fork nodes until the test run ends; the nodes end with it.

    Args:
        tests: connection to the test run.
        requests: where others connect; what is forked for one of them ends with its connection.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all its processes
    gc.disable()
    for module in IMPORTED:
        import_module(f'dynamics_ros.{module}')
    inspect.getmodule(serve)  # reads the files of all modules, as the first line of a log does
    gc.freeze()
    connections = {tests}
    children: dict[int, tuple[int, socket.socket]] = {}  # by pidfd
    while tests in connections:
        ready, _, _ = select.select([requests, *connections, *children], [], [])
        for end in ready:
            if end is requests:
                connections.add(requests.accept()[0])
            elif end in connections:
                content, files, *_ = socket.recv_fds(end, LARGEST, 3)
                if content:
                    own, pid = fork(json.loads(content), files, [requests, *connections, *children])
                    children[own] = pid, end
                    end.send(json.dumps(['started', pid]).encode())
                else:
                    connections.remove(end)
                    for pid, asked in children.values():
                        if asked is end or end is tests:
                            os.kill(pid, signal.SIGKILL)
                    end.close()
            else:
                pid, asked = children.pop(end)
                os.close(end)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                if asked in connections:
                    asked.send(json.dumps(['ended', pid, code]).encode())


def fork(request: list[Any], files: list[int], others: list[Any]) -> tuple[int, int]:
    """Fork a process for a request; its pidfd and pid.

    Args:
        request: command, folder and environment.
        files: standard input, output and error, or output and error in one.
        others: files of the server that the process does not need.
    """
    # The server ignores this signal; one for the new process waits until that has a handler.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if not pid:
        for one in others:
            os.close(one if isinstance(one, int) else one.fileno())
        become(*request, files)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for file in files:
        os.close(file)
    return os.pidfd_open(pid), pid


def become(
    command: list[str], folder: str, environment: dict[str, str], files: list[int]
) -> NoReturn:
    """Run an executable in this process, as the interpreter would."""
    code: Any = 1
    try:
        signal.signal(signal.SIGINT, lambda *_: os._exit(0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.register(signal.SIGUSR1)  # a test asks a node that does not end where it is
        gc.enable()
        for number, file in zip((0, 1, 2) if len(files) > 1 else (1, 2), (files * 2)[:3]):
            os.dup2(file, number)
        for file in files:
            os.close(file)
        os.chdir(folder)
        os.environ.update(environment)
        sys.argv = command
        sys.path[0] = os.path.dirname(command[0])
        runpy.run_path(command[0], run_name='__main__')
        code = 0
    except SystemExit as end:
        code = end.code or 0
        if isinstance(code, str):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == '__main__':
    serve(*(socket.socket(fileno=int(number)) for number in sys.argv[1:]))
