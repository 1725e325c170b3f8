# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sign and unit of reported efforts, joint by joint, relative to the torques of the description.

If masses are unknown, a model fits efforts in any unit and with the opposite sign. The efforts of
each joint are therefore regressed on the torque of the described bodies, friction, an offset and
the acceleration, as the rotor is in no description. The gain of the described torque gives the
unit. Friction dissipates power, which gives the sign; the sign of the gain counts where friction is
not significant, because a tool that is not described can turn the torque of a wrist round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .equations import MIN_MOVING_ROWS, Equations
from .mounting import MIN_EFFORT_SPREAD, PRICE, TOOL_FACTOR
from .normal_equations import Layout, normal_system
from .prior import Prior

Array = NDArray[np.float64]

MIN_GAIN, MAX_RATIO = 0.6, 3.0
"""Ratio of efforts to described torques below which the description is doubted, since loads that
are not described only make efforts larger; ratio, or its inverse, that is still plausible in Nm."""

SIGNIFICANT, MIN_SHARE = 8.0, 0.3
"""Ratio of a coefficient to its standard deviation, and share of the variation of the efforts that
described torques explain, from which a gain is known."""

MAX_LIMIT_RATIO, MAX_SPREAD_RATIO = 1.5, 0.7
"""Ratio of the largest to the smallest effort limit up to which shares of them look like one unit
for all joints; spread of the gains of joints as shares, over that in Nm, up to which they are."""

MISFIT_RATIO = 1.3
"""Ratio of misfits from which another unit is believed; ratio of gains as shares of
limits, or its inverse, up to which described masses confirm the limits."""

MAX_LEFT = 0.7
"""Residual of the regression of a joint, over the variation of its efforts, from which its gain and
sign are unknown."""

RELATIVE_RANK = 1e-8
"""Ratio of singular values below which columns of a regression are dependent."""


class Shares(NamedTuple):
    """Efforts as a share of the effort limits.

    Attributes:
        words: name of the unit.
        limits: (nv) torque of one reported unit [Nm or N].
    """

    words: str
    limits: Array

    def explain(self, gains: Array) -> bool:
        """Whether gains (nv), NaN if unknown, are plausible and more alike as shares."""
        known = np.isfinite(gains)
        if known.sum() < 2:
            return False
        before = np.log(gains[known])
        after = before + np.log(self.limits[known])
        if abs(np.median(after)) > np.log(MAX_RATIO):
            return False
        return bool(np.ptp(after) < MAX_SPREAD_RATIO * np.ptp(before))


def effort_shares(robot: Robot) -> tuple[Shares, ...]:
    """Units that are shares of effort limits; none if limits are missing or all alike."""
    limits = robot.effort_limits
    if not len(limits) or not np.isfinite(limits).all() or limits.min() <= 0.0:
        return ()
    if limits.max() < MAX_LIMIT_RATIO * limits.min():
        return ()
    return Shares('percent', limits / 100.0), Shares('shares', limits)


def effort_scale(
    robot: Robot,
    layout: Layout,
    equations: Equations,
    moving: NDArray[np.bool_],
) -> tuple[Array, list[str]]:
    """Effort scale relative to the description.

    Args:
        robot, layout: described robot, and the layout of its unknowns.
        equations: equations of the recordings, efforts as reported.
        moving: (nv) whether joints move.

    Returns:
        (nv) torque per unit of reported effort: 1 or -1, or another number if efforts are in other
        units; and one sentence for each deviation from Nm with the usual sign.
    """
    sizes = equations.rms_efforts
    described = Prior.of(robot, layout, sizes, moving).mean
    gains, signs = _gains_and_signs(layout, equations, described)
    usual, findings, scale = usual_gain(gains, sizes), [], signs
    opposite = [name for name, s in zip(robot.joint_names, signs, strict=True) if s < 0.0]
    if opposite:
        findings.append(
            f'efforts of {", ".join(opposite)} have the opposite sign of the motor torques; '
            'effort.scale is negative there'
        )
    odd, likely = not 1.0 / MAX_RATIO < usual < MAX_RATIO, effort_shares(robot)
    likely = tuple(shares for shares in likely if shares.explain(gains))
    misfit = _misfit(robot, layout, equations.scaled(signs), moving) if odd or likely else 0.0
    if odd:
        other = _misfit(robot, layout, equations.scaled(signs / usual), moving)
        # A heavy tool makes efforts larger than described; nothing makes them much smaller.
        if other * (MISFIT_RATIO if usual > 1.0 else 1.0) < misfit:
            near = (gains > usual / MAX_RATIO) & (gains < usual * MAX_RATIO)
            scale, misfit = signs / np.where(near, gains, usual), other
    for shares in likely:
        other = _misfit(robot, layout, equations.scaled(signs * shares.limits), moving)
        if MISFIT_RATIO * other < misfit:
            gain = usual_gain(gains * shares.limits, sizes * shares.limits)
            finding = (
                f'efforts seem to be {shares.words} of the effort limits of the description; '
                'effort.scale turns them into Nm, as exactly as these limits are right'
            )
            if not 1.0 / MISFIT_RATIO < gain < MISFIT_RATIO:
                finding += (
                    '. By the masses of the description, limits are about '
                    f'{1.0 / gain:.2g} times as large'
                )
            return signs * shares.limits, [*findings, finding]
    if scale is not signs:
        findings.append(
            f'efforts are about {usual:.3g} times the torques of the description: they seem to be '
            'in other units (currents, or a share of the largest torque). effort.scale turns them '
            'into Nm, as exactly as the masses of the description are right'
        )
    elif usual < MIN_GAIN:
        findings.append(
            f'efforts are only about {usual:.2g} times the torques of the description: it is of a '
            'larger robot than the recording, its masses are too large, or efforts are in other '
            'units; they are taken for Nm'
        )
    return scale, findings


def usual_gain(gains: Array, sizes: Array) -> float:
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


def _misfit(robot: Robot, layout: Layout, equations: Equations, moving: NDArray[np.bool_]) -> float:
    """Residual over the variation of efforts [Nm or N], with a price on changes of masses."""
    sizes, nv = equations.rms_efforts, layout.joints
    mean = Prior.of(robot, layout, sizes, moving).mean
    prior = Prior.of(robot, layout, sizes, moving, rotors=rotors_told(layout, equations, mean))
    many = np.maximum(equations.counts[:, ~equations.standing].sum(axis=1), 1)
    efforts, constant = equations.rows[..., -1], equations.rows[..., len(layout.base) + 1]
    spread = sizes**2 - ((efforts * constant).sum(axis=1) / equations.counts.sum(axis=1)) ** 2
    spread = np.maximum(spread, MIN_EFFORT_SPREAD**2 * spread.max()) + 1e-300
    weights = (1.0 / (nv * many * spread))[:, np.newaxis] * ~equations.standing
    H, g, c = normal_system(layout, equations, weights)
    P = PRICE / nv * (prior.precision + prior.divergence)
    inner = {joint.parent for joint in robot.model.joints}
    for body in set(range(layout.bodies // 10)) - inner:
        P[10 * body : 10 * body + 10] *= TOOL_FACTOR
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H + P), 1e-300))
    pull = g + P @ prior.mean
    x = scale * np.linalg.solve(
        (H + P) * np.outer(scale, scale) + 1e-10 * np.eye(len(P)), scale * pull
    )
    square = 2.0 * c + float(prior.mean @ P @ prior.mean) - float(pull @ x)
    return float(np.sqrt(max(square, 0.0)))


def rotors_told(layout: Layout, equations: Equations, described: Array) -> Array:
    """(nv) significant rotor inertias according to the efforts, 0 for others [kg m^2 or kg].

    Args:
        layout, equations, described: as in ``effort_scale``, with efforts as torques.
    """
    found = np.zeros(layout.joints)
    for joint in range(layout.joints):
        x, significance = regression(*_columns(layout, equations, described, joint))
        if significance[-1] > SIGNIFICANT:
            found[joint] = x[-1]
    return found


def _gains_and_signs(layout: Layout, equations: Equations, described: Array) -> tuple[Array, Array]:
    """(nv) reported effort over described torque, NaN if unknown, and signs of efforts."""
    gains, signs = np.full(layout.joints, np.nan), np.zeros(layout.joints)
    for joint in range(layout.joints):
        A, y, count = _columns(layout, equations, described, joint)
        x, significance = regression(A, y, count)
        torque, speed, constant, direction, _ = A.T
        varying = [
            float(np.linalg.norm(one - constant * (constant @ one) / (constant @ constant)))
            for one in (torque, y)
        ]
        gain = 0.0
        # A joint whose effort has another cause, such as another gravity, tells nothing.
        if np.linalg.norm(y - A @ x) > MAX_LEFT * varying[1]:
            continue
        if abs(significance[0]) > SIGNIFICANT and abs(x[0]) * varying[0] > MIN_SHARE * varying[1]:
            gain = x[0]
        friction = 0.0
        if np.abs(significance[[1, 3]]).max() > SIGNIFICANT:
            friction = x[1] * speed @ speed + x[3] * speed @ direction
        signs[joint] = np.sign(friction) if friction else np.sign(gain)
        if gain * friction > 0.0 or (gain and not friction):
            gains[joint] = abs(gain)
    # A joint that does not show its sign has that of the others, if they agree.
    known = signs[signs != 0.0]
    return gains, np.where(signs == 0.0, -1.0 if len(known) and (known < 0.0).all() else 1.0, signs)


def _columns(
    layout: Layout, equations: Equations, described: Array, joint: int
) -> tuple[Array, Array, int]:
    """Regression columns, efforts, and number of rows before compression.

    Columns: torque of described bodies, viscous friction, offset, Coulomb friction, acceleration.
    """
    b = len(layout.base)
    inertial = layout.base.combination @ described[: layout.inertial]
    moving, every = ~equations.standing, equations.rows[joint]
    # Rows at rest are excluded: static friction may have any value and dissipates no power.
    count = int(equations.counts[joint, moving].sum())
    rows = every[moving[equations.block]] if count >= MIN_MOVING_ROWS else every
    rotor = layout.base.combination[:, layout.bodies + joint]
    A = np.column_stack([rows[:, :b] @ inertial, rows[:, b : b + 3], rows[:, :b] @ rotor])
    return A, rows[:, -1], count


def regression(A: Array, y: Array, count: int) -> tuple[Array, Array]:
    """Coefficients (c) of a regression, and their ratios to their standard deviations.

    Both are 0 for empty columns.

    Args:
        A: (n, c) columns.
        y: (n) values.
        count: number of rows before compression.
    """
    size = np.linalg.norm(A, axis=0)
    known = size > 1e-9 * max(size.max(), 1e-300)
    scale = np.divide(1.0, size, np.zeros_like(size), where=known)
    U, sizes, Vt = np.linalg.svd(A * scale, full_matrices=False)
    usable = sizes > RELATIVE_RANK * max(sizes[0], 1e-300)
    inverse = np.divide(1.0, sizes, np.zeros_like(sizes), where=usable)
    parts = U.T @ y
    x = Vt.T @ (inverse * parts)
    left = y - U @ (parts * usable)
    spread = np.linalg.norm(left) / np.sqrt(max(min(len(y), count) - known.sum(), 1)) + 1e-300
    deviation = spread * np.linalg.norm(inverse[:, np.newaxis] * Vt, axis=0)
    return x * scale, np.clip(x / np.maximum(deviation, 1e-300), -1e3, 1e3)
