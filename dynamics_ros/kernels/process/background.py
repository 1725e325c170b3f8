# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation beside the threads of a caller: in a thread, or in another process.

A thread compiles queued jobs one after the other. Threads of one process share one interpreter,
though: a thread that answers a thousand messages a second cannot give half of its time to a
compiler in another thread. The other process starts when first needed, runs functions one after the
other at lower priority, and ends after some idle time or with the process that started it, however
that ends. It does not import the main module again, as processes of ``multiprocessing`` do.

A forked process has one thread: a lock held by another thread would stay locked forever, and LLVM
would stay in the middle of an operation.
"""

from __future__ import annotations

import atexit
import ctypes
import heapq
import itertools
import logging
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

Result = TypeVar('Result')

Job = tuple[int, int, Callable[[], None]]

IDLE = 30.0
"""Idle time after which the other process ends [s]."""

NICE = 5
"""Increment of the other process's nice value."""

_log = logging.getLogger('dynamics_ros.kernels')

llvm = threading.RLock()
"""Held by every thread that calls LLVM; a fork waits until it is free, at most one call of LLVM."""

changed = threading.Condition()
"""Guards the jobs and their completion state; notified when one finishes.

Reentrant, because the garbage collector may submit a job during another submission.
"""

_jobs: list[Job] = []
_running: Job | None = None
_order = itertools.count()
_thread: threading.Thread | None = None


class FreshLock:
    """Lock that is released in a forked process, whoever held it in the parent.

    The data that it guards must be consistent at any moment for a reader that starts anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _fresh.add(self)

    def renew(self) -> None:
        """Release the lock, in a process where nobody holds it."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_fresh: weakref.WeakSet[FreshLock] = weakref.WeakSet()


def submit(size: int, job: Callable[[], None]) -> None:
    """Run a job in the background, one at a time; the thread ends when there is none left.

    Args:
        size: smaller jobs run first, equal ones in order of submission.
        job: its exceptions are logged. If a process forks while the job runs, the child runs it
            again.
    """
    with changed:
        heapq.heappush(_jobs, (size, next(_order), job))
        resume()


def resume() -> None:
    """Ensure that submitted jobs are running, also in a forked process, which has no thread."""
    global _thread
    if _jobs and _thread is None:
        with changed:
            if _jobs and _thread is None:
                _thread = threading.Thread(target=_work, name='dynamics_ros_compile', daemon=True)
                _thread.start()


def is_busy() -> bool:
    """Return whether another thread compiles, so that a call of LLVM here would wait."""
    thread = _thread
    return thread is not None and thread is not threading.current_thread()


def discard(end: Callable[[], None]) -> None:
    """Free an LLVM object without waiting for LLVM.

    Args:
        end: frees the object; a second call does nothing.
    """

    def inside() -> None:
        with llvm:
            end()

    if not is_busy() and llvm.acquire(blocking=False):
        try:
            end()
        finally:
            llvm.release()
    else:
        submit(0, inside)


def _work() -> None:
    global _running, _thread
    while True:
        with changed:
            _running = heapq.heappop(_jobs) if _jobs else None
            if _running is None:
                _thread = None
                return
            job = _running[2]
        try:
            job()
        except Exception:
            _log.exception('a job in the background failed')
        del job


def _stop() -> None:
    """Wait for the running job: LLVM must not run while the process tears down its data."""
    with changed:
        _jobs.clear()
        thread = _thread
    if thread is not None:
        thread.join()


# The other process.

_enabled = False
_lock = FreshLock()
_process: subprocess.Popen[bytes] | None = None


def enable_process() -> None:
    """Enable tracing and compilation in another process, for threads other than the main one.

    It costs a start-up of half a second and the memory of another Python process.
    """
    global _enabled
    _enabled = True


def disable_process() -> None:
    """Compile in this process again; ends the other one if it runs."""
    global _enabled
    _enabled = False
    _end_process()


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
                    _end_process()
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


def _end_process() -> None:
    """End the other process, even while it works; the next function starts another one."""
    global _process
    process, _process = _process, None
    if process is not None:
        process.kill()
        with suppress(OSError), process:  # closes the pipes, and waits
            pass


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


# Forks, and the end of this process.


def _pause() -> None:
    llvm.acquire()
    changed.acquire()


def _go_on() -> None:
    changed.release()
    llvm.release()


def _begin_anew() -> None:
    """Continue in a forked process: it has the jobs, and starts a thread when it needs a result."""
    global _running, _thread, _process
    _thread = _process = None  # the other process belongs to the parent
    for lock in list(_fresh):
        lock.renew()
    if _running is not None:
        heapq.heappush(_jobs, _running)
        _running = None
    _go_on()


atexit.register(_stop)
atexit.register(_end_process)
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(before=_pause, after_in_parent=_go_on, after_in_child=_begin_anew)


def give_back() -> None:
    """Return free pages of the allocator to the system; does nothing without glibc.

    A robot and its kernels are created in several threads, and glibc gives each thread a heap of
    its own, of which it returns only the end. Memory freed in the middle stays with the process and
    fragments a little more with each robot. Other threads keep running during the call.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))
