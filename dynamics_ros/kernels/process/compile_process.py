# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A separate process that traces and compiles kernels.

Threads of one process share one interpreter. A thread that answers a thousand messages a second
cannot give half of its time to a compiler in another thread. The process starts when first needed,
runs functions one after the other at lower priority, and ends after some idle time, after a number
of functions, or with the process that started it.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from dynamics_ros.kernels.process.system import FreshLock

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Result = TypeVar('Result')

IDLE = 30.0
"""Idle time after which the process ends [s]."""

MAX_JOBS = 1000
"""Functions after which a fresh process takes over: LLVM keeps memory for each."""

NICE = 5
"""Increment of the process's nice value."""

PROGRAM = f'from {__name__} import serve; serve({{}}, {{}})'

_log = logging.getLogger('dynamics_ros.kernels')


class _CompileProcess:
    """Client side of the compile process."""

    def __init__(self) -> None:
        self.enabled = False
        self._lock = FreshLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._jobs = 0
        atexit.register(self.end)
        if hasattr(os, 'register_at_fork'):
            os.register_at_fork(after_in_child=self.forget)

    def run(self, function: Callable[[], Result]) -> Result:
        # The main thread would wait for the requests of other threads.
        if self.enabled and threading.current_thread() is not threading.main_thread():
            with self._lock:
                answer = self._answer(function)
            if answer is not None:
                return answer[0]
        return function()

    def _answer(self, function: Callable[[], Result]) -> tuple[Result] | None:
        """Return the result of a function from the other process, or None if that fails."""
        try:
            request = pickle.dumps(function, pickle.HIGHEST_PROTOCOL)
            for _ in range(2):  # try again if it has just ended
                try:
                    connection = self._connected()
                    connection.send_bytes(request)
                    done, result = pickle.loads(connection.recv_bytes())
                except (EOFError, ConnectionError):
                    self.end()
                    continue
                self._jobs += 1
                if self._jobs >= MAX_JOBS:
                    self.end()
                return (result,) if done else None
        except Exception as reason:
            # Any failure: the function is computed in this process instead.
            _log.info('compiling in this process: %r', reason)
            self.end()
        return None

    def _connected(self) -> Connection:
        if self._connection is None:
            ours, theirs = _pipe()
            try:
                self._process = subprocess.Popen(
                    [sys.executable, '-c', PROGRAM.format(theirs.fileno(), IDLE)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
            except BaseException:
                ours.close()
                raise
            finally:
                theirs.close()
            self._connection = ours
        return self._connection

    def end(self) -> None:
        """End the other process, even while it works; the next function starts another one."""
        connection, process = self._connection, self._process
        self.forget()
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    def forget(self) -> None:
        """Drop the process in a forked child: it belongs to the parent."""
        self._connection = self._process = None
        self._jobs = 0


def _pipe() -> tuple[Connection, Connection]:
    from multiprocessing import Pipe  # slow to import, and most processes need none

    return Pipe()


def serve(descriptor: int, idle: float) -> None:
    """Run functions for the process at the other end of a pipe.

    Args:
        descriptor: file descriptor of this end.
        idle: idle time after which this process ends [s].
    """
    from multiprocessing.connection import Connection  # see _pipe

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all its processes
    os.nice(NICE)
    with Connection(descriptor) as connection:
        try:
            while connection.poll(idle):
                connection.send_bytes(_result_of(connection.recv_bytes()))
        except (EOFError, OSError):
            return  # the other process has ended, maybe while it waited for a result


def _result_of(request: bytes) -> bytes:
    try:
        answer: tuple[bool, Any] = True, pickle.loads(request)()
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception:
        # The other process computes it again and raises the error itself.
        return pickle.dumps((False, None))


_compile_process = _CompileProcess()


def enable() -> None:
    """Enable tracing and compilation in another process, for threads other than the main one.

    It costs a start-up of half a second and the memory of another Python process.
    """
    _compile_process.enabled = True


def run(function: Callable[[], Result]) -> Result:
    """Return the result of a function, computed in the other process if enabled, else here.

    Args:
        function: without side effects; it and its result can be pickled.

    Raises:
        Exception: whatever the function raises.
    """
    return _compile_process.run(function)


def disable() -> None:
    """Compile in this process again; ends the other one if it runs."""
    _compile_process.enabled = False
    _compile_process.end()
