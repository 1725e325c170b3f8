"""How a service call ends: errors become result codes here and nowhere else."""

from __future__ import annotations

import threading
import traceback

from rclpy.node import Node

from dynamics_ros_msgs.msg import Result

from ..errors import (
    DynamicsRosError,
    InvalidArgumentError,
    ModelError,
    SingularError,
    UnknownFrameError,
    UnknownJointError,
)


class NoModelError(DynamicsRosError):
    """No robot description has been accepted yet."""


class NoStateError(DynamicsRosError):
    """The latest joint state is asked for and is not complete."""


class StaleStateError(DynamicsRosError):
    """The latest joint state is older than the node allows."""


class TransformError(DynamicsRosError):
    """Neither the model nor tf tells where a frame is."""


class SearchError(DynamicsRosError):
    """A solver ended without a solution.

    Attributes:
        code: the result code that says why.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


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


def success() -> Result:
    """It worked."""
    return Result(code=Result.SUCCESS)


def failure(error: BaseException) -> Result:
    """The code and the text of an error."""
    if isinstance(error, SearchError):
        return Result(code=error.code, message=str(error))
    for kind, code in CODES:
        if isinstance(error, kind):
            return Result(code=code, message=str(error))
    foreseen = isinstance(error, DynamicsRosError)
    text = str(error) if foreseen else f'{type(error).__name__}: {error}'
    return Result(code=Result.FAILURE, message=text)


class FaultLog:
    """Logs a fault with its traceback the first time it is seen, and not again.

    What an outside party can trigger must not be able to fill the log.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def report(self, where: str, error: BaseException) -> None:
        """Log an error that nobody foresaw."""
        if not self._node.context.ok():
            return  # a signal has shut the context down in the middle: that is no fault
        frames = traceback.extract_tb(error.__traceback__)
        place = f'{frames[-1].filename}:{frames[-1].lineno}' if frames else ''
        key = f'{where} {type(error).__name__} {place}'
        with self._lock:
            if key in self._seen:
                return
            self._seen.add(key)
        text = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
        self._node.get_logger().error(f'{where}: unexpected error (reported once)\n{text}')
