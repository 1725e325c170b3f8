# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Iterative and closed-form inverse kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dynamics_ros.algorithms.inverse_kinematics.search import (
    PROGRESS,
    SETTINGS,
    inverse_kinematics_check,
    inverse_kinematics_search,
)
from dynamics_ros.algorithms.inverse_kinematics.solutions import analytic_solutions, solvable_arm
from dynamics_ros.algorithms.inverse_kinematics.step import Support, moving_coordinates
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar

from .definition import Definition, Formula, Options, Shape, Values, result


@dataclass(frozen=True)
class _Searched:
    """Variables and targets of an iterative inverse kinematics.

    Attributes:
        frames: frames with target poses.
        supports: frames kept in place; if there are any, the root joint moves.
        coordinates: indices in q of the variables.
        velocities: number of velocities.
    """

    frames: list[Frame]
    supports: list[Support]
    coordinates: list[int]
    velocities: int

    @property
    def targets(self) -> int:
        """Number of target poses."""
        return len(self.frames) + len(self.supports)


def _searched(model: Model, names: Sequence[str]) -> _Searched:
    """Parse names of frames and, after an empty name, pairs of a support's name and rows."""
    split = names.index('') if '' in names else len(names)
    frames = [model.frame(name) for name in names[:split]]
    pairs = zip(names[split + 1 :: 2], names[split + 2 :: 2], strict=True)
    supports = [Support(model.frame(name), int(rows)) for name, rows in pairs]
    moving = moving_coordinates(model, [*frames, *(support.frame for support in supports)])
    coordinates, velocities = [place for place, _ in moving], len(moving)
    if supports:
        root = model.joints[0]
        coordinates[:0] = root.q_indices
        velocities += len(root.v_indices)
    return _Searched(frames, supports, coordinates, velocities)


def _inverse_kinematics_search(model: Model, *names: str) -> Formula:
    x = _searched(model, names)
    n, m = x.velocities, x.targets

    def function(
        positions: Values, progress: Values, targets: Any, joints: Any, tasks: Any, settings: Values
    ) -> dict[str, list[Scalar]]:
        problem = (targets, joints, tasks, settings, x.supports)
        return inverse_kinematics_search(model, x.frames, positions, progress, *problem)

    inputs: dict[str, Shape] = {'positions': len(x.coordinates), 'progress': PROGRESS}
    inputs |= {'targets': (m, 4, 4), 'joints': (5, n), 'tasks': (m, 2, 6)}
    return Formula(inputs | {'settings': SETTINGS}, function)


def _inverse_kinematics_check(model: Model, *names: str) -> Formula:
    x = _searched(model, names)
    n, m = len(x.coordinates), x.targets

    def function(q: Values, targets: Any, slack: Values, bounds: Any, near: Values) -> list[Scalar]:
        arguments = (targets, slack, x.coordinates, bounds, near, x.supports)
        return inverse_kinematics_check(model, x.frames, q, *arguments)

    inputs: dict[str, Shape] = {'q': model.nq, 'targets': (m, 4, 4), 'slack': 6}
    return Formula(inputs | {'bounds': (3, n), 'near': n}, function)


def _analytic_inverse_kinematics(model: Model, frame: str, *locked: str) -> Formula:
    places = [joint.q_indices[0] for joint in model.actuated if joint.name in locked]
    arm = solvable_arm(model, model.frame(frame), places)
    if arm is None:
        expected = 'one moved by six turning joints, with a spherical wrist or three axes parallel'
        raise InvalidArgumentError('frame', f'no closed form for {frame!r}', expected)
    inputs: dict[str, Shape] = {'near': len(arm.coordinates), 'target': (4, 4), 'settings': 3}
    return Formula(inputs, lambda *arguments: analytic_solutions(arm, *arguments))


INVERSE_KINEMATICS = {
    'inverse_kinematics_search': Definition(
        _inverse_kinematics_search,
        'damped steps until the frames arrive, progress ends, or there were enough',
        {'positions': 'where the search stands [rad or m]', 'progress': 'what it has come to'},
        Options.OTHER,
        internal=True,
    ),
    'inverse_kinematics_check': Definition(
        _inverse_kinematics_check,
        'how far a configuration is from the targets and the limits',
        result(
            'squared errors of the worst frame in position [m^2] and rotation [rad^2]; how far a '
            'joint is beyond its limits, and one that may turn fully from where it shall be near '
            '[rad or m]; squared errors of the worst support'
        ),
        Options.OTHER,
        internal=True,
    ),
    'analytic_inverse_kinematics': Definition(
        _analytic_inverse_kinematics,
        'the solutions of an arm with a closed form, the nearest first',
        {
            'positions': 'of the joints, a row a solution [rad]',
            'errors': 'squared, in position [m^2] and rotation [rad^2]',
            'counts': 'how many rows are solutions, and how many branches reach the target',
        },
        Options.OTHER,
        internal=True,
    ),
}
