# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How a service call ends: errors become result codes here and nowhere else."""

from __future__ import annotations

import threading
from collections import Counter

from rclpy.node import Node

from dynamics_ros.errors import (
    DynamicsRosError,
    InvalidArgumentError,
    ModelError,
    SingularError,
    UnknownFrameError,
    UnknownJointError,
    printable,
)
from dynamics_ros.requests.search import SearchError
from dynamics_ros_msgs.msg import Result

from .node_log import with_traceback


class NoModelError(DynamicsRosError):
    """No robot description has been accepted yet."""


class NoStateError(DynamicsRosError):
    """The latest joint state is asked for and is not complete."""


class StaleStateError(DynamicsRosError):
    """The latest joint state is older than the node allows."""


class TransformError(DynamicsRosError):
    """Neither the model nor tf tells where a frame is."""


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
"""The first that fits counts: a child stands before its parent."""

SEARCHES = {
    'timed_out': Result.TIMED_OUT,
    'unreachable': Result.UNREACHABLE,
    'stalled': Result.NO_SOLUTION,
}
"""By the reason of a SearchError."""


def success() -> Result:
    """It worked."""
    return Result(code=Result.SUCCESS)


def failure(error: BaseException) -> Result:
    """The code and the text of an error."""
    if isinstance(error, SearchError):
        return Result(code=SEARCHES[error.reason], message=str(error))
    for kind, code in CODES:
        if isinstance(error, kind):
            return Result(code=code, message=str(error))
    foreseen = isinstance(error, DynamicsRosError)
    text = str(error) if foreseen else printable(f'{type(error).__name__}: {error}')
    return Result(code=Result.FAILURE, message=text)


class FaultLog:
    """Logs a fault with its traceback the first time it is seen, and counts it from then on.

    What an outside party can trigger must not be able to fill the log.

    Attributes:
        counts: where, and the kind of error, to how often.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.counts: Counter[str] = Counter()
        self._seen: set[tuple[str, int, int]] = set()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, node: Node) -> FaultLog:
        """That of a node, if it has one, else a new one."""
        return getattr(node, 'faults', None) or cls(node)

    def report(self, where: str, error: BaseException) -> None:
        """Log an error that nobody foresaw."""
        if not self._node.context.ok():
            return  # a signal has shut the context down in the middle: that is no fault
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = (id(last.tb_frame.f_code), last.tb_lineno) if last else (0, 0)
        kind = f'{where}: {type(error).__name__}'
        with self._lock:
            self.counts[kind] += 1
            if (kind, *place) in self._seen:
                return
            self._seen.add((kind, *place))
        head = f'{where}: unexpected error (reported once, then counted)'
        self._node.get_logger().error(with_traceback(head, error))
