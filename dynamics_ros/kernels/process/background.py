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
import itertools
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

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
"""Jobs that wait, and the one that runs."""

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
        _jobs.append((size, next(_order), job))
        resume()


def resume() -> None:
    """Ensure that submitted jobs are running, also in a forked process, which has no thread."""
    global _thread
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
    global _thread
    while True:
        with changed:
            if not _jobs:
                _thread = None
                return
            job = min(_jobs)
        try:
            job[2]()
        except Exception:
            _log.exception('a job in the background failed')
        with changed:
            _jobs.remove(job)
        del job


# The other process.

_enabled = False
_lock = FreshLock()
_process: tuple[subprocess.Popen[bytes], Connection] | None = None


def enable_process() -> None:
    """Enable tracing and compilation in another process, for threads other than the main one.

    It costs a start-up of half a second and the memory of another Python process.
    """
    global _enabled
    _enabled = True


def disable_process() -> None:
    """Compile in this process again; ends the other one if it runs, even while it works."""
    global _enabled
    _enabled = False
    process = _process
    if process is not None:
        process[0].kill()  # a thread that waits for its answer goes on
        with _lock:
            _forget()


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
                    done, result = _answer(function) if _enabled else (False, None)
                    break
                except Exception as reason:
                    # Any failure: the function is computed in this process instead.
                    _log.info('the process that compiles has failed: %r', reason)
                    done = False
                    _forget()
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
        from multiprocessing.connection import Pipe  # slow to import

        here, there = Pipe()
        with there:
            place = there.fileno()
            command = [sys.executable, '-c', f'from {__name__} import serve; serve({place})']
            # What functions print is not for the output of this process.
            other = subprocess.Popen(command, stdout=subprocess.DEVNULL, pass_fds=[place])
        _process = other, here
    connection = _process[1]
    connection.send_bytes(request)
    answer: tuple[bool, Any] = pickle.loads(connection.recv_bytes())
    return answer


def _forget() -> None:
    """End the other process, of which no thread waits for an answer; another one may start."""
    global _process
    if _process is not None:
        process, connection = _process
        _process = None
        process.kill()
        process.wait()
        connection.close()


def serve(place: int) -> None:
    """Run functions for the process at the other end of a connection.

    Args:
        place: file descriptor of the connection.
    """
    from multiprocessing.connection import Connection

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all its processes
    os.nice(NICE)
    connection = Connection(place)
    with suppress(EOFError, OSError):  # the other process has ended, maybe while it waited
        while connection.poll(IDLE):
            connection.send_bytes(_result_of(connection.recv_bytes()))


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
    global _thread, _process
    _thread = _process = None  # the other process belongs to the parent
    for lock in list(_fresh):
        lock.renew()
    _go_on()


def _end() -> None:
    """Wait for a call of LLVM, and allow no other while the process tears down its data."""
    global _enabled
    _enabled = False
    process = _process
    if process is not None:
        process[0].kill()
    llvm.acquire()


atexit.register(_end)
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
