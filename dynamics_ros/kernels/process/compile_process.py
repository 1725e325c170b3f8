# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A process beside this one in which kernels are traced and compiled.

Threads of one process share one interpreter: whoever has to answer a thousand messages a second in
one of them cannot spare half of it for a compiler in another. The process is started when it is
first needed, runs functions one after the other, gives way to those with deadlines, and ends when
it has nothing to do for a while, when it has grown old, or with the process that started it.
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
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from dynamics_ros.kernels.process.forks import FreshLock

Result = TypeVar('Result')

IDLE = 30.0
"""Seconds without work after which the process ends."""

MAX_JOBS = 1000
"""Functions after which it makes way for a fresh one: what LLVM keeps grows with each."""

NICE = 5
"""How much lower its priority is."""

PROGRAM = f'from {__name__} import serve; serve({{}}, {{}})'

_log = logging.getLogger('dynamics_ros.kernels')


class _CompileProcess:
    """The other process, as it is seen from this one."""

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
        # The main thread would have to wait for what others have asked for.
        if self.enabled and threading.current_thread() is not threading.main_thread():
            with self._lock:
                answer = self._answer(function)
            if answer is not None:
                return answer[0]
        return function()

    def _answer(self, function: Callable[[], Result]) -> tuple[Result] | None:
        """The result of a function, in the other process; None where that cannot be."""
        try:
            request = pickle.dumps(function, pickle.HIGHEST_PROTOCOL)
            for _ in range(2):  # once more where it has just ended
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
            # Whatever it is: what cannot be computed there is computed here.
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
        """End the other process, whatever it does; the next function gets another one."""
        connection, process = self._connection, self._process
        self.forget()
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    def forget(self) -> None:
        """Be without one, as a forked process is: the other one belongs to its parent."""
        self._connection = self._process = None
        self._jobs = 0


def _pipe() -> tuple[Connection, Connection]:
    from multiprocessing import Pipe  # takes a while, and most processes need none

    return Pipe()


def serve(descriptor: int, idle: float) -> None:
    """Run functions for the process at the other end of a pipe.

    Args:
        descriptor: our end of it.
        idle: seconds without work after which this process ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, for all processes in it
    os.nice(NICE)
    with Connection(descriptor) as connection:
        while connection.poll(idle):
            try:
                request = connection.recv_bytes()
            except EOFError:
                return
            connection.send_bytes(_result_of(request))


def _result_of(request: bytes) -> bytes:
    try:
        answer: tuple[bool, Any] = True, pickle.loads(request)()
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception:
        # The other process computes it once more, and raises what there is to raise.
        return pickle.dumps((False, None))


_compile_process = _CompileProcess()


def enable() -> None:
    """From now on, trace and compile in another process what other threads than the main one need.

    It has its price: a start of half a second and the memory of a Python of its own.
    """
    _compile_process.enabled = True


def run(function: Callable[[], Result]) -> Result:
    """The result of a function, computed in the other process if that is enabled, else here.

    Args:
        function: without side effects; it and its result can be pickled.

    Raises:
        Exception: what the function raises.
    """
    return _compile_process.run(function)


def disable() -> None:
    """Compile in this process again; the other one, if there is one, ends."""
    _compile_process.enabled = False
    _compile_process.end()
