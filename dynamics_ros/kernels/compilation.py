# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The machine code of a trace: made now or in the background, shared by the kernels that run it."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable
from functools import lru_cache

from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError
from dynamics_ros.kernels.machine_code import LlvmBackend, is_kept
from dynamics_ros.kernels.process import compile_queue as background
from dynamics_ros.kernels.python_backend import PythonBackend

WAIT_OPERATIONS = 5000
"""Up to so many operations, some 0.15 s, a trace is compiled before it is first used."""

_log = logging.getLogger('dynamics_ros.kernels')


class Compilation:
    """What runs a trace: plain Python at first, machine code once it is compiled.

    Attributes:
        trace: what is computed.
        backend: that was asked for: 'llvm', 'python' or 'auto'.
        plain: the plain Python function, which computes until there is machine code.
        runner: what computes it.
        seconds: how long the compilation took; 0 until it is finished.
    """

    def __init__(self, trace: Trace, backend: str, wait: bool | None) -> None:
        """Begin.

        Args:
            trace: what is computed.
            backend, wait: as for ``Kernel``.
        """
        self.trace = trace
        self.backend = backend
        self.plain = PythonBackend(trace)
        self.runner: LlvmBackend | PythonBackend = self.plain
        self.seconds = 0.0
        self._wait = True if wait is None and backend == 'llvm' else wait
        self._finished = backend == 'python'
        self._takers: list[weakref.WeakMethod[Callable[[], None]]] = []
        self._callbacks: list[Callable[[], None]] = []
        if not self._finished:
            job = _compiling(weakref.ref(self))
            if is_kept(trace) and not background.is_busy():
                job()  # the compiler has nothing to do
            else:
                self._run_when_fit(job)

    @property
    def finished(self) -> bool:
        """Whether the compilation is over, so that ``runner`` does not change any more."""
        self.resume()
        return self._finished

    def resume(self) -> None:
        """Make sure that the compiler's thread runs, also in a forked process."""
        if not self._finished:
            background.resume()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is finished; return whether it is.

        Args:
            timeout: how long at most [s]; None for as long as it takes.
        """
        if not self.finished:
            with background.changed:
                background.changed.wait_for(lambda: self._finished, timeout)
        return self._finished

    def tell(self, taker: Callable[[], None]) -> None:
        """Call a bound method before the compilation counts as finished, if its object still lives.

        Nothing is called when it is finished already.
        """
        with background.changed:
            if not self._finished:
                self._takers.append(weakref.WeakMethod(taker))

    def on_finished(self, callback: Callable[[], None]) -> None:
        """Call a function once it is finished, from the thread that compiles; or now."""
        with background.changed:
            if not self.finished:
                self._callbacks.append(callback)
                return
        callback()

    def _run_when_fit(self, job: Callable[[], None]) -> None:
        """Run a job that compiles, now or in the background."""
        wait = self._wait
        if wait is None:
            wait = self.trace.operation_count <= WAIT_OPERATIONS and not background.is_busy()
        if wait:
            job()
        else:
            background.submit(self.trace.operation_count, job)

    def compile(self) -> None:
        """Put machine code in the place of plain Python, where that can be done."""
        started = time.perf_counter()
        try:
            runner = LlvmBackend(self.trace, self._run_when_fit)
        except CompilerUnavailableError as reason:
            _warn_once(f'kernels run as plain Python, which is slower: {reason}')
        except Exception as reason:
            # Whatever went wrong: plain Python is right, and who compiles must go on.
            _warn_once(f'{self.trace.name} runs as plain Python, which is slower: {reason}')
        else:
            self.runner = runner
            # Gives back the memory of the functions that answered meanwhile.
            self.plain = PythonBackend(self.trace)
        self.seconds = time.perf_counter() - started
        with background.changed:
            for reference in self._takers:
                taker = reference()
                if taker is not None:
                    taker()
            self._takers.clear()
            self._finished = True
            callbacks, self._callbacks = self._callbacks, []
            background.changed.notify_all()
        for callback in callbacks:
            callback()


def _compiling(compilation: weakref.ref[Compilation]) -> Callable[[], None]:
    """Return a job that compiles, unless nobody needs it any more."""

    def job() -> None:
        alive = compilation()
        if alive is not None:
            alive.compile()

    return job


@lru_cache(maxsize=1024)
def _warn_once(message: str) -> None:
    _log.warning(message)
