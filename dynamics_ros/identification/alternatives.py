# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Other units and signs of efforts, and another mounting, than described.

If masses are unknown, a model fits efforts in any unit, with the opposite sign, and much of a
recording under a wrong gravity, by bodies far from the described ones. Alternatives are therefore
compared by a misfit with a price on changes of masses ([Lee2020]):

    misfit^2 = min over phi, drives of  mean |W (Y(g) phi + drives - efforts)|^2
               + price (phi - phi_0)^T D (phi - phi_0),

where W divides the efforts of a joint by their standard deviation. Rotors, friction and offsets
have wide priors. The regressor Y is linear in gravity g, so g is found by Gauss-Newton steps.

Sign and unit of a joint come from a regression of its efforts on the torque of the described
bodies, friction, an offset and the acceleration: friction dissipates power, which gives the sign;
the gain of the described torque gives the unit, and the sign where friction is not significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.robot import Robot

from .bodies import pseudo_inertia
from .equations import MIN_MOVING_ROWS, STILL_SPEED
from .joint_states.joint_matching import NotThisRobotError
from .joint_states.samples import JointSamples, UnusableRecordingError

Array = NDArray[np.float64]

MIN_STATES, MIN_DURATION = 50, 10.0
"""Least number of states, and least duration of a recording [s], for the check of the mounting."""

STATES, SCALE_STATES, WINDOW = 120, 1000, 0.2
"""Approximate numbers of states for the mounting and for units; time that each is a mean of [s]."""

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

STEPS = 4
"""Number of steps of a search."""

MIN_GAIN, MAX_RATIO = 0.6, 3.0
"""Ratio of efforts to described torques below which the description is doubted, since loads that
are not described only make efforts larger; ratio, or its inverse, that is still plausible in Nm."""

SIGNIFICANT, MIN_SHARE, MAX_LEFT = 8.0, 0.3, 0.7
"""Ratio of a coefficient to its standard deviation, and share of the variation of the efforts that
described torques explain, from which a gain is known; residual of the regression over this
variation, from which gain and sign of a joint are unknown."""

MISFIT_RATIO = 1.3
"""Ratio of misfits from which another unit is believed."""

States = tuple[Array, Array, Array, Array]
"""Positions, velocities, accelerations and efforts (n, nv each)."""


def averaged_states(stretches: Sequence[JointSamples], count: int = STATES) -> States:
    """About so many averaged states of recordings."""
    total, parts = sum(len(one) for one in stretches), []
    every = slice(None, None, max(1, total // count))
    for one in stretches:
        half = max(1, round(0.5 * WINDOW / one.period))
        if len(one) < 8 * half:
            continue
        mean = partial(scipy.ndimage.uniform_filter1d, size=2 * half + 1, axis=0)
        # Relative to the first value, so that running sums of large positions lose no digits.
        q = one.position[0] + mean(one.position - one.position[0])
        v = mean(np.gradient(q, one.period, axis=0))
        states = q, v, np.gradient(v, one.period, axis=0), mean(one.effort)
        parts.append([x[2 * half : -2 * half][every] for x in states])
    if not parts:
        nothing = np.zeros((0, stretches[0].position.shape[1]))
        return nothing, nothing, nothing, nothing
    q, v, a, effort = (np.concatenate(x) for x in zip(*parts, strict=True))
    return q, v, a, effort


class Misfit:
    """Misfit of a recording as a function of the scale of efforts and of gravity.

    Attributes:
        described: (3) described gravity [m/s^2].
    """

    def __init__(self, robot: Robot, states: States) -> None:
        """Compute the regressors of ``averaged_states`` of a described robot."""
        q, v, a, self._effort = states
        still, loose = np.zeros_like(q), robot.adjustable()
        none = loose.with_gravity((0.0, 0.0, 0.0)).regressor(q, still, still)
        along = [loose.with_gravity(tuple(g)).regressor(q, still, still) - none for g in np.eye(3)]
        self.described = np.array([*robot.model.gravity])
        bare = robot.regressor(q, v, a) - np.tensordot(self.described, along, 1)
        self._parts = np.stack([bare, *along])
        columns = np.stack([a, v, np.ones_like(v), np.tanh(v / COULOMB_SPEED)], axis=-1)
        self._drives = columns[:, :, np.newaxis] * np.eye(robot.nv)[..., np.newaxis]
        self._bodies = pseudo_inertia.described(robot)
        inner = {joint.parent for joint in robot.model.joints}
        self._metric = [
            block * (1.0 if body in inner else TOOL_FACTOR)
            for body, block in enumerate(pseudo_inertia.metric(self._bodies))
        ]
        some = q[:: max(1, len(q) // 20)]
        self._carried = float(robot.mass_matrix(some).diagonal(axis1=1, axis2=2).mean(axis=0).max())

    def explained(
        self, scale: Array, gravity: Array, held: bool = False, bodies: Array | None = None
    ) -> tuple[float, Array, Array]:
        """Misfit and bodies of the best explanation, and what gravity should change by (3).

        Args:
            scale: (nv) torque per unit of reported effort.
            gravity: (3) gravity [m/s^2].
            held: whether masses are known to be as described.
            bodies: (10 bodies) at which torques are linearized by gravity; None: gravity is fixed.
        """
        torque, (n, nv) = scale * self._effort, self._effort.shape
        spread = torque.std(axis=0)
        spread = np.maximum(spread, MIN_EFFORT_SPREAD * spread.max()) + 1e-300
        weight = 1.0 / (spread * np.sqrt(n * nv))
        reach = REACH * spread
        rotors = np.full(nv, self._carried + 1e-9)
        deviations = np.stack([rotors, reach / SLOW, reach, reach], axis=1)
        metric = [block * (HELD_FACTOR if held else 1.0) for block in self._metric]
        prior = scipy.linalg.block_diag(*metric, np.diag(deviations.ravel() ** -2.0)) * PRICE / nv
        Y = np.tensordot(np.append(1.0, gravity), self._parts, 1)
        columns = [Y, self._drives.reshape(n, nv, -1)]
        if bodies is not None:
            columns.append(np.moveaxis(self._parts[1:] @ bodies, 0, -1))
        A = (np.concatenate(columns, axis=-1) * weight[:, np.newaxis]).reshape(n * nv, -1)
        right, count, own = (torque * weight).ravel(), self._bodies.size, len(prior)
        H, g, mean = A.T @ A, A.T @ right, self._bodies.ravel()
        H[:own, :own] += prior
        pull = prior[:count, :count] @ mean
        g[:count] += pull
        size = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        H = H * np.outer(size, size) + 1e-10 * np.eye(len(H))
        x = size * np.linalg.solve(H, size * g)
        square = float(right @ right) + float(pull @ mean) - float(g @ x)
        return float(np.sqrt(max(square, 0.0))), x[:count], x[own:]

    def compared(self, scale: Array, held: bool = False) -> tuple[float, float, Array]:
        """Misfit of the described gravity, the least one of another gravity, and that gravity."""
        size = float(np.linalg.norm(self.described)) or STANDARD_GRAVITY
        gravity, bodies = np.zeros(3), self._bodies.ravel()
        nothing = self.explained(scale, gravity, held)[0], gravity
        for _ in range(STEPS):
            # Torques are linearized at the described bodies first, then at those of the last fit.
            gravity = gravity + self.explained(scale, gravity, held, bodies)[2]
            gravity = gravity * size / max(float(np.linalg.norm(gravity)), 1e-300)
            misfit, bodies, _ = self.explained(scale, gravity, held)
        least = np.cos(np.radians(MIN_TILT)) * size * np.linalg.norm(self.described)
        other = [nothing, (misfit, gravity)] if gravity @ self.described <= least else [nothing]
        usual = self.explained(scale, self.described, held)[0]
        return (usual, *min(other, key=lambda one: one[0]))


def check_mounting(
    robot: Robot, stretches: Sequence[JointSamples], scale: Array, held: bool = False
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
    states = averaged_states(stretches)
    duration = sum(len(one) * one.period for one in stretches)
    if duration < MIN_DURATION or len(states[0]) < MIN_STATES:
        return []
    misfit = Misfit(robot, states)
    # Signs of efforts are found with the described gravity, so the usual ones are compared too.
    signs = [scale, np.abs(scale)] if (scale < 0.0).any() else [scale]
    found = [misfit.compared(one, held) for one in signs]
    usual = min(one[0] for one in found)
    _, best, gravity = min(found, key=lambda one: one[1])
    if best > MAX_MISFIT or usual < REPORT_RATIO * best:
        return []
    differs = usual > MIN_DIFFERENCE + best
    refused = differs and usual > (HELD_RATIO if held else REJECTION_RATIO) * best
    if not refused and not held:
        # Other masses may hide a wrong gravity.
        found = [misfit.compared(one, True) for one in signs]
        other = min(one[1] for one in found)
        refused = other < MAX_MISFIT and min(one[0] for one in found) > HELD_RATIO * other
    if not refused and not differs:
        return []
    percent = (
        f'(misfit {100.0 * best:.0f} % of the variation of efforts instead of {100 * usual:.0f} %)'
    )
    if not gravity.any():
        sentence = (
            'efforts contain no gravity torques: the driver reports them without gravity '
            '(contact_node: effort.includes_gravity false); add Robot.gravity(q) to them '
            f'{percent}'
        )
    else:
        described = [*robot.model.gravity]
        axis, given = (' '.join(f'{float(x):.3g}' for x in g) for g in (gravity, described))
        sentence = (
            f'the efforts are those of a robot with gravity along about ({axis}) m/s^2 in the root '
            f'frame, not ({given}): it is mounted otherwise (--gravity {axis}), or it is another '
            f'robot; check mounting, joint order and units {percent}'
        )
    if not refused:
        return [f'masses are doubtful: {sentence}']
    raise (NotThisRobotError if gravity.any() else UnusableRecordingError)(sentence)


def effort_scale(robot: Robot, stretches: Sequence[JointSamples]) -> tuple[Array, list[str]]:
    """Effort scale of recordings relative to the description.

    Returns:
        (nv) torque per unit of reported effort: 1 or -1, or another number if efforts are in other
        units; and one sentence for each deviation from Nm with the usual sign.
    """
    states, findings = averaged_states(stretches, SCALE_STATES), []
    if not len(states[0]):
        return np.ones(robot.nv), []
    gains, signs = _gains_and_signs(robot, states)
    usual = _usual_gain(gains, np.sqrt((states[3] ** 2).mean(axis=0)))
    opposite = [name for name, s in zip(robot.joint_names, signs, strict=True) if s < 0.0]
    if opposite:
        findings.append(
            f'efforts of {", ".join(opposite)} have the opposite sign of the motor torques; '
            'effort.scale is negative there'
        )
    if not 1.0 / MAX_RATIO < usual < MAX_RATIO:
        misfit = Misfit(robot, averaged_states(stretches))
        scale = signs / np.where(gains > 0.0, gains, usual)
        # A heavy tool makes efforts larger than described; nothing makes them much smaller.
        ratio = MISFIT_RATIO if usual > 1.0 else 1.0
        before, after = (misfit.explained(one, misfit.described)[0] for one in (signs, scale))
        if ratio * after < before:
            findings.append(
                f'efforts are about {usual:.3g} times the torques of the description: they seem to '
                'be in other units (currents, or a share of the largest torque). effort.scale '
                'turns them into Nm, as exactly as the masses of the description are right'
            )
            return scale, findings
    if usual < MIN_GAIN:
        findings.append(
            f'efforts are only about {usual:.2g} times the torques of the description: it is of a '
            'larger robot than the recording, its masses are too large, or efforts are in other '
            'units; they are taken for Nm'
        )
    return signs, findings


def _usual_gain(gains: Array, sizes: Array) -> float:
    """Median of known gains (nv), weighted by the sizes of efforts (nv); 1 if none is known.

    The weights reduce the effect of a tool that is not in the description, which dominates the
    efforts of a wrist.
    """
    known = np.isfinite(gains)
    if not known.any():
        return 1.0
    order = np.argsort(gains[known])
    share = np.cumsum(sizes[known][order])
    return float(gains[known][order][np.searchsorted(share, 0.5 * share[-1])])


def _gains_and_signs(robot: Robot, states: States) -> tuple[Array, Array]:
    """(nv) reported effort over described torque, NaN if unknown, and signs of efforts."""
    q, velocities, accelerations, efforts = states
    gains, signs = np.full(robot.nv, np.nan), np.zeros(robot.nv)
    torques = robot.inverse_dynamics(q, velocities, accelerations)
    moving = np.abs(velocities) > STILL_SPEED * motion_scales(robot)
    for j in range(robot.nv):
        # At rest friction may have any value and dissipates no power.
        rows = moving[:, j] if moving[:, j].sum() >= MIN_MOVING_ROWS else np.ones(len(q), bool)
        torque, v, a, y = (x[rows, j] for x in (torques, velocities, accelerations, efforts))
        A = np.stack([torque, v, np.tanh(v / COULOMB_SPEED), a, np.ones(len(v))], axis=1)
        size = np.linalg.norm(A, axis=0)
        size = np.where(size > 1e-9 * size.max(), size, np.inf)
        inverse = np.linalg.pinv(A / size)
        x = inverse @ y / size
        left = float(np.linalg.norm(y - A @ x))
        spread = left / np.sqrt(max(len(y) - A.shape[1], 1)) * np.linalg.norm(inverse, axis=1)
        known = np.abs(x) > SIGNIFICANT * spread / size
        # A joint whose effort has another cause, such as another gravity, tells nothing.
        variation = y.std()
        if left > MAX_LEFT * variation * np.sqrt(len(y)):
            continue
        told = known[0] and abs(x[0]) * torque.std() > MIN_SHARE * variation
        gain, friction = x[0] if told else 0.0, 0.0
        if known[1:3].any():
            friction = float(v @ A[:, 1:3] @ x[1:3])
        signs[j] = np.sign(friction) if friction else np.sign(gain)
        if gain * friction > 0.0 or (gain and not friction):
            gains[j] = abs(gain)
    # A joint that does not show its sign has that of the others, if they agree.
    seen = signs[signs != 0.0]
    return gains, np.where(signs == 0.0, -1.0 if len(seen) and (seen < 0.0).all() else 1.0, signs)
