# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All closed-form solutions of an arm: refined, within limits, sorted by distance."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dynamics_ros.algorithms.configuration import neutral
from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.matrices import ascending
from dynamics_ros.algorithms.linear_algebra.solve import dot, solve
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar, Transform, transform_of_rows
from dynamics_ros.spatial.scalar import atan2, cos, sin, where_less

from .closed_form import analytic_branches
from .six_axis_geometry import Geometry, arm_of, geometry_of
from .step import moving_coordinates
from .subproblems import Turn

Values = Sequence[Scalar]

SAMPLES = 3
"""Number of configurations at which the error of a closed form is evaluated."""

MAX_FORM_ERROR = 1e-3
"""Largest error of an accepted closed form [m or rad]."""

EXACT = 1e-7
"""Error of a closed form below which one Newton step is made instead of two [m or rad]."""

DAMPING = 1e-12
"""Damping of Newton steps, which keeps their equations definite at singular configurations."""

MAX_TOLERANCE = 1e-3
"""Largest error of a solution, also for larger requested tolerances [m or rad]."""

MAX_STEP = 0.03
"""Largest norm of a Newton step [rad]; a branch that needs more does not reach the target."""

ROUNDING = 1e-9
"""Difference that counts as rounding, from the given position and beyond a limit [rad]."""

NO_SOLUTION = 1e300
"""Sorting key of branches that are not solutions, instead of their squared distance."""

TURN = 2.0 * math.pi


@dataclass(frozen=True)
class SolvableArm:
    """A chain with six free joints whose inverse kinematics has a closed form.

    Attributes:
        model: the robot.
        frame: the frame that is moved.
        locked: indices in q of the locked joints of the chain.
        geometry: of the six free joints.
        coordinates: indices in q and v of all n joints of the chain.
        free: positions of the six free joints in ``coordinates``.
        error: error of the closed form for the arm as described [m or rad].
    """

    model: Model
    frame: Frame
    locked: tuple[int, ...]
    geometry: Geometry
    coordinates: tuple[tuple[int, int], ...]
    free: tuple[int, ...]
    error: float = 0.0

    def q(self, x: Values) -> list[Scalar]:
        """Configuration (nq) with positions x (n) of the chain; other joints are neutral."""
        q: list[Scalar] = neutral(self.model)
        for (place, _), value in zip(self.coordinates, x, strict=True):
            q[place] = value
        return q

    def pose(self, x: Values) -> Transform:
        """Pose of the frame in the root link at positions x (n) of the chain."""
        return frame_pose(self.model, self.q(x), self.frame)

    def branches(self, target: Transform, x: Values) -> list[list[Scalar]]:
        """Positions (n) of each branch, within half a turn of x; locked joints as in x."""
        positions = [
            value
            for value, (place, _) in zip(x, self.coordinates, strict=True)
            if place in self.locked
        ]
        arm = arm_of(self.model, self.frame, self.locked, positions)
        assert arm is not None
        preferred = [Turn(cos(x[i]), sin(x[i])) for i in self.free]
        result = []
        for turns in analytic_branches(self.geometry, arm, target, preferred):
            branch = list(x)
            for i, turn, old in zip(self.free, turns, preferred, strict=True):
                rotation = turn.after(old.inverse())
                branch[i] = x[i] + atan2(rotation.sin, rotation.cos)
            result.append(branch)
        return result


def solvable_arm(model: Model, frame: Frame, locked: Collection[int] = ()) -> SolvableArm | None:
    """Arm with a closed-form solution that moves a frame; None if there is no closed form.

    Args:
        model: the robot.
        frame: the frame that is moved.
        locked: indices in q of locked joints; joints that do not move the frame are ignored.
    """
    coordinates = tuple(moving_coordinates(model, [frame]))
    kept = tuple(place for place, _ in coordinates if place in locked)
    free = tuple(i for i, (place, _) in enumerate(coordinates) if place not in kept)
    geometry = geometry_of(model, frame, kept)
    if geometry is None:
        return None
    arm = SolvableArm(model, frame, kept, geometry, coordinates, free)
    error = max(_closed_form_error(arm, k) for k in range(SAMPLES))
    return replace(arm, error=error) if error < MAX_FORM_ERROR else None


def _closed_form_error(arm: SolvableArm, sample: int) -> float:
    """Error of the closed form's best branch at a sample configuration [m or rad].

    Descriptions round angles, so axes that should intersect have a small distance.
    """
    x = [math.sin(1.7 * i + sample) for i in range(len(arm.coordinates))]
    target = arm.pose(x)
    misses = [max(_squared_errors(arm.pose(y), target)) for y in arm.branches(target, x)]
    return math.sqrt(min(misses))


def analytic_solutions(
    arm: SolvableArm, near: Values, rows: Sequence[Values], settings: Values
) -> dict[str, object]:
    """Distinct solutions within the limits, sorted by their distance from given positions.

    Args:
        arm: an arm with six free joints of n.
        near: (n) joint positions. Locked joints stay there; solutions are sorted by their distance
            from the other positions, which are also used where a solution leaves a choice.
        rows: (4, 4) desired pose of the frame in the root link.
        settings: largest position error [m] and rotation error [rad]; smallest difference of at
            least one joint between distinct solutions [rad].

    Returns:
        ``positions`` (8, n) of the sorted solutions, with angles closest to ``near`` within the
        limits; ``errors`` (8, 2) squared position error [m^2] and rotation error [rad^2];
        ``counts`` (2) number of solutions, and number of branches that reach the target, including
        repeated ones and those beyond limits. Rows after the solutions have no meaning.
    """
    target = transform_of_rows(rows)
    limits = {joint.q_indices[0]: joint.limits for joint in arm.model.actuated}
    bounds = {i: limits[arm.coordinates[i][0]] for i in arm.free}
    inside = list(near)
    for i, bound in bounds.items():
        inside[i] = _clipped(near[i], bound.lower, bound.upper)
    branches = []
    reached: Scalar = 0.0
    for x in arm.branches(target, inside):
        for _ in range(1 if arm.error < EXACT else 2):
            x = _refined(arm, x, target)
        outside: Scalar = 0.0
        for i, bound in bounds.items():
            x[i] = _without_rounding(x[i], inside[i])
            x[i], beyond = _within(x[i], bound.lower, bound.upper)
            outside = outside + beyond
        position, rotation = _squared_errors(arm.pose(x), target)
        misses: Scalar = 0.0
        for miss, allowed in ((position, settings[0]), (rotation, settings[1])):
            largest = where_less(MAX_TOLERANCE, allowed, MAX_TOLERANCE, allowed)
            # This comparison also rejects errors that are NaN.
            misses = misses + where_less(miss, largest * largest, 0.0, 1.0)
        reached = reached + where_less(misses, 0.5, 1.0, 0.0)
        branches.append(_Branch(x, position, rotation, misses + outside))
    ranked, count = _ranked(branches, arm.free, inside, settings[2])
    return {
        'positions': [entry[3:] for entry in ranked],
        'errors': [entry[1:3] for entry in ranked],
        'counts': [count, reached],
    }


class _Branch(NamedTuple):
    """Positions of a branch, squared errors, and the number of reasons why it is not a solution."""

    x: list[Scalar]
    position: Scalar
    rotation: Scalar
    off: Scalar


def _refined(arm: SolvableArm, x: Values, target: Transform) -> list[Scalar]:
    """Positions after a Newton step, [RD] 2.9.3; large steps are not taken."""
    q = arm.q(x)
    X_0F = frame_pose(arm.model, q, arm.frame)
    # For small errors the sine of the angle approximates the angle.
    rotation_error = (target.rotation @ X_0F.rotation.T).unskew()
    e = [*(target.translation - X_0F.translation), *rotation_error]
    columns = jacobian_columns(arm.model, q, arm.frame, 'local_world_aligned')
    J = [columns[arm.coordinates[i][1]].components() for i in arm.free]
    M = [[dot([c[i] for c in J], [c[j] for c in J]) for j in range(6)] for i in range(6)]
    for i in range(6):
        M[i][i] = M[i][i] + DAMPING
    y = solve(M, e)
    d = [dot(column, y) for column in J]
    accepted = where_less(dot(d, d), MAX_STEP * MAX_STEP, 1.0, 0.0)
    refined = list(x)
    for i, step in zip(arm.free, d, strict=True):
        refined[i] = x[i] + accepted * step
    return refined


def _without_rounding(x: Scalar, other: Scalar) -> Scalar:
    """``other`` if x differs from it only by rounding, else x, to avoid moves by rounding."""
    difference = x - other
    return where_less(difference * difference, ROUNDING * ROUNDING, other, x)


def _within(x: Scalar, lower: float, upper: float) -> tuple[Scalar, Scalar]:
    """An angle shifted by full turns into its limits, and 1 if that is impossible, else 0."""
    if math.isfinite(upper):
        x = where_less(upper + ROUNDING, x, x - TURN, x)
    if math.isfinite(lower):
        x = where_less(x, lower - ROUNDING, x + TURN, x)
    inside = _clipped(x, lower, upper)
    difference = x - inside
    return inside, where_less(ROUNDING * ROUNDING, difference * difference, 1.0, 0.0)


def _clipped(x: Scalar, lower: float, upper: float) -> Scalar:
    if math.isfinite(lower):
        x = where_less(x, lower, lower, x)
    if math.isfinite(upper):
        x = where_less(upper, x, upper, x)
    return x


def _squared_errors(pose: Transform, target: Transform) -> tuple[Scalar, Scalar]:
    translation_error = target.translation - pose.translation
    rotation_error = target.rotation - pose.rotation
    # |R* - R|^2 = 8 sin^2(angle / 2), twice the squared angle if it is small.
    return translation_error.dot(translation_error), 0.5 * sum(
        (row.dot(row) for row in rotation_error), 0.0
    )


def _ranked(
    branches: Sequence[_Branch], free: Sequence[int], near: Values, separation: Scalar
) -> tuple[list[list[Scalar]], Scalar]:
    """Rows of squared distance, squared errors, positions; solutions first. Number of solutions."""
    entries: list[list[Scalar]] = []
    count: Scalar = 0.0
    placeholder = [0.0, 0.0, *near]
    for k, branch in enumerate(branches):
        faults = branch.off
        for other in branches[:k]:
            repeats = where_less(_chord(branch.x, other.x, free), separation**2, 1.0, 0.0)
            faults = faults + repeats * where_less(other.off, 0.5, 1.0, 0.0)
        moves = [branch.x[i] - near[i] for i in free]
        key = where_less(faults, 0.5, dot(moves, moves), NO_SOLUTION)
        row = [branch.position, branch.rotation, *branch.x]
        row_or_placeholder = [
            where_less(key, NO_SOLUTION, a, b) for a, b in zip(row, placeholder, strict=True)
        ]
        entries.append([key, *row_or_placeholder])
        count = count + where_less(faults, 0.5, 1.0, 0.0)
    return ascending(entries), count


def _chord(x: Values, other: Values, free: Sequence[int]) -> Scalar:
    """Largest squared chord between the angles of a free joint, about the squared difference."""
    largest: Scalar = 0.0
    for i in free:
        c, s = cos(x[i]) - cos(other[i]), sin(x[i]) - sin(other[i])
        chord = c * c + s * s
        largest = where_less(largest, chord, chord, largest)
    return largest
