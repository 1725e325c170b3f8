# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Result codes of services: the mapping from errors, and a log of unexpected errors."""

from __future__ import annotations

import threading
from collections import Counter

from rclpy.node import Node

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
from dynamics_ros.requests.search import SearchError
from dynamics_ros_msgs.msg import Result

from .node_log import with_traceback


class TransformError(DynamicsRosError):
    """The pose of a frame is known neither to the model nor to tf."""


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
    'timed_out': Result.TIMED_OUT,
    'unreachable': Result.UNREACHABLE,
    'stalled': Result.NO_SOLUTION,
}
"""Code of each reason of a SearchError."""


def success() -> Result:
    """Return the result of a successful request."""
    return Result(code=Result.SUCCESS)


def failure(error: BaseException) -> Result:
    """Return the result with code and text of an error."""
    if isinstance(error, SearchError):
        return Result(code=SEARCHES[error.reason], message=str(error))
    for kind, code in CODES:
        if isinstance(error, kind):
            return Result(code=code, message=str(error))
    expected = isinstance(error, DynamicsRosError)
    text = str(error) if expected else printable(f'{type(error).__name__}: {error}')
    return Result(code=Result.FAILURE, message=text)


class FaultLog:
    """Log of unexpected errors: each is logged with its traceback once, and then only counted.

    Other nodes may be able to trigger an error repeatedly, and must not be able to flood the log.

    Attributes:
        counts: number of errors, by place and class of the error.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.counts: Counter[str] = Counter()
        self._seen: set[tuple[str, int, int]] = set()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, node: Node) -> FaultLog:
        """Return the fault log of a node, or a new one if it has none."""
        return getattr(node, 'faults', None) or cls(node)

    def report(self, where: str, error: BaseException) -> None:
        """Log or count an unexpected error of an activity, ``where``."""
        if not self._node.context.ok():
            return  # a signal has shut the context down meanwhile, which explains the error
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        location = (id(last.tb_frame.f_code), last.tb_lineno) if last else (0, 0)
        kind = f'{where}: {type(error).__name__}'
        with self._lock:
            self.counts[kind] += 1
            if (kind, *location) in self._seen:
                return
            self._seen.add((kind, *location))
        head = f'{where}: unexpected error (reported once, then counted)'
        self._node.get_logger().error(with_traceback(head, error))
