# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Executable calibrate_robot: the subcommands for files, and ``run``, which moves a robot."""

from __future__ import annotations

from dynamics_ros.calibration import command
from dynamics_ros.errors import DynamicsRosError


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0 if it succeeded."""
    return command.main(arguments, {'run': _run})


def _run(arguments: list[str]) -> None:
    try:
        from .run import run
    except ImportError as error:
        raise DynamicsRosError(
            f'run needs ROS 2, with the packages rclpy and control_msgs: {error}'
        ) from error
    run(arguments)
