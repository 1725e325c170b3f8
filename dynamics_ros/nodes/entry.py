# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Entry points of the executables, which handle signals before the heavy imports.

This module must import quickly: until its handlers are installed, Python answers a signal with a
KeyboardInterrupt and a traceback.
"""

from __future__ import annotations

import gc
import os
import signal
from functools import partial
from typing import Any, NoReturn

from dynamics_ros.tools import load


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return SIGINT, SIGTERM, and SIGHUP unless that is ignored, as under nohup."""
    hangup = getattr(signal, 'SIGHUP', None)
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, hangup


def _exit_immediately(_number: int, _frame: Any) -> NoReturn:
    # Nothing needs cleanup yet. Before rclpy.init, ``executor.run`` installs its own handlers.
    os._exit(0)


def _run(module: str, function: str = 'main') -> NoReturn:
    # Threads of BLAS spin while they wait, and no matrix of a node is large enough to gain by them.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # Objects made at start live as long as the process, so collections during start find nothing.
    # The executor enables the garbage collector again.
    gc.disable()
    for number in ending_signals():
        signal.signal(number, _exit_immediately)
    getattr(load(module), function)()
    raise AssertionError('that ends the process')


EXECUTABLES = 'nodes.executables'

cartesian_servo_node = partial(_run, EXECUTABLES, 'cartesian_servo_node')
composed = partial(_run, EXECUTABLES, 'composed')
contact_node = partial(_run, EXECUTABLES, 'contact_node')
dynamics_node = partial(_run, EXECUTABLES, 'dynamics_node')
impedance_controller_node = partial(_run, EXECUTABLES, 'impedance_controller_node')
kinematics_node = partial(_run, EXECUTABLES, 'kinematics_node')

robot_simulator = partial(_run, 'nodes.robot_simulator')

dynamics_ros_viewer = partial(_run, 'viewer.node')
