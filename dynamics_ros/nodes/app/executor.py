# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs nodes until a signal, on the fastest executor that works here, and ends quietly."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

import rclpy
from rclpy.action import ActionServer
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.reporting.library_log import LIBRARY, LibraryLog
from dynamics_ros.nodes.reporting.middleware_errors import MIDDLEWARE_ERRORS, in_words
from dynamics_ros.nodes.reporting.node_log import NodeLog
from dynamics_ros.nodes.reporting.rate_limits import Burst
from dynamics_ros.nodes.reporting.results import FaultLog
from dynamics_ros.wire import fallbacks
from dynamics_ros.wire.fallbacks import Fallback, forced

from . import command_line
from .dds_timer_threads import schedule_timers_as_batch
from .signals import ending

_log = logging.getLogger('dynamics_ros.nodes')

FOREVER = 1e8
"""Seconds; much more overflows the events executor's deadline."""

PROBE_TIME = 1.0

SWITCH_INTERVAL = 0.001
"""Seconds for which a thread that compiles or searches may keep a message waiting for the
interpreter; the usual 5 ms are several messages."""

MAX_FAULTS, FAULT_SECONDS = 1000, 60.0
"""Errors within so many seconds that the executor survives; more are no life. Those of callbacks,
which outsiders could cause, do not get as far as here: see ``GuardedNode``."""


class Startable(Protocol):
    """What begins its work once an executor is there to run it."""

    def start(self, executor: Executor) -> None:
        """Begin; called by the executor."""

    def end(self) -> None:
        """Send what has to be sent before the process ends; the executor no longer spins."""


@dataclass(frozen=True)
class Application:
    """What a process runs."""

    nodes: Sequence[Node]
    context: Startable


def run(build: Callable[[], Application], arguments: Sequence[str] | None = None) -> NoReturn:
    """Build nodes, spin them until a signal ends the process."""
    try:
        code = _until_a_signal(build, arguments)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # At once: a thread may be in the middle of a compilation, and LLVM aborts the process when its
    # own end overtakes that. What is to be put in order has been.
    os._exit(code)


def _until_a_signal(build: Callable[[], Application], arguments: Sequence[str] | None) -> int:
    # rclpy's own handler shuts the context down under a callback, which raises there, or crashes
    # the events executor; Python's raises KeyboardInterrupt there. A signal only writes into a
    # pipe here, and the executor ends between two events.
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    numbers = ending()
    for number in numbers:
        signal.signal(number, lambda *_: None)
    given = sys.argv[1:] if arguments is None else arguments
    if command_line.wants_help(given):
        print(command_line.usage(), end='')
        return 0
    try:
        try:
            command_line.check(given)
            fallbacks.check()
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        except (DynamicsRosError, RuntimeError) as error:
            print(f'cannot start: {in_words(error)}', file=sys.stderr)
            return 1
        try:
            return _run(build, told)
        finally:
            # A second signal must not interrupt the clean-up, nor print a traceback.
            for number in numbers:
                signal.signal(number, signal.SIG_IGN)
            rclpy.try_shutdown()
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0


def _run(build: Callable[[], Application], told: int) -> int:
    log = LibraryLog(NodeLog(LIBRARY))
    try:
        application = build()
    except DynamicsRosError as error:
        print(f'cannot start: {error}', file=sys.stderr)
        return 1
    except Exception as error:
        if not rclpy.ok():  # a signal came before the nodes were there
            return 0
        if not isinstance(error, MIDDLEWARE_ERRORS):
            raise
        print(f'cannot start: {in_words(error)}', file=sys.stderr)
        return 1
    log.logger = application.nodes[0].get_logger()
    executor = make_executor()
    for node in application.nodes:
        executor.add_node(node)
    executor.create_task(application.context.start, executor)
    # What start-up made lives as long as the process: no collection needs to look at it.
    gc.freeze()
    gc.enable()
    sys.setswitchinterval(SWITCH_INTERVAL)
    schedule_timers_as_batch()
    try:
        spin(executor, application.nodes[0], _signal(executor, told))
    finally:
        try:
            application.context.end()
        finally:
            dispose(executor, application.nodes)
    return 0


def _signal(executor: Executor, told: int) -> Future[None]:
    """A future that is done when a byte has come through the pipe."""
    ended: Future[None] = Future(executor=executor)

    def wait() -> None:
        os.read(told, 1)
        executor.create_task(ended.set_result, None)

    threading.Thread(target=wait, name='signals', daemon=True).start()
    return ended


def spin(executor: Executor, node: Node, end: Future[None] | None = None) -> None:
    """Spin until the end or until the context is shut down.

    Raises:
        RuntimeError: the executor raises again and again.
    """
    end = Future() if end is None else end
    faults, budget = FaultLog(node), Burst(MAX_FAULTS, FAULT_SECONDS)
    while budget.passes(time.monotonic()):
        try:
            executor.spin_until_future_complete(end, timeout_sec=FOREVER)
        except (KeyboardInterrupt, ExternalShutdownException):
            return
        except Exception as error:
            if not rclpy.ok():
                return
            faults.report('spinning', error)
        if end.done() or not rclpy.ok():
            return
    raise RuntimeError(f'the executor raised {MAX_FAULTS} times within {FAULT_SECONDS:g} s')


def dispose(executor: Executor, nodes: Sequence[Node]) -> None:
    """Let go of everything in the middleware.

    A participant that outlives its process leaves its shared memory behind, and that delays the
    discovery of whoever starts next by seconds.
    """
    for node in nodes:
        executor.remove_node(node)
        for entity in list(node.waitables):
            if isinstance(entity, ActionServer):
                entity.destroy()  # which destroy_node forgets
        node.destroy_node()
    # Last: the events executor holds on to what its nodes subscribe to until then.
    executor.shutdown()


def make_executor() -> Executor:
    """The events executor where there is one that runs callbacks, else the single-threaded one."""
    executor = _events_executor()
    if executor is None:
        _log.warning('the events executor does not run here; the other one takes more time')
        return SingleThreadedExecutor()
    return executor


def _events_executor() -> Executor | None:
    if forced(Fallback.EXECUTOR):
        return None
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return None
    executor = EventsExecutor()
    done = executor.create_task(lambda: None)
    executor.spin_until_future_complete(done, timeout_sec=PROBE_TIME)
    return executor if done.done() else None
