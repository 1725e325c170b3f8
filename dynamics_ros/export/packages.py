# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Export of a ros2_control package for one arm."""

from __future__ import annotations

import os
from pathlib import Path

from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.robot import Robot

from .files import function_name, kernel_files, write_package, writer
from .ros2_control import ControlPackage


def export_ros2_control(
    robot: Robot,
    description: str,
    name: str,
    folder: str | os.PathLike[str],
    tool: str | None = None,
) -> list[Path]:
    """Write an ament_cmake package with controllers and plugins of one arm for ros2_control.

    The package contains an impedance controller, a force-torque broadcaster that needs no sensor,
    and plugins of kinematics_interface and inverse_dynamics_solver. They use C functions that
    allocate no memory.

    Args:
        robot: an arm; its gravity, payload and locked joints become constants.
        description: URDF of the arm.
        name: name of the package.
        folder: parent folder of the package.
        tool: controlled frame at which the wrench is estimated; None for the end of the longest
            chain.

    Returns:
        The paths of the files.

    Raises:
        InvalidArgumentError: the name is not a name of a ROS package, the robot is not an arm, no
            joint moves the frame, or the folder cannot be written.
        UnknownFrameError: the frame does not exist.
    """
    frame = tool_frame(parse_urdf(description)) if tool is None else tool
    package = ControlPackage(robot, description, name, frame)
    functions = {key: function_name(name, key) for key in package.keys}
    texts = package.files(writer(), functions)
    for path, text in kernel_files(robot, package.keys, name).items():
        above = f'include/{name}' if path.endswith('.h') else 'src'
        texts[f'{above}/{path}'] = text.replace(f'"{name}_kernels.h"', f'"{name}/{name}_kernels.h"')
    return write_package(Path(folder, name), texts)
