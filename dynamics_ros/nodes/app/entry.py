# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the executables run: a signal ends them quietly even while they are still being imported.

Nothing heavy may be imported here: Python would meet a signal with KeyboardInterrupt until then.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from .signals import ending


def _end_at_once(_number: int, _frame: Any) -> NoReturn:
    # Nothing is open yet. From rclpy.init on, the executor of this room has handlers of its own.
    os._exit(0)


def _open_streams() -> None:
    """Have something behind all three standard streams: a launcher may have closed them.

    What is opened next would take their place, and be written into; rclpy cannot be imported.
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
    # What start-up makes lives as long as the process: nothing of it is looked through for garbage.
    # The executor switches it on again.
    gc.disable()
    for number in ending():
        signal.signal(number, _end_at_once)
    getattr(import_module(f'dynamics_ros.{module}'), function)()
    raise AssertionError('that ends the process')


ALONE = 'nodes.executables.alone'

cartesian_servo_node = partial(_run, ALONE, 'cartesian_servo_node')
contact_node = partial(_run, ALONE, 'contact_node')
dynamics_node = partial(_run, ALONE, 'dynamics_node')
impedance_controller_node = partial(_run, ALONE, 'impedance_controller_node')
kinematics_node = partial(_run, ALONE, 'kinematics_node')

composed = partial(_run, 'nodes.executables.composed')

robot_simulator = partial(_run, 'nodes.simulator.robot_simulator')

dynamics_ros_viewer = partial(_run, 'viewer.node')
