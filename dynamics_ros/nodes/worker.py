"""A thread for what takes longer than a message may wait."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import rclpy
from rclpy.executors import Executor
from rclpy.task import Future

from ..errors import DynamicsRosError

Result = TypeVar('Result')


class BusyError(DynamicsRosError):
    """More work waits than a caller would want to wait for."""


class Worker:
    """Runs functions one after another, and hands their results back to the executor's thread.

    The thread is a daemon: a process that ends does not wait for it.
    """

    def __init__(self, name: str, limit: int = 64) -> None:
        self._queue: queue.Queue[tuple[Callable[[], Any], Future, Executor]] = queue.Queue(limit)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, executor: Executor, function: Callable[[], Result]) -> Future[Result]:
        """A future of the function's result; done callbacks run in the executor's thread.

        Raises:
            BusyError: too many functions wait already.
        """
        future: Future[Result] = Future(executor=executor)
        try:
            self._queue.put_nowait((function, future, executor))
        except queue.Full:
            raise BusyError('too many requests are waiting; try again later') from None
        return future

    def _work(self) -> None:
        while True:
            function, future, executor = self._queue.get()
            try:
                result = function()
            except Exception as error:
                _tell(executor, future.set_exception, error)
            else:
                _tell(executor, future.set_result, result)


def _tell(executor: Executor, tell: Callable[[Any], None], outcome: Any) -> None:
    try:
        executor.create_task(tell, outcome)
    except Exception:
        # At the end of the process the executor may be gone, and with it whoever waits.
        if rclpy.ok():
            raise
