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
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .bodies import pseudo_inertia
from .equations import Equations
from .evaluation import Problem
from .fit import (
    Layout,
    Prior,
    described_gram,
    grams,
    inverse,
    normal_equations,
    regression,
    squares,
)
from .joint_states.clock import Stretch
from .joint_states.joint_matching import NotThisRobotError
from .joint_states.samples import UnusableRecordingError

Array = NDArray[np.float64]

MIN_STATES, MIN_DURATION = 50, 10.0
"""Least number of states, and least duration of a recording [s], for the check of the mounting."""

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

STEPS, CONVERGED = 8, 0.02
"""Largest number of steps of a search; change at which it ends [m/s^2]."""

MIN_GAIN, MAX_RATIO = 0.6, 3.0
"""Ratio of efforts to described torques below which the description is doubted, since loads that
are not described only make efforts larger; ratio, or its inverse, that is still plausible in Nm."""

SIGNIFICANT, MIN_SHARE, MAX_LEFT = 8.0, 0.3, 0.7
"""Ratio of a coefficient to its standard deviation, and share of the variation of the efforts that
described torques explain, from which a gain is known; residual of the regression over this
variation, from which gain and sign of a joint are unknown."""

MAX_LIMIT_RATIO, MAX_SPREAD_RATIO = 1.5, 0.7
"""Ratio of the largest to the smallest effort limit up to which shares of them look like one unit
for all joints; spread of the gains of joints as shares, over that in Nm, up to which they are."""

MISFIT_RATIO = 1.3
"""Ratio of misfits from which another unit is believed; ratio of gains as shares of limits, or its
inverse, up to which described masses confirm the limits."""

States = tuple[Array, Array, Array, Array]
"""Positions, velocities, accelerations and efforts (n, nv each)."""


def averaged_states(stretches: Sequence[Stretch]) -> States:
    """About ``STATES`` averaged states of recordings."""
    total, parts = sum(len(one) for one in stretches), []
    every = slice(None, None, max(1, total // STATES))
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


@dataclass(frozen=True, eq=False)
class _Misfit:
    """Misfit of states as a function of gravity.

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
    def of(cls, robot: Robot, states: States, scale: Array, held: bool = False) -> _Misfit:
        """Misfit of states of a described robot, with a torque per unit of effort (nv)."""
        q, v, a, effort = states
        torque, (n, nv) = scale * effort, q.shape
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
        blocks = [
            block * (HELD_FACTOR if held else 1.0) * (1.0 if body in inner else TOOL_FACTOR)
            for body, block in enumerate(pseudo_inertia.metric(bodies))
        ]
        reach = REACH * spread
        carried = robot.mass_matrix(q[:: max(1, n // 20)]).diagonal(axis1=1, axis2=2).mean(axis=0)
        rotors = np.full(nv, carried.max() + 1e-9)
        deviations = np.stack([rotors, reach / SLOW, reach, reach], axis=1)
        return cls(
            described,
            (np.stack([bare, *along]) * weight[:, np.newaxis]).reshape(4, n * nv, -1),
            drives.reshape(n * nv, -1),
            (torque * weight).ravel(),
            PRICE / nv * scipy.linalg.block_diag(*blocks, np.diag(deviations.ravel() ** -2.0)),
            bodies.ravel(),
        )

    def compared(self) -> tuple[float, float, Array]:
        """Misfit of the described gravity, the least one of another gravity, and that gravity."""
        size = float(np.linalg.norm(self.described)) or STANDARD_GRAVITY
        nothing = np.zeros(3)
        found = [self._nearest(start, size) for start in (nothing, self.described)]
        least = np.cos(np.radians(MIN_TILT)) * size * np.linalg.norm(self.described)
        other = [one for one in found if one[1] @ self.described <= least]
        other.append((self.explained(nothing)[0], nothing))
        return (self.explained(self.described)[0], *min(other, key=lambda one: one[0]))

    def explained(self, gravity: Array, bodies: Array | None = None) -> tuple[float, Array, Array]:
        """Misfit and bodies of the best explanation, and what gravity should change by (3).

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

    def _nearest(self, gravity: Array, size: float) -> tuple[float, Array]:
        """Least misfit near a gravity, and the gravity of that misfit."""
        # Torques are linearized at the described bodies first.
        misfit, bodies = np.inf, self.bodies
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
    states = averaged_states(stretches)
    duration = sum(len(one) * one.period for one in stretches)
    if duration < MIN_DURATION or len(states[0]) < MIN_STATES:
        return []

    def compared(held: bool) -> tuple[float, float, Array]:
        # Signs of efforts are found with the described gravity, so the usual ones are compared too.
        signs = [scale, np.abs(scale)] if (scale < 0.0).any() else [scale]
        found = [_Misfit.of(robot, states, one, held).compared() for one in signs]
        _, best, gravity = min(found, key=lambda one: one[1])
        return min(one[0] for one in found), best, gravity

    usual, best, gravity = compared(held)
    if best > MAX_MISFIT or usual < REPORT_RATIO * best:
        return []
    differs = usual > MIN_DIFFERENCE + best
    refused = differs and usual > (HELD_RATIO if held else REJECTION_RATIO) * best
    if not refused and not held:
        # Other masses may hide a wrong gravity.
        as_described, other, _ = compared(True)
        refused = other < MAX_MISFIT and as_described > HELD_RATIO * other
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


def effort_scale(problem: Problem) -> tuple[Array, list[str]]:
    """Effort scale relative to the description, from equations with efforts as reported.

    Returns:
        (nv) torque per unit of reported effort: 1 or -1, or another number if efforts are in other
        units; and one sentence for each deviation from Nm with the usual sign.
    """
    robot, equations = problem.robot, problem.equations
    layout, sizes = Layout(problem.maker.base, robot.nv), equations.rms_efforts
    prior = Prior.of(robot, layout, equations, problem.moved)
    gains, signs = _gains_and_signs(layout, equations, prior.mean)
    usual, findings = _usual_gain(gains, sizes), []
    opposite = [name for name, s in zip(robot.joint_names, signs, strict=True) if s < 0.0]
    if opposite:
        findings.append(
            f'efforts of {", ".join(opposite)} have the opposite sign of the motor torques; '
            'effort.scale is negative there'
        )
    # Candidates: a torque per unit of effort (nv), the ratio of misfits they need, a sentence.
    candidates: list[tuple[Array, float, str]] = []
    for words, limits in _effort_shares(robot, gains):
        sentence = (
            f'efforts seem to be {words} of the effort limits of the description; '
            'effort.scale turns them into Nm, as exactly as these limits are right'
        )
        gain = _usual_gain(gains * limits, sizes * limits)
        if not 1.0 / MISFIT_RATIO < gain < MISFIT_RATIO:
            sentence += (
                '. By the masses of the description, limits are about '
                f'{1.0 / gain:.2g} times as large'
            )
        candidates.append((signs * limits, MISFIT_RATIO, sentence))
    if not 1.0 / MAX_RATIO < usual < MAX_RATIO:
        near = (gains > usual / MAX_RATIO) & (gains < usual * MAX_RATIO)
        sentence = (
            f'efforts are about {usual:.3g} times the torques of the description: they seem to be '
            'in other units (currents, or a share of the largest torque). effort.scale turns them '
            'into Nm, as exactly as the masses of the description are right'
        )
        # A heavy tool makes efforts larger than described; nothing makes them much smaller.
        ratio = MISFIT_RATIO if usual > 1.0 else 1.0
        candidates.insert(0, (signs / np.where(near, gains, usual), ratio, sentence))
    scale, chosen = signs, ''

    def misfit(scale: Array) -> float:
        return _masses_misfit(robot, layout, equations.scaled(scale), problem.moved)

    least = misfit(signs) if candidates else 0.0
    for other, ratio, sentence in candidates:
        found = misfit(other)
        if ratio * found < least:
            scale, least, chosen = other, found, sentence
    if chosen:
        findings.append(chosen)
    elif usual < MIN_GAIN:
        findings.append(
            f'efforts are only about {usual:.2g} times the torques of the description: it is of a '
            'larger robot than the recording, its masses are too large, or efforts are in other '
            'units; they are taken for Nm'
        )
    return scale, findings


def _masses_misfit(
    robot: Robot, layout: Layout, equations: Equations, moving: NDArray[np.bool_]
) -> float:
    """Misfit of equations with efforts as torques, under the described gravity."""
    prior, nv = Prior.of(robot, layout, equations, moving), layout.joints
    efforts, constant = equations.rows[..., -1], equations.rows[..., len(layout.base) + 1]
    mean = (efforts * constant).sum(axis=1) / equations.counts.sum(axis=1)
    spread = equations.rms_efforts**2 - mean**2
    spread = np.maximum(spread, MIN_EFFORT_SPREAD**2 * spread.max()) + 1e-300
    in_motion = ~equations.standing
    many = np.maximum(equations.counts[:, in_motion].sum(axis=1), 1)
    gram = grams(equations, (1.0 / (nv * many * spread))[:, np.newaxis] * in_motion)
    P = PRICE / nv * (prior.precision + prior.divergence)
    inner = {joint.parent for joint in robot.model.joints}
    for body in set(range(layout.bodies // 10)) - inner:
        P[10 * body : 10 * body + 10] *= TOOL_FACTOR
    H, g = normal_equations(layout, gram)
    x = inverse(H + P) @ (g + P @ prior.mean)
    off = x - prior.mean
    return float(np.sqrt(squares(layout, gram, x).sum() + off @ P @ off))


def _effort_shares(robot: Robot, gains: Array) -> list[tuple[str, Array]]:
    """Name and torque (nv) of units that are shares of effort limits, if they explain the gains.

    Args:
        robot: the described robot.
        gains: (nv) reported efforts over described torques, NaN if unknown.
    """
    limits, known = robot.effort_limits, np.isfinite(gains)
    if not np.isfinite(limits).all() or limits.min(initial=np.inf) <= 0.0 or known.sum() < 2:
        return []
    before = np.log(gains[known])
    after = before + np.log(limits[known])
    # Gains have to be more alike as shares, and limits not.
    alike = np.ptp(after) < MAX_SPREAD_RATIO * np.ptp(before)
    if not alike or limits.max() < MAX_LIMIT_RATIO * limits.min():
        return []
    units = ('percent', 100.0), ('shares', 1.0)
    return [
        (words, limits / factor)
        for words, factor in units
        if abs(np.median(after) - np.log(factor)) <= np.log(MAX_RATIO)
    ]


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


def _gains_and_signs(layout: Layout, equations: Equations, described: Array) -> tuple[Array, Array]:
    """(nv) reported effort over described torque, NaN if unknown, and signs of efforts."""
    gains, signs = np.full(layout.joints, np.nan), np.zeros(layout.joints)
    torque, viscous, constant, coulomb, effort = 0, 2, 3, 4, 5
    for j, (gram, count) in enumerate(zip(*described_gram(layout, equations, described))):
        x, significance, left = regression(gram, count)
        # Variation of the described torque and of the efforts about their means.
        mean = gram[constant] / gram[constant, constant]
        varying = np.sqrt(np.maximum(np.diag(gram) - mean**2 * gram[constant, constant], 0.0))
        # A joint whose effort has another cause, such as another gravity, tells nothing.
        if left > MAX_LEFT * varying[effort]:
            continue
        known = abs(significance[torque]) > SIGNIFICANT
        known &= abs(x[torque]) * varying[torque] > MIN_SHARE * varying[effort]
        gain, friction = x[torque] if known else 0.0, 0.0
        if np.abs(significance[[viscous, coulomb]]).max() > SIGNIFICANT:
            friction = x[[viscous, coulomb]] @ gram[viscous, [viscous, coulomb]]
        signs[j] = np.sign(friction) if friction else np.sign(gain)
        if gain * friction > 0.0 or (gain and not friction):
            gains[j] = abs(gain)
    # A joint that does not show its sign has that of the others, if they agree.
    known = signs[signs != 0.0]
    return gains, np.where(signs == 0.0, -1.0 if len(known) and (known < 0.0).all() else 1.0, signs)
