# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Text of the exported C file and of its header, which documents the functions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dynamics_ros.algorithms.quantity import DEFINITIONS, Key, Options
from dynamics_ros.kernels import Trace
from dynamics_ros.kernels.source import CFunction, comment, helpers
from dynamics_ros.model import ROOT, Joint
from dynamics_ros.model.joints import Entries
from dynamics_ros.robot import Robot

RATES = {'m': '[m/s], [m/s^2], [N]', 'rad': '[rad/s], [rad/s^2], [N m]'}
"""Units of velocity, acceleration and torque by the unit of the position."""


class Function(NamedTuple):
    """An exported kernel.

    Attributes:
        key: name and options of the kernel.
        trace: trace with the name of the C function.
        code: C code of the trace.
    """

    key: Key
    trace: Trace
    code: CFunction


def source(robot: Robot, functions: Sequence[Function], prefix: str, writer: str) -> str:
    """Text of the C file."""
    lines = comment([f'Kernels of the robot {robot.name}, written by {writer}.'])
    lines += [f'#include "{prefix}_kernels.h"', '', '#include <math.h>', '']
    lines += helpers(function.trace for function in functions)
    if robot.joint_names:
        names = ',\n    '.join(_quoted(name) for name in robot.joint_names)
        lines += [f'{_joint_names(robot, prefix)} = {{', f'    {names}', '};', '']
    for function in functions:
        lines += [*function.code.lines, '']
    return '\n'.join(lines)


def header(robot: Robot, functions: Sequence[Function], prefix: str, writer: str) -> str:
    """Text of the header file, which documents functions, units, frames and the order of joints."""
    upper = prefix.upper()
    guard = f'{upper}_KERNELS_H'
    lines = comment(
        [
            f'Kernels of the robot {robot.name}, written by {writer}.',
            '',
            *_common_documentation(robot),
        ]
    )
    lines += [f'#ifndef {guard}', f'#define {guard}', '']
    sizes = {'NQ': robot.nq, 'NV': robot.nv, 'JOINTS': len(robot.joint_names)}
    sizes['FRAMES'] = len(robot.frame_names)
    lines += [f'#define {upper}_{name} {value}' for name, value in sizes.items()]
    lines += ['', '#ifdef __cplusplus', 'extern "C" {', '#endif', '']
    if robot.joint_names:
        lines += ['// The joints after the root joint, in the order of q and v.']
        lines += [f'extern {_joint_names(robot, prefix)};', '']
    for function in functions:
        lines += [*comment(_documentation(function, robot)), f'{function.code.prototype};', '']
    return '\n'.join([*lines, '#ifdef __cplusplus', '}', '#endif', '', '#endif', ''])


def _common_documentation(robot: Robot) -> Iterator[str]:
    """Lines of documentation that apply to all functions."""
    x, y, z = robot.model.gravity
    yield 'SI units, right-handed frames. Matrices are row-major. Twists and wrenches are linear'
    yield 'first. The functions have no state, allocate no memory, and are thread-safe.'
    yield 'Inputs must be finite; they are not checked. An output must not overlap another array.'
    yield ''
    yield f'Root frame: {robot.root_frame}. Gravity in it: ({x:g}, {y:g}, {z:g}) m/s^2.'
    yield f'Total mass of the moving bodies: {robot.total_mass:g} kg.'
    yield ''
    yield 'Order of q:'
    joints = [joint for joint in robot.model.joints if joint.leader is None]
    for joint in joints:
        yield from _coordinates(joint, robot)
    yield 'Order of v, of accelerations and of torques:'
    for joint in joints:
        yield from _velocities(joint, robot)
    followers = [joint for joint in robot.model.joints if joint.leader is not None]
    if followers:
        yield 'Mimic joints have no coordinate:'
    for joint in followers:
        yield f'  {joint.name} = {joint.multiplier:g} {joint.leader} + {joint.offset:g}'
    yield ''
    yield 'Derivatives by q are along velocities: of f(q exp(t e_k)) at t = 0.'
    yield 'References of a Jacobian, a twist or an acceleration:'
    yield '  world                at the origin of the root frame, in axes of the root frame'
    yield '  local                at the origin of the frame, in axes of the frame'
    yield '  local_world_aligned  at the origin of the frame, in axes of the root frame'


def _coordinates(joint: Joint, robot: Robot) -> Iterator[str]:
    for places, entries in _index_ranges('q', joint.q_indices, joint.kind.coordinates):
        unit = '' if entries.unit == '1' else f' [{entries.unit}]'
        yield f'  {places}  {_description(entries, joint, robot)}{unit}'


def _velocities(joint: Joint, robot: Robot) -> Iterator[str]:
    for places, entries in _index_ranges('v', joint.v_indices, joint.kind.velocities):
        yield f'  {places}  {_description(entries, joint, robot)} {RATES[entries.unit]}'


def _index_ranges(
    name: str, indices: Sequence[int], parts: Sequence[Entries]
) -> Iterator[tuple[str, Entries]]:
    """Index ranges of the entries of a joint, such as q[0..2]."""
    first = indices[0]
    for entries in parts:
        last = first + entries.count - 1
        yield (f'{name}[{first}]' if first == last else f'{name}[{first}..{last}]'), entries
        first = last + 1


def _description(entries: Entries, joint: Joint, robot: Robot) -> str:
    if not entries.meaning:
        return joint.name
    body = robot.body_names[robot.model.joints.index(joint)]
    place = robot.root_frame if joint.parent == ROOT else f'the frame of {joint.name}'
    return entries.meaning.format(body=body, place=place)


def _documentation(function: Function, robot: Robot) -> Iterator[str]:
    """Lines of documentation of a function: summary, options, inputs, outputs, operations."""
    name, *options = function.key
    traced, definition = function.trace, DEFINITIONS[name]
    yield f'{definition.summary[0].upper()}{definition.summary[1:]}.'
    if definition.options in (Options.FRAME, Options.FRAME_AND_ROWS):
        yield f'Frame: {options[0]}.'
    elif definition.options is Options.FRAME_AND_REFERENCE:
        yield f'Frame: {options[0]}. Reference: {options[1]}.'
    elif definition.options is Options.PRESCRIBED:
        given = f'of v[{", ".join(options)}]' if options else 'none'
        yield f'Given accelerations: {given}.'
    if name == 'all_frames':
        yield from textwrap.wrap(f'Frames: {", ".join(robot.frame_names)}.', 90)
    if definition.may_be_singular:
        yield 'Where the mass matrix is singular, results are infinite or NaN.'
    for i, (x, c_name) in enumerate(zip(traced.inputs, function.code.inputs, strict=True)):
        meaning = definition.meanings.get(x.name)
        if meaning is None and definition.options is not Options.WRENCHES:
            yield f'  in   {c_name} {_shape(x.shape)}'
            continue
        if meaning is None:
            frame = options[i - len(traced.inputs)]
            meaning = f'force [N] and torque [N m] of the environment on {frame}, in that frame'
        yield f'  in   {c_name} {_shape(x.shape)}: {meaning}'
    for x, c_name in zip(traced.outputs, function.code.outputs, strict=True):
        yield f'  out  {c_name} {_shape(x.shape)}: {definition.outputs[x.name]}'
    memory = function.code.memory * 8 // 1000
    yield f'{traced.operation_count} operations' + (
        f', {memory} kB on the stack.' if memory else '.'
    )


def _shape(shape: tuple[int, ...]) -> str:
    return f'({" x ".join(map(str, shape))})' if shape else '(a number)'


def _joint_names(robot: Robot, prefix: str) -> str:
    return f'const char *const {prefix}_joint_names[{len(robot.joint_names)}]'


def _quoted(text: str) -> str:
    """A C string literal; special characters are octal escapes, which have a fixed length."""
    plain = ''.join(
        chr(x) if 32 <= x < 127 and chr(x) not in '"\\?' else f'\\{x:03o}' for x in text.encode()
    )
    return f'"{plain}"'
