# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check of the mounting: the gravity that explains a recording best.

Free masses explain much of a recording under a wrong gravity, by bodies far from the described
ones. Gravities are therefore compared by a misfit with a price on changes of masses ([Lee2020]):

    misfit^2 = min over phi, drives of  mean |W (Y(g) phi + drives - efforts)|^2
               + price (phi - phi_0)^T D (phi - phi_0),

where W divides the efforts of a joint by their standard deviation. Rotors, friction and offsets
have wide priors. The regressor Y is linear in gravity g, so g is found by Gauss-Newton steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .bodies import pseudo_inertia
from .joint_states.clock import Stretch
from .joint_states.plausibility import NotThisRobotError
from .joint_states.samples import UnusableRecordingError

Array = NDArray[np.float64]

MIN_STATES, MIN_DURATION = 50, 10.0
"""Least number of states, and least duration of a recording [s], for the check."""

STATES, WINDOW = 120, 0.2
"""Approximate number of states; duration over which each is averaged [s]."""

PRICE, TOOL_FACTOR, HELD_FACTOR = 1e-3, 1e-4, 1e4
"""Price of one unit of divergence, over the number of joints: if all masses are wrong by a third,
the misfit is 2 % of the variation of efforts. Factors on it for the last bodies, which may carry a
tool that is in no description, and for masses that are known to be as described."""

REACH, SLOW, COULOMB_SPEED = 2.0, 0.1, 0.02
"""Prior deviation of friction and offsets over the standard deviation of efforts; speed at which
viscous friction reaches it, and at which Coulomb friction reaches 76 % [rad/s or m/s]."""

MIN_EFFORT_SPREAD = 0.01
"""Least standard deviation of the efforts of a joint, over the largest one; smaller is noise."""

REJECTION_RATIO, REPORT_RATIO, HELD_RATIO = 1.4, 1.2, 2.5
"""Ratio of the misfits of the described and of another gravity from which a recording is rejected,
from which the other one is reported, and from which it is rejected with described masses, which may
be wrong."""

MIN_DIFFERENCE, MAX_MISFIT = 0.04, 0.2
"""Least difference of the misfits for a rejection; largest misfit of the other gravity."""

STANDARD_GRAVITY, MIN_TILT = 9.81, 3.0
"""Gravity of a robot that is described without gravity [m/s^2]; least angle between the described
and another gravity [degrees]."""

STARTS, STEPS, CONVERGED = 3, 8, 0.02
"""Number of axes from which the search begins, besides the described gravity; largest number of
steps; change at which the search ends [m/s^2]."""


def check_mounting(
    robot: Robot, stretches: Sequence[Stretch], scale: Array, held: bool = False
) -> list[str]:
    """A sentence if another gravity explains a recording better than the described one.

    Args:
        robot: described robot.
        stretches: its recordings.
        scale: (nv) torque per unit of reported effort.
        held: whether masses are known to be as described.

    Raises:
        NotThisRobotError: another gravity explains the recording much better.
        UnusableRecordingError: the efforts contain no gravity torques.
    """
    q, v, a, effort = averaged_states(stretches)
    if sum(len(one) * one.period for one in stretches) < MIN_DURATION or len(q) < MIN_STATES:
        return []
    # Signs of efforts are found with the described gravity, so the usual ones are compared too.
    likely = [scale, np.abs(scale)] if (scale < 0.0).any() else [scale]
    states = [(q, v, a, one * effort) for one in likely]
    described = np.array([*robot.model.gravity])
    usual, best, gravity = _compared(robot, states, held)
    if best > MAX_MISFIT or usual < REPORT_RATIO * best:
        return []
    differs = usual > MIN_DIFFERENCE + best
    refused = differs and usual > (HELD_RATIO if held else REJECTION_RATIO) * best
    if not refused and not held:
        # Other masses may hide a wrong gravity.
        as_described, other, _ = _compared(robot, states, True)
        refused = other < MAX_MISFIT and as_described > HELD_RATIO * other
    if not refused and not differs:
        return []
    compared = (
        f'(misfit {100.0 * best:.0f} % of the variation of efforts instead of {100 * usual:.0f} %)'
    )
    if not gravity.any():
        sentence = (
            'efforts contain no gravity torques: the driver reports them without gravity '
            '(contact_node: effort.includes_gravity false); add Robot.gravity(q) to them '
            f'{compared}'
        )
    else:
        axis, given = (' '.join(f'{x:.3g}' for x in g) for g in (gravity, described))
        sentence = (
            f'the efforts are those of a robot with gravity along about ({axis}) m/s^2 in the root '
            f'frame, not ({given}): it is mounted otherwise (--gravity {axis}), or it is another '
            f'robot; check mounting, joint order and units {compared}'
        )
    if not refused:
        return [f'masses are doubtful: {sentence}']
    raise (NotThisRobotError if gravity.any() else UnusableRecordingError)(sentence)


def _compared(
    robot: Robot, states: Sequence[tuple[Array, Array, Array, Array]], held: bool
) -> tuple[float, float, Array]:
    """The least of ``_Misfit.compared`` of states with other signs of efforts."""
    found = [_Misfit.of(robot, one, held).compared() for one in states]
    _, best, gravity = min(found, key=lambda one: one[1])
    return min(one[0] for one in found), best, gravity


def averaged_states(stretches: Sequence[Stretch]) -> tuple[Array, Array, Array, Array]:
    """About ``STATES`` averaged positions, velocities, accelerations, efforts (n, nv)."""
    total, parts = sum(len(one) for one in stretches), []
    for one in stretches:
        half = max(1, round(0.5 * WINDOW / one.period))
        if len(one) >= 8 * half:
            q, effort = (_moving_mean(x, half) for x in (one.position, one.effort))
            v = _moving_mean(np.gradient(q, one.period, axis=0), half)
            a = np.gradient(v, one.period, axis=0)[half:-half]
            every = slice(None, None, max(1, total // STATES))
            inner = q[2 * half : -2 * half], v[half:-half], a, effort[2 * half : -2 * half]
            parts.append([x[every] for x in inner])
    if not parts:
        nothing = np.zeros((0, stretches[0].position.shape[1]))
        return nothing, nothing, nothing, nothing
    q, v, a, effort = (np.concatenate(x) for x in zip(*parts, strict=True))
    return q, v, a, effort


def _moving_mean(values: Array, half: int) -> Array:
    """(n - 2 half, joints) means of values (n, joints) over windows of 2 half + 1 samples."""
    # Relative to the mean, so that running sums of large positions lose no digits.
    mean = values.mean(axis=0)
    found: Array = scipy.ndimage.uniform_filter1d(values - mean, 2 * half + 1, axis=0)
    return mean + found[half:-half]


@dataclass(frozen=True, eq=False)
class _Misfit:
    """_Misfit of states as a function of gravity.

    Attributes:
        described: (3) described gravity [m/s^2].
        parts: (4, n nv, 10 bodies) weighted regressor of motion, and of 1 m/s^2 along each axis.
        drives: (n nv, 4 nv) weighted columns of rotor, viscous friction, offset, Coulomb friction.
        efforts: (n nv) weighted efforts.
        precision: (10 bodies + 4 nv, same) inverse covariance of the prior.
        bodies: (10 bodies) mean of the prior.
    """

    described: Array
    parts: Array
    drives: Array
    efforts: Array
    precision: Array
    bodies: Array

    @classmethod
    def of(cls, robot: Robot, states: tuple[Array, Array, Array, Array], held: bool) -> _Misfit:
        """_Misfit of states q, v, a, torque (n, nv each) of a described robot."""
        q, v, a, torque = states
        n, nv = q.shape
        described, still = np.array([*robot.model.gravity]), np.zeros_like(q)
        loose = robot.adjustable()
        none = loose.with_gravity((0.0, 0.0, 0.0)).regressor(q, still, still)
        along = [loose.with_gravity(tuple(g)).regressor(q, still, still) - none for g in np.eye(3)]
        bare = robot.regressor(q, v, a) - np.tensordot(described, along, 1)
        spread = torque.std(axis=0)
        spread = np.maximum(spread, MIN_EFFORT_SPREAD * spread.max()) + 1e-300
        weight = 1.0 / (spread * np.sqrt(n * nv))
        columns = np.stack([a, v, np.ones_like(v), np.tanh(v / COULOMB_SPEED)], axis=-1)
        drives = np.zeros((n, nv, nv, 4))
        drives[:, np.arange(nv), np.arange(nv)] = columns * weight[:, np.newaxis]
        bodies = pseudo_inertia.described(robot)
        inner = {joint.parent for joint in robot.model.joints}
        precision = np.zeros((bodies.size + 4 * nv,) * 2)
        for body, block in enumerate(pseudo_inertia.metric(bodies)):
            own = slice(10 * body, 10 * body + 10)
            precision[own, own] = block * (1.0 if body in inner else TOOL_FACTOR)
        precision *= HELD_FACTOR if held else 1.0
        reach = REACH * spread
        carried = robot.mass_matrix(q[:: max(1, n // 20)]).diagonal(axis1=1, axis2=2).mean(axis=0)
        deviations = np.stack(
            [np.full(nv, carried.max() + 1e-9), reach / SLOW, reach, reach], axis=1
        )
        drive = np.arange(bodies.size, len(precision))
        precision[drive, drive] = 1.0 / deviations.ravel() ** 2
        return cls(
            described,
            (np.stack([bare, *along]) * weight[:, np.newaxis]).reshape(4, n * nv, -1),
            drives.reshape(n * nv, -1),
            (torque * weight).ravel(),
            PRICE / nv * precision,
            bodies.ravel(),
        )

    def compared(self) -> tuple[float, float, Array]:
        """_Misfit of the described gravity, the least one of another gravity, and that gravity."""
        size = float(np.linalg.norm(self.described)) or STANDARD_GRAVITY
        axes = [size * axis for axis in (*np.eye(3), *-np.eye(3))]
        misfits = [self.explained(axis)[0] for axis in axes]
        starts = [axes[k] for k in np.argsort(misfits)[:STARTS]]
        if self.described.any():
            starts.append(self.described)
        found = [self._nearest(start, size) for start in starts]
        least = np.cos(np.radians(MIN_TILT)) * size * np.linalg.norm(self.described)
        other = [one for one in found if one[1] @ self.described <= least]
        nothing = np.zeros(3)
        other.append((self.explained(nothing)[0], nothing))
        return (self.explained(self.described)[0], *min(other, key=lambda one: one[0]))

    def explained(self, gravity: Array, bodies: Array | None = None) -> tuple[float, Array, Array]:
        """_Misfit and bodies of the best explanation, and what gravity should change by (3).

        Args:
            gravity: (3) gravity [m/s^2].
            bodies: (10 bodies) at which torques are linearized by gravity; None: gravity is fixed.
        """
        Y = np.tensordot(np.append(1.0, gravity), self.parts, 1)
        further = np.zeros((len(Y), 0)) if bodies is None else (self.parts[1:] @ bodies).T
        A, own = np.hstack([Y, self.drives, further]), len(self.precision)
        H, g = A.T @ A, A.T @ self.efforts
        H[:own, :own] += self.precision
        count = len(self.bodies)
        pull = self.precision[:count, :count] @ self.bodies
        g[:count] += pull
        scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        H = H * np.outer(scale, scale) + 1e-10 * np.eye(len(H))
        x = scale * np.linalg.solve(H, scale * g)
        square = float(self.efforts @ self.efforts) + float(pull @ self.bodies) - float(g @ x)
        return float(np.sqrt(max(square, 0.0))), x[:count], x[own:]

    def _nearest(self, start: Array, size: float) -> tuple[float, Array]:
        """Least misfit near a gravity, and the gravity of that misfit."""
        gravity, (misfit, bodies, _) = start, self.explained(start)
        for _ in range(STEPS):
            moved = gravity + self.explained(gravity, bodies)[2]
            moved = moved * size / max(float(np.linalg.norm(moved)), 1e-300)
            other, bodies, _ = self.explained(moved)
            if other >= misfit:
                break
            change, misfit, gravity = float(np.linalg.norm(moved - gravity)), other, moved
            if change < CONVERGED:
                break
        return misfit, gravity
