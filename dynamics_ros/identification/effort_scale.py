# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sign and unit of reported efforts, relative to the torques of the description.

If masses are unknown, a model fits efforts in any unit and with the opposite sign. Efforts are
therefore compared with the torques of the described robot, and with friction, which always
dissipates power.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.robot import Robot

from .alternatives.effort_shares import MIN_MISFIT_RATIO, effort_shares
from .alternatives.misfit import (
    MAX_UNIT_RATIO,
    MIN_CARRIED_SHARE,
    PRICE,
    TOOL_FACTOR,
    usual_gain,
)
from .alternatives.nearest import SIGNIFICANT, Nearest, nearest, regression
from .alternatives.states import MIN_EFFORT_SPREAD
from .equations import MIN_MOVING_ROWS, Equations
from .normal_equations import Layout, Sums, grams
from .prior import Prior

Array = NDArray[np.float64]

MIN_GAIN = 0.6
"""Ratio of efforts to described torques below which the description is doubted; loads that are not
described only make efforts larger."""


@dataclass(frozen=True, eq=False)
class EffortScale:
    """Torque per unit of reported effort.

    Attributes:
        scale: (nv) 1 or -1, or another number if efforts are in other units.
        doubts: findings for the user, one sentence each.
    """

    scale: Array
    doubts: tuple[str, ...]


def effort_scale(
    robot: Robot, layout: Layout, equations: Equations, moving: NDArray[np.bool_]
) -> EffortScale:
    """Effort scale relative to the description.

    Signs are those for which bodies near the described ones and dissipative friction explain the
    efforts best; the last bodies may carry a tool that the description does not contain.

    Args:
        robot, layout: described robot, and the layout of its unknowns.
        equations: equations of the recordings, efforts as reported.
        moving: (nv) whether joints move.
    """
    sizes = _rms_efforts(equations)
    described = Prior.of(robot, layout, sizes, moving).mean
    gains = np.full(layout.joints, np.nan)
    for joint in range(layout.joints):
        # The rotor is a separate column: it is in no description, and in a light arm its inertia
        # can exceed that of the bodies.
        A, y, count = _regression_columns(layout, equations, described, joint)
        x, significance = regression(A, y, count)
        # Joints with small torques contain no information about the unit.
        share = abs(x[0]) * np.linalg.norm(A[:, 0]) / max(np.linalg.norm(y), 1e-300)
        if abs(significance[0]) > SIGNIFICANT and share > MIN_CARRIED_SHARE:
            gains[joint] = abs(x[0])
    usual = measured = usual_gain(gains, sizes)
    found = _nearest_parameters(robot, layout, equations, moving, 1.0)
    if not 1.0 / MAX_UNIT_RATIO < usual < MAX_UNIT_RATIO:
        other = _nearest_parameters(robot, layout, equations, moving, usual)
        # A heavy tool makes efforts larger than described; nothing makes them much smaller.
        if other.misfit * (MIN_MISFIT_RATIO if usual > 1.0 else 1.0) < found.misfit:
            found = other
        else:
            usual = 1.0
    for shares in effort_shares(robot):
        if not shares.explain(gains):
            continue
        by_limits = _nearest_parameters(robot, layout, equations, moving, 1.0 / shares.limits)
        if MIN_MISFIT_RATIO * by_limits.misfit < found.misfit:
            return EffortScale(
                by_limits.signs * shares.limits,
                (
                    *_opposite(robot, by_limits.signs),
                    f'efforts seem to be {shares.words} of the effort limits of the description; '
                    'effort.scale turns them into Nm, as exactly as these limits are right'
                    + _other_limits(usual_gain(gains * shares.limits, sizes * shares.limits)),
                ),
            )
    doubts = _opposite(robot, found.signs)
    if not 1.0 / MAX_UNIT_RATIO < usual < MAX_UNIT_RATIO:
        doubts.append(
            f'efforts are about {usual:.3g} times the torques of the description: they seem to be '
            'in other units (currents, or a share of the largest torque). effort.scale turns them '
            'into Nm, as exactly as the masses of the description are right'
        )
        near = (gains > usual / MAX_UNIT_RATIO) & (gains < usual * MAX_UNIT_RATIO)
        return EffortScale(found.signs / np.where(near, gains, usual), tuple(doubts))
    if measured < MIN_GAIN:
        doubts.append(
            f'efforts are only about {measured:.2g} times the torques of the description: it is of '
            'a larger robot than the recording, its masses are too large, or efforts are in other '
            'units; they are taken for Nm'
        )
    return EffortScale(found.signs, tuple(doubts))


def _other_limits(gain: float) -> str:
    """What described masses say of the limits, if that is something else."""
    if 1.0 / MIN_MISFIT_RATIO < gain < MIN_MISFIT_RATIO:
        return ''
    return f'. By the masses of the description, limits are about {1.0 / gain:.2g} times as large'


def _opposite(robot: Robot, signs: Array) -> list[str]:
    """A sentence that names joints whose efforts have the opposite sign, if there are any."""
    turned = [name for name, sign in zip(robot.joint_names, signs, strict=True) if sign < 0.0]
    if not turned:
        return []
    return [
        f'efforts of {", ".join(turned)} have the opposite sign of the torques that the motors '
        'apply; effort.scale is negative there'
    ]


def _rms_efforts(equations: Equations) -> Array:
    """(nv) RMS of reported efforts."""
    squares = (equations.rows[..., -1] ** 2).sum(axis=1)
    return np.sqrt(squares / np.maximum(equations.counts.sum(axis=1), 1))


def _nearest_parameters(
    robot: Robot, layout: Layout, equations: Equations, moving: NDArray[np.bool_], unit: ArrayLike
) -> Nearest:
    """What explains efforts best, with so many reported ones a Nm, number or (nv)."""
    equations = equations.scaled(np.broadcast_to(1.0 / np.asarray(unit), layout.joints))
    sizes = _rms_efforts(equations)
    described = Prior.of(robot, layout, sizes, moving).mean
    prior = Prior.of(robot, layout, sizes, moving, rotors=rotors_told(layout, equations, described))
    b, nv = len(layout.base), layout.joints
    offset = b + 1
    counts = equations.counts[:, ~equations.standing].sum(axis=1)
    # Rows at rest are excluded: static friction may have any value and dissipates no power.
    used = ~equations.standing | (counts < MIN_MOVING_ROWS)[:, np.newaxis]
    gram = grams(equations, used.astype(np.float64), np.ones(len(equations.begins), dtype=bool))
    many = np.maximum(gram[:, offset, offset], 1.0)
    spread = gram[:, -1, -1] / many - (gram[:, offset, -1] / many) ** 2
    spread = np.maximum(spread, MIN_EFFORT_SPREAD**2 * spread.max()) + 1e-300
    weight = 1.0 / (spread * many * nv)
    whole = gram * weight[:, np.newaxis, np.newaxis]
    H, _, _ = Sums.of(layout, whole).assembled()
    G, power = np.zeros((2, nv, layout.count))
    for joint in range(nv):
        own = np.zeros_like(whole)
        own[joint] = whole[joint]
        _, G[joint], _ = Sums.of(layout, own).assembled()
        # The first friction column is the velocity.
        taken = gram[joint, b, b:-1]
        norm = np.sqrt(max(gram[joint, b, b], 1e-300) * spread[joint] * many[joint])
        power[joint, layout.friction(joint)] = (
            taken * [1.0, 0.0, 1.0, 0.0, 0.0] / norm / np.sqrt(nv)
        )
    P = prior.precision + prior.divergence
    inner = {joint.parent for joint in robot.model.joints}
    for body in set(range(layout.bodies // 10)) - inner:
        own = slice(10 * body, 10 * body + 10)
        P[own, own] *= TOOL_FACTOR
    squares = float((whole[:, -1, -1]).sum())
    return nearest(H, G, squares, PRICE / nv * P, prior.mean, power)


def rotors_told(layout: Layout, equations: Equations, described: Array) -> Array:
    """(nv) significant rotor inertias according to the efforts, 0 for others [kg m^2 or kg].

    Args:
        layout, equations, described: as in ``effort_scale``, with efforts as torques.
    """
    found = np.zeros(layout.joints)
    for joint in range(layout.joints):
        x, significance = regression(*_regression_columns(layout, equations, described, joint))
        if significance[-1] > SIGNIFICANT:
            found[joint] = x[-1]
    return found


def _regression_columns(
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
