# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of a node: its log, result codes, errors, clocks, counts and rates."""

from __future__ import annotations

import logging
import math
import os
import re
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutine
from typing import Any, cast

from rclpy.clock import Clock, ClockType
from rclpy.exceptions import NameValidationException
from rclpy.executors import Executor
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import LoggingSeverity
from rclpy.node import Node
from rclpy.timer import Timer

from dynamics_ros.errors import (
    DynamicsRosError,
    InvalidArgumentError,
    ModelError,
    NoModelError,
    NoStateError,
    SingularError,
    StaleStateError,
    UnknownFrameError,
    UnknownJointError,
    printable,
)
from dynamics_ros.nodes.rclpy_private import RCL_ERROR, log_for_callers_of
from dynamics_ros.reasons import Counts, Explanation
from dynamics_ros_msgs.msg import Result

MIDDLEWARE_ERRORS = (RCL_ERROR, NameValidationException)
"""Errors raised when a publisher, subscription or service is not allowed or cannot be created."""

_SOURCE_LOCATION = re.compile(r'\s*, at \S+:\d+')
"""Source location in an error text of ROS, which does not help users."""


def describe_error(error: BaseException) -> str:
    """Return the text of an error as one line, with the remedy of a system service without HOME."""
    text = ' '.join(_SOURCE_LOCATION.sub('', str(error)).split())
    remedy = '; set HOME or ROS_LOG_DIR to a folder that may be written'
    return text + remedy * ('logging directory' in text)


def age(now: int, then: int, ahead: float = 0.0) -> float:
    """Return the age of a time [s]; infinite for a future time, since the clock was reset then.

    Args:
        now, then: times of the same clock [ns].
        ahead: offset into the future that is tolerated as a difference between two machines [s].
    """
    seconds = (now - then) * 1e-9
    return seconds if seconds >= -ahead else math.inf


def steady_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """Create a timer with a period [s] that continues while a simulated clock is stopped."""
    return node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


class RateLimit:
    """Limits events to a maximum rate, evenly spaced.

    Attributes:
        next: time from which the next event may pass [s].
    """

    def __init__(self) -> None:
        self.next = 0.0

    def passes(self, now: float, rate: float) -> bool:
        """Return whether an event at time ``now`` [s] passes at a rate [Hz]; 0: no limit."""
        if rate <= 0.0:
            return True
        if now < self.next:
            return False
        period = 1.0 / rate
        late = now - self.next
        # Counted from the time it was due, which keeps the mean rate, except after a pause.
        self.next += period if late < period else late + period
        return True


class CauseLog:
    """Log of problems that may come with every message: each is logged when it begins and ends.

    A problem is known by its cause and joints, without figures. It has ended when it has not come
    for ``QUIET``; its number and the ranges of its figures are logged then. A new one beside many
    others replaces the one that has not come for longest, at a limited rate.
    """

    def __init__(self, node: Node) -> None:
        self._log = node.get_logger()
        self._present: dict[frozenset[tuple[str, str]], tuple[float, Counts]] = {}
        self._replacing = RateLimit()

    def add(self, text: Explanation) -> None:
        """Count an occurrence; log it if it is the first of its cause or of one of its joints."""
        self.update()
        keys = text.keys
        if keys not in self._present and len(self._present) == MAX_PRESENT:
            if not self._replacing.passes(time.monotonic(), REPLACED):
                return
            del self._present[next(iter(self._present))]
        if not keys.issubset(key for present in self._present for key in present):
            self._log.warning(text)
        _, counts = self._present.pop(keys, (0.0, Counts()))
        counts.add(text, 1)
        self._present[keys] = time.monotonic(), counts

    def update(self) -> None:
        """Log the problems that have ended."""
        ended = time.monotonic() - QUIET
        for keys in [keys for keys, (last, _) in self._present.items() if last < ended]:
            _, counts = self._present.pop(keys)
            # Of several joints some may have recovered.
            if all(keys.isdisjoint(others) for others in self._present):
                for text, count in counts.items():
                    self._log.info(f'no longer: {text} ({count} times)')


QUIET, MAX_PRESENT, REPLACED = 5.0, 100, 0.1
"""Time after which a problem that has not come again has ended [s]; most problems at a time, and
how often a new one replaces one of so many [Hz], since messages may invent causes."""

_OWN_FILE = os.path.realpath(__file__)

LIBRARY = 'dynamics_ros'


class MultilineText(str):
    """Text of several lines whose unprintable characters are already escaped."""

    __slots__ = ()


def with_traceback(head: str, error: BaseException) -> MultilineText:
    """Return a line followed by the indented traceback of an error."""
    trace = ''.join(traceback.format_tb(error.__traceback__)).splitlines()
    summary = f'{type(error).__name__}: {error}'
    lines = [f'  {printable(line)}' for line in (*trace, summary)]
    return MultilineText('\n'.join([printable(head), *lines]))


class NodeLog(RcutilsLogger):
    """Logger of rclpy that escapes control characters, so that none reaches a terminal."""

    contexts: dict[Any, Any]

    def log(
        self,
        message: str,
        severity: int | LoggingSeverity,
        name: str | None = None,
        **options: Any,
    ) -> bool:
        """Log one line, or a ``MultilineText``; arguments as of ``RcutilsLogger.log``."""
        attributed = log_for_callers_of(_OWN_FILE)
        # For rclpy a line of code has one severity, which only filters, such as ``once``, need.
        before = list(self.contexts.items())  # threads log too
        self.contexts = {key: one for key, one in before if attributed and one['filters']}
        text = message if isinstance(message, MultilineText) else printable(str(message))
        if name is not None:
            options['name'] = name  # a keyword-only argument in Jazzy
        return super().log(text, severity, **options)


class LibraryLog(logging.Handler):
    """Handler that forwards records of Python's logging to a logger of rclpy.

    Attributes:
        logger: the logger of rclpy.
    """

    def __init__(self, logger: Any) -> None:
        """Install the handler, once per process."""
        super().__init__()
        self.logger = logger
        logging.captureWarnings(True)
        for name in (LIBRARY, 'py.warnings'):
            logging.getLogger(name).addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record with its severity."""
        level = min(max(record.levelno, logging.INFO), logging.ERROR)
        self.logger.log(record.getMessage(), LoggingSeverity(level // 10 * 10))


class TransformError(DynamicsRosError):
    """The pose of a frame is known neither to the model nor to tf."""


class SearchError(DynamicsRosError):
    """A search ended without a solution.

    Attributes:
        reason: one of ``SEARCHES``.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @classmethod
    def of(cls, result: Any) -> SearchError:
        """Return the error for a result without a solution."""
        text = (
            f'{SEARCHES[result.reason][1]}; the closest was {result.position_error:.3g} m and '
            f'{result.rotation_error:.3g} rad away after {result.iterations} iterations'
        )
        return cls(result.reason, text)


CODES: tuple[tuple[type[DynamicsRosError], int], ...] = (
    (UnknownFrameError, Result.UNKNOWN_FRAME),
    (TransformError, Result.UNKNOWN_FRAME),
    (UnknownJointError, Result.UNKNOWN_JOINT),
    (InvalidArgumentError, Result.INVALID_ARGUMENT),
    (ModelError, Result.INVALID_ARGUMENT),
    (SingularError, Result.SINGULAR),
    (NoModelError, Result.NO_MODEL),
    (NoStateError, Result.NO_STATE),
    (StaleStateError, Result.STALE_STATE),
)
"""Code of each error class; the first match counts, so a subclass stands before its base class."""

SEARCHES = {
    'timed_out': (Result.TIMED_OUT, 'no solution within the time limit'),
    'unreachable': (Result.UNREACHABLE, 'the target is out of reach'),
    'stalled': (Result.NO_SOLUTION, 'no start led to a solution'),
    'colliding': (Result.NO_SOLUTION, 'all solutions that were found are in collision'),
}
"""Code and text of each reason for which a search may end without a solution."""


def failure(error: BaseException) -> Result:
    """Return the result with code and text of an error."""
    if isinstance(error, SearchError):
        return Result(code=SEARCHES[error.reason][0], message=str(error))
    for kind, code in CODES:
        if isinstance(error, kind):
            return Result(code=code, message=str(error))
    expected = isinstance(error, DynamicsRosError)
    text = str(error) if expected else printable(f'{type(error).__name__}: {error}')
    return Result(code=Result.FAILURE, message=text)


class FaultLog:
    """Log of unexpected errors: each type of an activity is logged once, and then only counted.

    Other nodes may be able to trigger an error repeatedly, and must not be able to flood the log.

    Attributes:
        counts: numbers of errors and of other events, by the key that diagnostics shows.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, node: Node) -> FaultLog:
        """Return the fault log of a node, or a new one if it has none."""
        return getattr(node, 'faults', None) or cls(node)

    def guarded(self, where: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that reports its errors as those of ``where`` instead of raising."""

        @wraps(function)  # rclpy inspects the number of arguments
        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Exception as error:
                self.report(where, error)

        return call

    def count(self, key: str) -> int:
        """Count an event; return how many there have been; may be called in any thread."""
        with self._lock:
            self.counts[key] += 1
            return self.counts[key]

    def report(self, where: str, error: BaseException) -> None:
        """Log or count an unexpected error of an activity, ``where``."""
        if not self._node.context.ok():
            return  # a signal has shut the context down meanwhile, which explains the error
        if self.count(f'unexpected errors: {where}: {type(error).__name__}') == 1:
            head = f'{where}: unexpected error (reported once, then counted)'
            self._node.get_logger().error(with_traceback(head, error))


class _GuardedExecutor:
    def __init__(self, executor: Executor, faults: FaultLog) -> None:
        self._executor, self._faults = executor, faults

    def create_task(self, function: Any, *arguments: Any) -> Any:
        if not iscoroutine(function):
            guarded = self._faults.guarded('a task', function)
            return self._executor.create_task(guarded, *arguments)

        async def finish() -> None:
            try:
                await function
            except Exception as error:
                self._faults.report('a task', error)

        return self._executor.create_task(finish())


def guarded_executor(executor: Executor, faults: FaultLog) -> Executor:
    """Return an object for the tasks of an executor that reports their errors.

    A task that raises ends the process: the events executor of rclpy 9.1.2 crashes. The object has
    only the method ``create_task``, with which futures call their callbacks; they do not keep it
    alive.
    """
    return cast(Executor, _GuardedExecutor(executor, faults))
