# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of a trace, at once or in the background, shared by the kernels that run it."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable
from functools import lru_cache

from dynamics_ros.kernels import calls
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError
from dynamics_ros.kernels.machine_code import LlvmBackend, is_kept
from dynamics_ros.kernels.process import compile_queue as background
from dynamics_ros.kernels.python_backend import PythonBackend

WAIT_OPERATIONS = 5000
"""Traces of up to this many operations (about 0.15 s) are compiled before their first use."""

_log = logging.getLogger('dynamics_ros.kernels')


class Compilation:
    """Runner of a trace: plain Python at first, machine code once it is compiled.

    Attributes:
        trace: the trace to run.
        backend: the requested backend: 'llvm', 'python' or 'auto'.
        plain: the plain Python function, used until there is machine code.
        runner: the function or machine code that runs the trace now.
        seconds: duration of the compilation [s]; 0 until it is finished.
    """

    def __init__(self, trace: Trace, backend: str, wait: bool | None) -> None:
        """Start the compilation, or schedule it.

        Args:
            trace: the trace to compile.
            backend, wait: as for ``Kernel``.
        """
        self.trace = trace
        self.backend = backend
        self.plain = PythonBackend(trace)
        self.runner: LlvmBackend | PythonBackend = self.plain
        self.seconds = 0.0
        self._wait = True if wait is None and backend == 'llvm' else wait
        self._finished = backend == 'python'
        self._methods: list[weakref.WeakMethod[Callable[[], None]]] = []
        self._callbacks: list[Callable[[], None]] = []
        if not self._finished:
            job = _compiling(weakref.ref(self))
            if is_kept(trace) and not background.is_busy():
                job()  # the compiler has nothing to do
            else:
                self._run_when_fit(job)

    @property
    def finished(self) -> bool:
        """Whether the compilation is over, so that ``runner`` no longer changes."""
        self.resume()
        return self._finished

    def resume(self) -> None:
        """Ensure that the compiler thread runs, also in a forked process."""
        if not self._finished:
            background.resume()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the compilation is finished; return whether it is.

        Args:
            timeout: longest time to wait [s]; None waits without limit.
        """
        if not self.finished:
            with background.changed:
                background.changed.wait_for(lambda: self._finished, timeout)
        return self._finished

    def before_finished(self, method: Callable[[], None]) -> None:
        """Register a bound method to call just before the compilation counts as finished.

        The method's object is held by a weak reference. After the end of the compilation this does
        nothing.
        """
        with background.changed:
            if not self._finished:
                self._methods.append(weakref.WeakMethod(method))

    def on_finished(self, callback: Callable[[], None]) -> None:
        """Call a function from the compiler thread when finished; now if finished already."""
        with background.changed:
            if not self.finished:
                self._callbacks.append(callback)
                return
        callback()

    def _run_when_fit(self, job: Callable[[], None]) -> None:
        """Run a compilation job, now or in the background."""
        wait = self._wait
        if wait is None:
            wait = self.trace.operation_count <= WAIT_OPERATIONS and not background.is_busy()
        if wait:
            job()
        else:
            background.submit(self.trace.operation_count, job)

    def compile(self) -> None:
        """Replace plain Python by machine code where this is possible."""
        started = time.perf_counter()
        try:
            runner = LlvmBackend(self.trace, self._run_when_fit)
        except CompilerUnavailableError as reason:
            _warn_once(f'kernels run as plain Python, which is slower: {reason}')
        except Exception as reason:
            # Any failure leaves plain Python, which is correct; the compiler thread must go on.
            _warn_once(f'{self.trace.name} runs as plain Python, which is slower: {reason}')
        else:
            if calls.native is None:
                _warn_once(f'kernels are called through ctypes, slower: {calls.why_not_native}')
            self.runner = runner
            # Frees the memory of the plain functions that machine code has replaced.
            self.plain = PythonBackend(self.trace)
        self.seconds = time.perf_counter() - started
        with background.changed:
            for reference in self._methods:
                method = reference()
                if method is not None:
                    method()
            self._methods.clear()
            self._finished = True
            callbacks, self._callbacks = self._callbacks, []
            background.changed.notify_all()
        for callback in callbacks:
            callback()


def _compiling(compilation: weakref.ref[Compilation]) -> Callable[[], None]:
    """Return a compilation job that does nothing once the compilation is garbage collected."""

    def job() -> None:
        alive = compilation()
        if alive is not None:
            alive.compile()

    return job


@lru_cache(maxsize=1024)
def _warn_once(message: str) -> None:
    _log.warning(message)
