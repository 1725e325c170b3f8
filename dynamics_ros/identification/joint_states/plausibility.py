# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What in a recording cannot be of the robot that is described: mounting, units, cut-off efforts.

A model with free masses and friction explains much of it all the same, and is wrong then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.robot import Robot

from .clock import Stretch
from .samples import JointSamples, UnusableRecordingError

Array = NDArray[np.float64]

TURN = 2.0 * np.pi

NEARLY = 1.0
"""rad: a step of position is a whole turn within that, for joints do not move so far between."""

WINDOW, WINDOWS = 0.2, 400
"""s over which velocities are compared with the change of positions; times at most."""

SLOW = 0.02
"""rad/s or m/s: slower joints tell nothing of their velocities or efforts."""

FOLLOWS = 2.0
"""Factor within which velocities are those of the positions."""

ROWS, FEW, LONG = 200, 50, 10.0
"""States that gravity is judged by, at least, and in s at least."""

ANOTHER_WAY, BETTER, SURE = 45.0, 2.0, 8.0
"""Degrees from the described gravity, factor on what is left over, and deviations, from which on a
robot is mounted otherwise than described."""

POOR = 0.3
"""Share of what efforts vary by that is too much to leave over for a judgement."""

WEIGHTLESS = 0.2
"""Share of the described gravity below which efforts are without what carries the weight."""

CUT_OFF, IN_A_ROW, HEAPED = 0.02, 5, 3.0
"""Share of the efforts in motion that are the same largest one, samples in a row, and how many more
than of the next value, from which on they are cut off there; coarse efforts have both."""

MOSTLY_WHOLE = 0.1
"""Share of the motion in which efforts are cut off that can be left out; filters take more."""

BEYOND = 2.0
"""Times its effort limit that no motor gives."""


class NotThisRobotError(DynamicsRosError):
    """A robot that does not explain a recording, whatever its masses are."""


def without_turns(position: Array, angles: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_]]:
    """Positions (n, joints) in which angles do not jump by whole turns, and (joints) which did.

    Args:
        position: in the order of time.
        angles: (joints) which of them are angles.
    """
    steps = np.diff(position, axis=0, prepend=position[:1])
    turns = np.round(steps / TURN)
    turns = np.where((np.abs(steps - TURN * turns) < NEARLY) & angles, turns, 0.0)
    turned: NDArray[np.bool_] = (turns != 0.0).any(axis=0)
    return position - TURN * np.cumsum(turns, axis=0), turned


def odd_velocities(samples: JointSamples) -> str:
    """Whose velocities are not the change of their positions, in words; '' where all are."""
    if samples.velocity is None or samples.duration < 2.0 * WINDOW:
        return ''
    time, count = samples.time, len(samples)
    first = np.unique(np.linspace(0, count - 2, WINDOWS).astype(int))
    last = np.searchsorted(time, time[first] + WINDOW)
    whole = (last < count) & (last > first + 1)
    first, last = first[whole], last[whole]
    spans = time[last] - time[first]
    near = spans < 2.0 * WINDOW
    first, last, spans = first[near], last[near], spans[near, np.newaxis]
    if not len(first):
        return ''
    change = (samples.position[last] - samples.position[first]) / spans
    sums = np.concatenate([np.zeros((1, change.shape[1])), np.cumsum(samples.velocity, axis=0)])
    told = (sums[last + 1] - sums[first]) / (last + 1 - first)[:, np.newaxis]
    odd = []
    for name, true, given in zip(samples.joint_names, change.T, told.T, strict=True):
        power = float(true @ true)
        if power < len(true) * SLOW**2:
            continue
        slope = float(true @ given) / power
        if not 1.0 / FOLLOWS < slope < FOLLOWS:
            odd.append(f'{name} {slope:.3g}')
    return ', '.join(odd)


def check_gravity(robot: Robot, stretches: Sequence[Stretch]) -> None:
    """Whether efforts are those of a robot that stands as described.

    The gravity that explains them best, with masses as described and any friction, is looked for.
    Nothing is said where it does not explain them well, or where their sign is not sure.

    Raises:
        NotThisRobotError: gravity acts along another direction than described.
        UnusableRecordingError: efforts are without what carries the weight.
    """
    described = np.array([*robot.model.gravity])
    size = float(np.linalg.norm(described))
    if size == 0.0:
        return
    q, v, a, effort = _states(stretches)
    if sum(len(one) * one.period for one in stretches) < LONG or len(q) < FEW:
        return
    bare = robot.with_gravity((0.0, 0.0, 0.0))
    columns = [robot.with_gravity(tuple(axis)).gravity(q) for axis in np.eye(3)]
    columns.append(bare.inverse_dynamics(q, v, a))
    nothing = np.zeros_like(v)
    for joint in range(robot.nv):
        for values in (np.ones_like(v), v, np.tanh(v / SLOW)):
            one = nothing.copy()
            one[:, joint] = values[:, joint]
            columns.append(one)
    spread = effort.std(axis=0)
    # A joint whose efforts never change says nothing.
    weight = np.where(spread > 1e-9, 1.0 / np.maximum(spread, 1e-9), 0.0)
    A = np.stack([(one * weight).ravel() for one in columns], axis=1)
    y = (effort * weight).ravel()
    norms = np.linalg.norm(A, axis=0)
    if (norms[:3] < 1e-9 * norms.max()).all():
        return
    A = A / np.maximum(norms, 1e-12)
    x, *_ = np.linalg.lstsq(A, y, rcond=1e-10)
    left = float(np.linalg.norm(y - A @ x))
    noise = left / np.sqrt(max(len(y) - len(x), 1))
    covariance = noise**2 * np.linalg.pinv(A.T @ A, rcond=1e-12)
    # Inertia and friction take power from motors, which tells the sign of efforts.
    power = np.zeros(len(x))
    power[5::3] = weight * (v**2).mean(axis=0) / np.maximum(norms[5::3], 1e-12)
    power[6::3] = weight * (v * np.tanh(v / SLOW)).mean(axis=0) / np.maximum(norms[6::3], 1e-12)
    evidence = (
        x[3] / max(np.sqrt(abs(covariance[3, 3])), 1e-300),
        power @ x / max(np.sqrt(abs(power @ covariance @ power)), 1e-300),
    )
    strongest = float(max(evidence, key=abs))
    if abs(strongest) < SURE or left > POOR * np.sqrt(len(y)):
        return
    deviation = np.sqrt(np.abs(covariance.diagonal()))
    x, deviation = (values / np.maximum(norms, 1e-12) for values in (x, deviation))
    sign = np.sign(strongest)
    found, unsure = sign * x[:3], SURE * float(deviation[:3].max())
    length, unit = float(np.linalg.norm(found)), sign * x[3]
    if unit > SURE * deviation[3] and max(length, unsure) < WEIGHTLESS * unit * size:
        torques = np.sqrt((robot.gravity(q) ** 2).mean(axis=0)).max()
        raise UnusableRecordingError(
            f'efforts hold nothing of what carries the weight, which is up to {torques:.3g} Nm by '
            'the description: the driver reports them without gravity (contact_node: '
            'effort.includes_gravity false); add Robot.gravity(q) to them'
        )
    if length < unsure:
        return
    cosine = float(found @ described) / (length * size)
    along = A[:, :3] @ (norms[:3] * described)
    B = np.column_stack([along, A[:, 3:]])
    z, *_ = np.linalg.lstsq(B, y, rcond=1e-10)
    worse = float(np.linalg.norm(y - B @ z))
    if cosine < np.cos(np.radians(ANOTHER_WAY)) and (
        worse > BETTER * left or cosine < -np.cos(np.radians(ANOTHER_WAY))
    ):
        told, usual = (
            ' '.join(f'{one:.3g}' for one in g) for g in (found / length * size, described)
        )
        raise NotThisRobotError(
            f'the recorded efforts are those of a robot on which gravity acts along about ({told}) '
            f'm/s^2 in the root frame, not ({usual}): it is mounted otherwise (--gravity {told}), '
            'or it is another robot'
        )


def _states(stretches: Sequence[Stretch]) -> tuple[Array, Array, Array, Array]:
    """Positions, velocities, accelerations and efforts (ROWS, nv) of a smooth motion."""
    parts = []
    total = sum(len(one) for one in stretches)
    for one in stretches:
        half = max(1, round(0.5 * WINDOW / one.period))
        if len(one) < 8 * half:
            continue
        kernel = np.ones(2 * half + 1) / (2 * half + 1)
        q, effort = (
            np.stack([np.convolve(column, kernel, 'valid') for column in values.T], axis=1)
            for values in (one.position, one.effort)
        )
        v = np.gradient(q, one.period, axis=0)
        v = np.stack([np.convolve(column, kernel, 'same') for column in v.T], axis=1)
        a = np.gradient(v, one.period, axis=0)
        inside = slice(2 * half, len(q) - 2 * half, max(1, total // ROWS))
        parts.append([values[inside] for values in (q, v, a, effort)])
    if not parts:
        empty = np.zeros((0, stretches[0].position.shape[1]))
        return empty, empty, empty, empty
    q, v, a, effort = (np.concatenate(values) for values in zip(*parts, strict=True))
    return q, v, a, effort


def cut_off_at(stretches: Sequence[Stretch]) -> tuple[Array, Array]:
    """Efforts that are no measurements, for they are cut off there.

    Returns:
        (2, nv) lowest and highest that can be left out, as reported, infinite where there are none
        or too many; (nv) share of the motion of each joint in which they are cut off.
    """
    count = stretches[0].effort.shape[1]
    edges, shares = np.array([[-np.inf], [np.inf]]) * np.ones(count), np.zeros(count)
    for j in range(count):
        effort = np.concatenate([one.effort[:, j] for one in stretches])
        moves = np.concatenate([_moves(one, j) for one in stretches])
        lowest, highest = effort.min(), effort.max()
        found = [_at(effort, moves, edge) for edge in (lowest, highest)]
        if sum(found) > CUT_OFF and highest > lowest:
            shares[j] = sum(found)
            if shares[j] <= MOSTLY_WHOLE:
                edges[:, j] = np.where(np.array(found) > 0.0, (lowest, highest), edges[:, j])
    return edges, shares


def doubtful_efforts(
    robot: Robot, stretches: Sequence[Stretch], scale: Array, cut_off: Array
) -> list[str]:
    """Sentences on efforts that are cut off, or that motors of the robot cannot give.

    Args:
        robot: whose joints.
        stretches: of its recordings.
        scale: (nv) torque over reported effort.
        cut_off: (nv) share of the motion in which efforts are cut off.
    """
    found, beyond = [], []
    for j, name in enumerate(robot.joint_names):
        effort = np.concatenate([one.effort[:, j] for one in stretches])
        limit, largest = robot.effort_limits[j], abs(scale[j]) * np.quantile(np.abs(effort), 0.99)
        if 0.0 < limit < np.inf and largest > BEYOND * limit:
            beyond.append(f'{name} {largest:.3g} where the limit is {limit:.3g}')
    shares = dict(zip(robot.joint_names, cut_off, strict=True))
    few = [f'{n} {100.0 * x:.0f} %' for n, x in shares.items() if 0.0 < x <= MOSTLY_WHOLE]
    many = [f'{n} {100.0 * x:.0f} %' for n, x in shares.items() if x > MOSTLY_WHOLE]
    words = 'efforts are cut off at their largest value for part of the motion'
    if few:
        found.append(f'{words} ({", ".join(few)}): these times are left out')
    if many:
        found.append(
            f'{words} ({", ".join(many)}): what is found of these joints and of what they carry is '
            'wrong; record slower motion'
        )
    if beyond:
        found.append(
            f'efforts are larger than the robot can give ({", ".join(beyond)}): they are in other '
            'units there, or the description has other limits'
        )
    return found


def _moves(stretch: Stretch, joint: int) -> NDArray[np.bool_]:
    """(n) whether a joint moves, over a window of samples."""
    q = stretch.position[:, joint]
    ahead = max(1, min(round(0.05 / stretch.period), len(q) - 1))
    speed = np.abs(q[ahead:] - q[:-ahead]) / (ahead * stretch.period)
    found: NDArray[np.bool_] = np.pad(speed, (0, ahead), mode='edge') > SLOW
    return found


def _at(effort: Array, moves: NDArray[np.bool_], edge: float) -> float:
    """Share of a joint's efforts in motion that are the same, several in a row."""
    far = np.abs(effort - edge)
    close = 1e-9 * max(abs(edge), 1.0)
    same = moves & (far <= close)
    next_value = far[far > close].min(initial=np.inf)
    if same.sum() < HEAPED * np.count_nonzero(moves & (np.abs(far - next_value) <= close)):
        return 0.0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(int)))
    lengths = edges[1::2] - edges[::2]
    return float(lengths[lengths >= IN_A_ROW].sum() / max(moves.sum(), 1))
