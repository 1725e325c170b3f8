# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Text report of a robot: its tree, pairs of links that may collide, and inverse kinematics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dynamics_ros.algorithms.inverse_kinematics.solutions import solvable_arm
from dynamics_ros.collision import Collisions
from dynamics_ros.command_line import Block
from dynamics_ros.errors import printable
from dynamics_ros.model import Frame, Joint, RobotDescription
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Vector3

AXES = {(1.0, 0.0, 0.0): 'x', (0.0, 1.0, 0.0): 'y', (0.0, 0.0, 1.0): 'z'}

MAX_LINES = 60
"""Largest number of links shown."""

HEAD = ('', 'joint', 'axis', 'range', 'velocity', 'effort', 'mass')


def tree(robot: Robot, description: RobotDescription, tool: str) -> Iterator[Block]:
    """Yield the link tree, with the joint that moves each link, its limits, and the mass."""
    masses = {link.name: link.inertial.mass for link in description.links}
    rows: list[tuple[str, ...]] = [HEAD]
    outline = robot.model.outline()
    for frame, depth in outline[:MAX_LINES]:
        joint = robot.model.joint_of(frame)
        name = f'{" " * depth}{printable(frame.name)}{" *" if frame.name == tool else ""}'
        mass = f'{masses[frame.name]:.4g} kg' if masses[frame.name] else '-'
        rows.append((name, *(_joint(joint) if joint else _fixed(frame)), mass))
    yield rows
    if len(outline) > MAX_LINES:
        yield f'... and {len(outline) - MAX_LINES} links more'


def _fixed(frame: Frame) -> tuple[str, ...]:
    return ('fixed' if frame.parent else '', '', '', '', '')


def _joint(joint: Joint) -> tuple[str, ...]:
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
    numbers = tuple(float(x) for x in axis)
    for known, letter in AXES.items():
        if numbers == known:
            return letter
        if numbers == tuple(-x for x in known):
            return f'-{letter}'
    return ' '.join(f'{x:.2g}' for x in numbers)


def _bound(value: float, unit: str) -> str:
    return '-' if math.isinf(value) else f'{value:.4g} {unit}'


def collisions(scene: Collisions) -> Iterator[str]:
    """Yield the pairs of links that may collide, and those that are not checked by reason."""
    for problem in scene.problems:
        yield f'! {printable(problem)}'
    yield from _pairs('checked', scene.pairs)
    for reason in dict.fromkeys(scene.allowed.values()):
        yield from _pairs(reason, [pair for pair, why in scene.allowed.items() if why == reason])


def _pairs(what: str, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f'{what}: {len(pairs)} pairs'
    for first, second in pairs:
        yield f'  {printable(first)}, {printable(second)}'


FORMS = {'spherical': 'three axes through one point', 'parallel': 'three parallel axes'}


def inverse_kinematics(robot: Robot, frame: str) -> str:
    """Return how inverse kinematics of a frame is solved: closed form or search."""
    model = robot.model
    if not model.ancestors(model.frame(frame).body):
        return 'the frame does not move'
    arm = solvable_arm(model, model.frame(frame)) if model.root_joint == 'fixed' else None
    if arm is None:
        return 'search (no closed form for these axes)'
    return f'closed form ({FORMS[arm.geometry.family]}), all solutions'
