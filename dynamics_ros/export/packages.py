# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Export of a ros2_control package for one arm: control laws in C, controllers and plugins."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.sax.saxutils import escape

from dynamics_ros.algorithms.contact import torque_observer
from dynamics_ros.algorithms.contact.wrench import NOISE_ROWS
from dynamics_ros.algorithms.control import command, impedance, motion_check
from dynamics_ros.algorithms.control.compliance import stop
from dynamics_ros.algorithms.quantity import Key
from dynamics_ros.control import SetpointLimits
from dynamics_ros.control.compliance.compliant_arm import AT_REST
from dynamics_ros.control.compliance.motion_check import BELIEVABLE, FORGIVING, LASTING
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.robot import Robot

from .files import function_name, kernel_files, write_package, writer
from .ros2_control.numbers import (
    enumerators,
    gains,
    gains_text,
    guiding_text,
    listed,
    observer_text,
    start,
)
from .ros2_control.templates import filled, with_mock_hardware

NAME = re.compile('[a-z][a-z0-9]*(_[a-z0-9]+)*')
KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export
extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast std struct switch template this
thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
wchar_t while xor xor_eq
"""
"""Of C++, and the namespace of its library: these name no namespace of a package."""


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
    tool = tool_frame(parse_urdf(description)) if tool is None else tool
    if not NAME.fullmatch(name):
        expected = 'a name of a ROS package: lower case letters, digits and single underscores'
        raise InvalidArgumentError('ros2_control', repr(name), expected)
    if name in KEYWORDS.split():
        problem = f'{name!r} is a keyword of C++, which names no namespace'
        raise InvalidArgumentError('ros2_control', problem, 'a name of a ROS package')
    frame = robot.model.frame(tool)
    if robot.model.root_joint != 'fixed':
        problem = f'its base is {robot.model.root_joint}'
        raise InvalidArgumentError('robot', problem, 'a fixed base')
    wrong = [joint.name for joint in robot.model.actuated if joint.kind.nq != 1]
    if wrong or not robot.nv:
        problem = f'{", ".join(wrong)} of several coordinates' if wrong else 'no joint moves'
        raise InvalidArgumentError('robot', problem, 'an arm of joints with one coordinate each')
    moved = {k for i in robot.model.ancestors(frame.body) for k in robot.model.joints[i].v_indices}
    if not moved:
        raise InvalidArgumentError('tool', f'no joint moves {tool!r}', 'a frame that can move')
    observer = ('observer_step', 'instant')
    keys: list[Key] = [
        *(('mass_matrix',), ('gravity',), ('nonlinear_effects',), ('inverse_dynamics',)),
        *(('joint_friction',), ('damped_inverse',), ('setpoint_step',)),
        *(('stop_step', tool), ('torque_step',), ('holding_back', tool)),
        *(('floating_torques',), ('runaway_step',), ('blind_stop_step',), ('motion_check',)),
        *(('impedance_step', tool), observer, ('contact_wrenches', '6', tool, tool)),
        *(('forward_kinematics', x) for x in robot.frame_names),
        *(('jacobian', x, 'local_world_aligned') for x in robot.frame_names),
    ]
    functions = {key: function_name(name, key) for key in keys}
    n = robot.nv
    rows = {
        'JOINT_GAINS': impedance.JOINT_GAINS,
        'SETTINGS': impedance.SETTINGS,
        'FLAG_NAMES': tuple(f'flag_{x}' for x in impedance.FLAGS),
        'OBSERVER_SETTINGS': tuple(f'observer_{x}' for x in torque_observer.SETTINGS),
    }
    default_gains = gains(robot, tool)
    values = {key: enumerators(name.upper(), names) for key, names in rows.items()}
    values |= {
        'NAME': name,
        'UPPER': name.upper(),
        'WRITER': writer(),
        'ROBOT': _plain(robot.name),
        'ROBOT_XML': escape(robot.name),
        'TOOL': _plain(tool),
        'TOOL_YAML': json.dumps(tool),
        'ROOT': _plain(robot.root_frame),
        'ROOT_TEXT': _quoted(robot.root_frame),
        'TOOL_TEXT': _quoted(tool),
        'DOF': str(n),
        'TURNS': ', '.join(
            str(int(joint.kind.name == 'continuous')) for joint in robot.model.actuated
        ),
        'MEMORY': str(command.memory_size(robot.model)),
        'FLAGS': str(len(impedance.FLAGS)),
        'CHECKS': str(len(motion_check.CHECKS)),
        'CHECK_MEMORY': str(motion_check.memory_size(robot.model)),
        'FORGIVING': repr(FORGIVING),
        'LASTING': repr(LASTING),
        'STOP_MEMORY': str(stop.memory_size(robot.model)),
        'OBSERVER_MEMORY': str(torque_observer.MEMORY * n),
        'FRAMES': str(len(robot.frame_names)),
        'JOINT_ROWS': str(len(impedance.JOINT_GAINS)),
        'SETTINGS_COUNT': str(len(impedance.SETTINGS)),
        'OBSERVER_ROWS': str(len(torque_observer.SETTINGS)),
        'NOISE_ROWS': str(NOISE_ROWS),
        'MAX_INTERVAL': repr(command.MAX_INTERVAL),
        'NOMINAL_INTERVAL': repr(command.NOMINAL_INTERVAL),
        'AT_REST': repr(AT_REST),
        'BELIEVABLE': repr(BELIEVABLE),
        'DEFAULT_GAINS': gains_text(robot, tool),
        'DEFAULT_GUIDING': guiding_text(),
        'DEFAULT_OBSERVER': observer_text(robot, tool),
        'FRAME_TABLE': '\n'.join(
            f'  {{{_quoted(x)}, {functions["forward_kinematics", x]}, '
            f'{functions["jacobian", x, "local_world_aligned"]}}},'
            for x in robot.frame_names
        ),
        'JOINTS_TEXT': _plain(', '.join(robot.joint_names)),
        'FLAG_TEXTS': ', '.join(map(_quoted, impedance.FLAGS)),
        'SETPOINT': listed(SetpointLimits().rows),
        'STIFFNESS': listed(default_gains.stiffness.diagonal()),
        'DAMPING': listed(default_gains.damping.diagonal()),
    }
    values |= {
        f'CALL_{key[0].upper()}': function
        for key, function in functions.items()
        if key[0] not in ('forward_kinematics', 'jacobian')
    }
    values['CALL_TOOL'] = functions['forward_kinematics', tool]
    texts = filled(values)
    start_of = dict(zip(robot.joint_names, start(robot, tool).tolist(), strict=True))
    texts['urdf/robot.urdf'] = with_mock_hardware(description, name, start_of)
    texts = dict(sorted(texts.items()))
    for path, text in kernel_files(robot, keys, name).items():
        above = f'include/{name}' if path.endswith('.h') else 'src'
        texts[f'{above}/{path}'] = text.replace(f'"{name}_kernels.h"', f'"{name}/{name}_kernels.h"')
    return write_package(Path(folder, name), texts)


def _plain(text: str) -> str:
    """A name for a comment; characters that could end or continue the comment are replaced."""
    return re.sub(r'[^\w .,/-]', '_', text)


def _quoted(text: str) -> str:
    """A C string literal."""
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'
