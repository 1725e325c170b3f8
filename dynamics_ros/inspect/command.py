# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""inspect: prints a robot description and its likely errors."""

from __future__ import annotations

import argparse
import logging
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dynamics_ros.algorithms.inverse_kinematics.solutions import solvable_arm
from dynamics_ros.collision import Collisions
from dynamics_ros.command_line import Block, show
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, ModelError, printable
from dynamics_ros.kernels import call_path
from dynamics_ros.model import Frame, Joint, RobotDescription, build_model
from dynamics_ros.model.build import ROOT_JOINTS
from dynamics_ros.model.collision_geometry import read_collision_geometry, read_visual_geometry
from dynamics_ros.model.description import Contents
from dynamics_ros.model.doubts import LOG
from dynamics_ros.model.formats import read_any
from dynamics_ros.model.tool_frame import tool_frame_and_reason
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.page.robot_page import PORT, RobotPage
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Vector3

from .oddities import oddities

MAX_LINES = 60
"""Largest number of links shown."""

HEAD = ('', 'joint', 'axis', 'range', 'velocity', 'effort', 'mass')


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 if it has findings, 2 with the reason if there is no robot."""
    options = _parser().parse_intermixed_args(arguments)
    level = LOG.level
    try:
        return _inspect(options)
    except (BrokenPipeError, KeyboardInterrupt):
        return 0
    except DynamicsRosError as error:
        problem = str(error)
    except OSError as error:  # a full disk behind the standard output
        problem = f'the report cannot be written: {error.strerror}'
    finally:
        LOG.setLevel(level)
    print(f'inspect: {problem}', file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='inspect', description=__doc__)
    add = parser.add_argument
    add('robot', metavar='FILE', nargs='?', help='URDF, xacro, MJCF or SDF file')
    topic = 'read the description from a topic, such as /robot_description'
    add('--topic', metavar='NAME', help=topic)
    add('xacro', nargs='*', metavar='NAME:=VALUE', help='arguments of a xacro file')
    root = 'joint between world and root link (default: as the description says, or fixed)'
    add('--root-joint', choices=ROOT_JOINTS, help=root)
    frame = 'frame of inverse kinematics and of the page (default: the tool frame, marked *)'
    add('--frame', help=frame)
    pairs = 'print which pairs of links may collide, which are not checked and why'
    add('--collisions', action='store_true', help=pairs)
    add('--show', action='store_true', help='show the robot on a local web page')
    add('--port', type=int, default=PORT, help='port of that page (default: %(default)s)')
    return parser


def _inspect(options: argparse.Namespace) -> int:
    contents, warnings = _description(options)
    description = contents.robot
    for record in warnings:  # those of xacro; the report includes the others
        if record.getMessage() not in description.doubts:
            LOG.handle(record)
    LOG.setLevel(logging.ERROR)
    robot = Robot(build_model(description, options.root_joint or contents.root_joint))
    text = contents.urdf or '<robot name=""/>'  # shapes are read of URDF only
    folder = Path(options.robot or '').expanduser().parent
    _, looks = read_visual_geometry(text, folder)
    tool, reason = tool_frame_and_reason(description)
    if options.frame:
        tool, reason = options.frame, 'chosen by --frame'
    robot.model.frame(tool)
    odd = oddities(description, robot.model, read_collision_geometry(text, folder), looks)
    base = robot.model.root_joint
    show(
        (
            f'{printable(robot.name)}: {len(robot.joint_names)} joints in q, '
            f'{len(robot.frame_names)} links, {base} base, {robot.total_mass:.4g} kg that move',
            '',
            *tree(robot, description, tool),
            '',
            f'{len(robot.frame_names)} frames, each the name of a link; poses are in '
            f'{robot.root_frame}; * the nodes take {tool} where no frame is given',
            f'* {reason}',
        )
    )
    show(
        (
            f'inverse kinematics of {tool}: {inverse_kinematics(robot, tool)}',
            f'machine code is called by: {call_path()}',
            '',
            'odd about this description' if odd else 'nothing is odd about this description',
            *(f'  ! {printable(sentence)}' for sentence in odd),
        )
    )
    if options.collisions:
        scene = Collisions(robot, text, folder=folder, ignore_unreadable=True)
        show(['', 'collisions', *(f'  {line}' for line in collisions(scene))])
    if options.show:
        shapes, port = contents.urdf or None, options.port
        with RobotPage(robot, frame=tool, description=shapes, port=port, folder=folder) as shown:
            print(f'\nthe page is at {shown.url}; Ctrl-C ends it', flush=True)
            shown.wait()
    return int(bool(odd))


def _description(options: argparse.Namespace) -> tuple[Contents, list[logging.LogRecord]]:
    """Return the description, and the warnings that its reader has logged."""
    if options.topic is not None and options.robot is not None and ':=' in options.robot:
        raise InvalidArgumentError('argument', repr(options.robot), 'no xacro arguments of a topic')
    if (options.robot is None) == (options.topic is None):
        raise InvalidArgumentError('FILE', 'one of FILE and --topic is needed', 'a file or a topic')
    pairs = [text.partition(':=') for text in options.xacro]
    for name, sign, value in pairs:
        if not (name and sign):
            expected = 'NAME:=VALUE after the file, an argument of xacro'
            raise InvalidArgumentError('argument', repr(f'{name}{sign}{value}'), expected)
    records: list[logging.LogRecord] = []

    def hold(record: logging.LogRecord) -> bool:
        records.append(record)
        return False

    LOG.addFilter(hold)
    try:
        if options.topic is None:
            arguments = {name: value for name, _, value in pairs}
            return read_any(Path(options.robot), arguments), records
        try:
            from dynamics_ros.wire.description_topic import published_description
        except ImportError:
            reason = 'a topic needs ROS 2: source its setup file, or give the file'
            raise ModelError(f'topic {options.topic!r}', reason) from None
        text = published_description(options.topic)
        return Contents(parse_urdf(text), text), records
    finally:
        LOG.removeFilter(hold)


def tree(robot: Robot, description: RobotDescription, tool: str) -> Iterator[Block]:
    """Yield the link tree, with the joint that moves each link, its limits, and the mass."""
    masses = {link.name: link.inertial.mass for link in description.links}
    rows: list[tuple[str, ...]] = [HEAD]
    outline = robot.model.outline()
    for frame, depth in outline[:MAX_LINES]:
        joint = robot.model.joint_of(frame)
        name = f'{" " * depth}{printable(frame.name)}{" *" if frame.name == tool else ""}'
        mass = f'{masses[frame.name]:.4g} kg' if masses[frame.name] else '-'
        rows.append((name, *_joint(joint, frame), mass))
    yield rows
    if len(outline) > MAX_LINES:
        yield f'... and {len(outline) - MAX_LINES} links more'


def _joint(joint: Joint | None, frame: Frame) -> tuple[str, ...]:
    if joint is None:
        return 'fixed' if frame.parent else '', '', '', '', ''
    kind, limits = joint.kind, joint.limits
    axis = _axis(kind.axis) if kind.has_axis else ''
    name = f'{printable(joint.name)} ({kind.name})'
    if joint.leader is not None:
        factor = '' if joint.multiplier == 1.0 else f'{joint.multiplier:g} '
        offset = f' {joint.offset:+g}' if joint.offset else ''
        return name, axis, f'= {factor}{printable(joint.leader)}{offset}', '', ''
    if kind.nq != 1:
        return name, axis, f'{kind.nq} coordinates', '', ''
    unit, push = ('m', 'N') if kind.units[0] == 'm' else ('rad', 'Nm')
    ends = limits.lower, limits.upper
    span = 'unlimited' if all(map(math.isinf, ends)) else f'{ends[0]:.4g} to {ends[1]:.4g} {unit}'
    return name, axis, span, _bound(limits.velocity, f'{unit}/s'), _bound(limits.effort, push)


def _axis(axis: Vector3) -> str:
    numbers = [float(x) for x in axis]
    signs = [letter if x > 0.0 else f'-{letter}' for letter, x in zip('xyz', numbers) if x]
    return signs[0] if len(signs) == 1 else ' '.join(f'{x:.2g}' for x in numbers)


def _bound(value: float, unit: str) -> str:
    return '-' if math.isinf(value) else f'{value:.4g} {unit}'


def collisions(scene: Collisions) -> Iterator[str]:
    """Yield the pairs of links that may collide, and those that are not checked by reason."""
    yield from (f'! {printable(problem)}' for problem in scene.problems)
    groups: dict[str, list[tuple[str, str]]] = {'checked': list(scene.pairs)}
    for pair, reason in scene.allowed.items():
        groups.setdefault(reason, []).append(pair)
    for reason, pairs in groups.items():
        yield f'{reason}: {len(pairs)} pairs'
        yield from (f'  {printable(first)}, {printable(second)}' for first, second in pairs)


def inverse_kinematics(robot: Robot, frame: str) -> str:
    """Return how inverse kinematics of a frame is solved: closed form or search."""
    model = robot.model
    if not model.ancestors(model.frame(frame).body):
        return 'the frame does not move'
    arm = solvable_arm(model, model.frame(frame)) if model.root_joint == 'fixed' else None
    if arm is None:
        return 'search (no closed form for these axes)'
    parallel = arm.geometry.case == 'parallel'
    form = 'three parallel axes' if parallel else 'three axes through one point'
    return f'closed form ({form}), all solutions'
