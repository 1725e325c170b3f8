# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A separate process that traces and compiles kernels.

Threads of one process share one interpreter. A thread that answers a thousand messages a second
cannot give half of its time to a compiler in another thread. The process starts when first needed,
runs functions one after the other at lower priority, and ends after some idle time or with the
process that started it, however that ends. It does not import the main module again, as processes
of ``multiprocessing`` do.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from dynamics_ros.kernels.process.system import FreshLock

Result = TypeVar('Result')

IDLE = 30.0
"""Idle time after which the process ends [s]."""

NICE = 5
"""Increment of the process's nice value."""

_log = logging.getLogger('dynamics_ros.kernels')
_enabled = False
_lock = FreshLock()
_process: subprocess.Popen[bytes] | None = None


def enable() -> None:
    """Enable tracing and compilation in another process, for threads other than the main one.

    It costs a start-up of half a second and the memory of another Python process.
    """
    global _enabled
    _enabled = True


def disable() -> None:
    """Compile in this process again; ends the other one if it runs."""
    global _enabled
    _enabled = False
    _end()


def run(function: Callable[[], Result]) -> Result:
    """Return the result of a function, computed in the other process if enabled, else here.

    Args:
        function: without side effects; it and its result can be pickled.

    Raises:
        Exception: whatever the function raises.
    """
    # The main thread would wait for the requests of other threads.
    if _enabled and threading.current_thread() is not threading.main_thread():
        with _lock:
            for _ in range(2):  # it may just have ended
                try:
                    done, result = _answer(function)
                    break
                except Exception as reason:
                    # Any failure: the function is computed in this process instead.
                    _log.info('the process that compiles has failed: %r', reason)
                    done = False
                    _end()
                    if not isinstance(reason, (EOFError, ConnectionError)):
                        break
        if done:
            return result
    return function()


def _answer(function: Callable[[], Any]) -> tuple[bool, Any]:
    """Return whether the other process could run a function, and the result."""
    global _process
    request = pickle.dumps(function, pickle.HIGHEST_PROTOCOL)
    if _process is None:
        command = [sys.executable, '-c', f'from {__name__} import serve; serve({IDLE})']
        _process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    requests, answers = cast('tuple[Any, Any]', (_process.stdin, _process.stdout))
    # Bytes in bytes: a function that cannot be unpickled is read to its end.
    pickle.dump(request, requests)
    requests.flush()
    answer: tuple[bool, Any] = pickle.loads(pickle.load(answers))
    return answer


def _end() -> None:
    """End the other process, even while it works; the next function starts another one."""
    process = _process
    _forget()
    if process is not None:
        process.kill()
        with suppress(OSError), process:  # closes the pipes, and waits
            pass


def _forget() -> None:
    """Drop the process in a forked child: it belongs to the parent."""
    global _process
    _process = None


atexit.register(_end)
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_forget)


def serve(idle: float) -> None:
    """Run functions for the process at the other end of standard input and output.

    Args:
        idle: idle time after which this process ends [s].
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all its processes
    os.nice(NICE)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), 'wb')
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what functions print is no answer
    while select.select([requests], [], [], idle)[0]:
        try:
            request = pickle.load(requests)
            pickle.dump(_result_of(request), answers)
            answers.flush()
        except (EOFError, OSError):
            return  # the other process has ended, maybe while it waited for a result


def _result_of(request: bytes) -> bytes:
    try:
        answer: tuple[bool, Any] = True, pickle.loads(request)()
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception:
        # The other process computes it again and raises the error itself.
        return pickle.dumps((False, None))
