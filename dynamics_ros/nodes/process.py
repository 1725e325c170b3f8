# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The process of nodes: command line, executor, signals, and an end without traceback."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import rclpy
from rclpy.action import ActionServer
from rclpy.context import Context
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import remove_ros_args
from yaml import YAMLError

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.files import use_writable_log_folder
from dynamics_ros.nodes.entry import ending_signals
from dynamics_ros.nodes.rclpy_private import send_responses_by
from dynamics_ros.nodes.reporting import (
    LIBRARY,
    MIDDLEWARE_ERRORS,
    FaultLog,
    LibraryLog,
    NodeLog,
    describe_error,
    guarded_executor,
)
from dynamics_ros.ros_yaml import read_yaml, yaml_problem

USAGE = """\
usage: ros2 run dynamics_ros {name} [--ros-args ARGUMENTS]

  -p NAME:=VALUE       set a parameter; config/dynamics_ros.yaml of the package lists them
  --params-file FILE   set the parameters of a YAML file like that one
  -r FROM:=TO          rename a topic or service; -r __ns:=/NAME puts the node into a namespace
  --log-level LEVEL    debug, info, warn, error or fatal
"""

FILE_OPTION, DESCRIPTION = '--params-file', 'robot_description:='


def check_command_line(arguments: Sequence[str]) -> None:
    """Check the arguments before ``rclpy.init`` reads them.

    Args:
        arguments: arguments without the name of the program.

    Raises:
        InvalidArgumentError: some are not for ROS, or ROS cannot read them.
    """
    for option, file in pairwise(arguments):
        if option == FILE_OPTION and (fault := _fault_of_file(Path(file))):
            expected = "a YAML file of the form 'NODE: {ros__parameters: {NAME: VALUE}}'"
            raise InvalidArgumentError(f'{option} {file}', fault, expected)
    # rclpy.init parses the arguments again and prints the warnings of the parser then.
    set_logger_level('rcl', LoggingSeverity.FATAL)
    try:
        others = remove_ros_args(arguments)
    except RuntimeError as error:
        if any(argument.startswith(DESCRIPTION) for argument in arguments):
            problem = 'ROS cannot read it on a command line'
            expected = 'a file: -p robot_description_file:=FILE (URDF, xacro, MJCF, SDF)'
            raise InvalidArgumentError('robot_description', problem, expected) from error
        lists = any('[' in x or x == FILE_OPTION for x in arguments)
        expected = 'what --help says' + ', lists of one type: 0.0, not 0; "y" "a:=1", not y' * lists
        raise InvalidArgumentError('arguments', describe_error(error), expected) from error
    finally:
        set_logger_level('rcl', LoggingSeverity.UNSET)
    if others:
        raise InvalidArgumentError(
            ' '.join(others),
            'a node takes no such argument',
            '--ros-args -p NAME:=VALUE, or --help',
        )


def _fault_of_file(file: Path) -> str:
    """Return why a parameter file is not YAML, with the line; '' if it is, or cannot be opened."""
    if not file.is_file():
        return 'no such file'
    try:
        read_yaml(file)
    except (UnicodeDecodeError, YAMLError) as error:
        return yaml_problem(error)
    except OSError as error:
        return f'cannot be read: {error.strerror}'
    return ''


_log = logging.getLogger('dynamics_ros.nodes')

FOREVER = 1e8
"""Timeout of spinning [s]; much larger values overflow the deadline of the events executor."""

PROBE_TIME = 1.0
"""Time within which the events executor has to run a callback to be accepted [s]."""

SWITCH_INTERVAL = 0.001
"""Time after which a thread that compiles or searches has to release the interpreter [s], so that
messages are processed; Python's default of 5 ms is several message periods."""

MAX_FAULTS, FAULT_SECONDS = 1000, 60.0
"""Maximum number of errors of the executor itself within a time [s]; with more, the process ends.
``GuardedNode`` already catches errors of callbacks, which other nodes could cause."""

MAX_RESPONSES = 64
"""Maximum number of responses that are sent at the same time; each one may wait 100 ms for a client
that has left."""


class Application(NamedTuple):
    """Nodes of a process, and the object that works for them.

    Its ``start(executor)`` is the first task of the executor; its ``end()`` sends the last messages
    after the executor has stopped.
    """

    nodes: Sequence[Node]
    context: Any


def run(build: Callable[[], Application], arguments: Sequence[str] | None = None) -> NoReturn:
    """Build nodes, spin them until a signal, and end the process.

    Args:
        build: creates the nodes after ``rclpy.init``.
        arguments: arguments of the command line; None for those of the process.
    """
    try:
        code = _run_until_signal(build, arguments)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # End without finalizing the interpreter: another thread may be compiling, and LLVM aborts the
    # process if its destructors run meanwhile. All cleanup has been done.
    os._exit(code)


def _run_until_signal(build: Callable[[], Application], arguments: Sequence[str] | None) -> int:
    # The handler of rclpy shuts the context down during a callback, which then raises, or crashes
    # the events executor; that of Python raises KeyboardInterrupt in a callback. Here a signal only
    # writes to a pipe, and the executor stops between two events.
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    signal.set_wakeup_fd(write_fd)
    signals = ending_signals()
    for number in signals:
        signal.signal(number, lambda *_: None)
    command = sys.argv[1:] if arguments is None else arguments
    if {'--help', '-h'} & {*command}:
        print(USAGE.format(name=Path(sys.argv[0]).name), end='')
        return 0
    try:
        try:
            use_writable_log_folder()
            check_command_line(command)
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        except (DynamicsRosError, RuntimeError) as error:
            return _cannot_start(describe_error(error))
        try:
            return _run_nodes(build, read_fd)
        finally:
            # A second signal must not interrupt the clean-up, nor print a traceback.
            for number in signals:
                signal.signal(number, signal.SIG_IGN)
            rclpy.try_shutdown()
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0


def _run_nodes(build: Callable[[], Application], read_fd: int) -> int:
    log = LibraryLog(NodeLog(LIBRARY))
    try:
        application = build()
    except DynamicsRosError as error:
        return _cannot_start(str(error))
    except Exception as error:
        if not rclpy.ok():  # a signal came before the nodes were there
            return 0
        if not isinstance(error, MIDDLEWARE_ERRORS):
            raise
        return _cannot_start(describe_error(error))
    log.logger = application.nodes[0].get_logger()
    executor = make_executor()
    for node in application.nodes:
        executor.add_node(node)
    faults = FaultLog.of(application.nodes[0])
    tasks = guarded_executor(executor, faults)
    tasks.create_task(application.context.start, tasks)
    # Objects made at start live as long as the process; later collections need not scan them.
    gc.freeze()
    gc.enable()
    sys.setswitchinterval(SWITCH_INTERVAL)
    # No response delays joint states.
    responses = ThreadPoolExecutor(MAX_RESPONSES, 'responses')
    send_responses_by(
        lambda send: responses.submit(faults.guarded('sending a response', send)),
        lambda: faults.count('responses lost because their client seems to have left'),
    )
    try:
        spin(executor, application.nodes[0], _signal_future(tasks, read_fd))
    finally:
        try:
            application.context.end()
        finally:
            responses.shutdown(cancel_futures=True)
            dispose(executor, application.nodes)
    return 0


def _cannot_start(reason: str) -> int:
    print(f'cannot start: {reason}', file=sys.stderr)
    return 1


def _signal_future(tasks: Executor, read_fd: int) -> Future[None]:
    """Return a future that completes when a byte arrives through the pipe."""
    received: Future[None] = Future(executor=tasks)

    def wait() -> None:
        os.read(read_fd, 1)
        tasks.create_task(received.set_result, None)

    threading.Thread(target=wait, name='signals', daemon=True).start()
    return received


def spin(executor: Executor, node: Node, end: Future[None] | None = None) -> None:
    """Spin until a future completes or the context is shut down.

    Args:
        executor: the executor.
        node: node whose log reports errors of the executor.
        end: future that ends the spinning; None to spin until shutdown.

    Raises:
        RuntimeError: the executor has raised ``MAX_FAULTS`` errors in a short time.
    """
    end = Future() if end is None else end
    faults, times = FaultLog(node), deque[float](maxlen=MAX_FAULTS)
    while len(times) < MAX_FAULTS or times[-1] - times[0] > FAULT_SECONDS:
        try:
            executor.spin_until_future_complete(end, timeout_sec=FOREVER)
        except (KeyboardInterrupt, ExternalShutdownException):
            return
        except Exception as error:
            if not rclpy.ok():
                return
            faults.report('spinning', error)
            times.append(time.monotonic())
        if end.done() or not rclpy.ok():
            return
    raise RuntimeError(f'the executor raised {MAX_FAULTS} times within {FAULT_SECONDS:g} s')


def dispose(executor: Executor, nodes: Sequence[Node]) -> None:
    """Destroy the nodes and all their entities in the middleware.

    A participant that is not destroyed leaves its shared memory behind, which delays the discovery
    of processes that start later by seconds.
    """
    for node in nodes:
        executor.remove_node(node)
        for entity in list(node.waitables):
            if isinstance(entity, ActionServer):
                entity.destroy()  # destroy_node does not destroy action servers
        node.destroy_node()
    # Last, because the events executor keeps the subscriptions of its nodes until then.
    executor.shutdown()


def make_executor(context: Context | None = None) -> Executor:
    """Return an events executor if it exists and works, otherwise a single-threaded one."""
    with suppress(ImportError):
        from rclpy.experimental import EventsExecutor

        executor = EventsExecutor(context=context)
        done = executor.create_task(lambda: None)
        executor.spin_until_future_complete(done, timeout_sec=PROBE_TIME)
        if done.done():
            return executor
    _log.warning('the events executor does not run here; the other one takes more time')
    return SingleThreadedExecutor(context=context)
