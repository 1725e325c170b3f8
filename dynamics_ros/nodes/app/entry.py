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
import sys
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from .signals import ending_signals


def _exit_immediately(_number: int, _frame: Any) -> NoReturn:
    # Nothing needs cleanup yet. Before rclpy.init, ``executor.run`` installs its own handlers.
    os._exit(0)


def _open_streams() -> None:
    """Open /dev/null for each standard stream that a launcher has closed.

    Otherwise the next opened file would get its descriptor and receive the output, and rclpy could
    not be imported.
    """
    for number, name in enumerate(('stdin', 'stdout', 'stderr')):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            mode = 'w' if number else 'r'
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _run(module: str, function: str = 'main') -> NoReturn:
    _open_streams()
    # Threads of BLAS spin while they wait, and no matrix of a node is large enough to gain by them.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # Objects made at start live as long as the process, so collections during start find nothing.
    # The executor enables the garbage collector again.
    gc.disable()
    for number in ending_signals():
        signal.signal(number, _exit_immediately)
    getattr(import_module(f'dynamics_ros.{module}'), function)()
    raise AssertionError('that ends the process')


SINGLE_NODE = 'nodes.executables.single_node'

cartesian_servo_node = partial(_run, SINGLE_NODE, 'cartesian_servo_node')
contact_node = partial(_run, SINGLE_NODE, 'contact_node')
dynamics_node = partial(_run, SINGLE_NODE, 'dynamics_node')
impedance_controller_node = partial(_run, SINGLE_NODE, 'impedance_controller_node')
kinematics_node = partial(_run, SINGLE_NODE, 'kinematics_node')

composed = partial(_run, 'nodes.executables.composed')

robot_simulator = partial(_run, 'nodes.simulator.robot_simulator')

dynamics_ros_viewer = partial(_run, 'viewer.node')
