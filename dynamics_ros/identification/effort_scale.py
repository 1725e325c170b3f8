# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What reported efforts are beside the torques of the description: their sign and their unit.

A model with free masses explains efforts in any unit, and with negative ones those of a driver that
counts the other way round. So efforts are compared with what the described robot would take, and
with friction, which always takes power from a motor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .equations import LEAST, SIMPLEST, Equations
from .normal_equations import Layout

Array = NDArray[np.float64]

PLAUSIBLE = 3.0
"""Efforts that are so many times larger or smaller than described are in other units."""

CARRIED = 0.3
"""Share of the efforts that the described bodies have to explain, for a joint to tell the unit."""

SURE = 8.0
"""Standard deviations of a regression from which on its sign is believed."""


@dataclass(frozen=True, eq=False)
class EffortScale:
    """Torque over reported effort.

    Attributes:
        scale: (nv) 1 or -1, or another number where efforts are in other units.
        doubts: what a user should know about it, one sentence each.
    """

    scale: Array
    doubts: tuple[str, ...]


def effort_scale(
    layout: Layout, equations: Equations, described: Array, names: tuple[str, ...]
) -> EffortScale:
    """The scale that efforts have beside a description.

    Args:
        layout: of the robot.
        equations: of the recordings, efforts as reported.
        described: (n) unknowns of the description.
        names: of the joints.
    """
    b = len(layout.base)
    inertial = layout.base.combination @ described[: layout.inertial]
    T = SIMPLEST.unknowns()
    gains, signs = np.full(layout.joints, np.nan), np.ones(layout.joints)
    moving = ~equations.standing
    for joint, every in enumerate(equations.rows):
        # At rest friction takes no power, and may be of any size.
        count = int(equations.counts[joint, moving].sum())
        rows = every[moving[equations.block]] if count >= LEAST else every
        A = np.column_stack([rows[:, :b] @ inertial, rows[:, b:-1] @ T])
        size = np.linalg.norm(A, axis=0)
        known = size > 1e-9 * max(size.max(), 1e-300)
        A, y = A[:, known] / size[known], rows[:, -1]
        x, *_ = np.linalg.lstsq(A, y, rcond=1e-10)
        left = y - A @ x
        spread = np.sqrt(left @ left / max(min(len(y), count) - len(x), 1)) + 1e-300
        deviation = spread * np.sqrt(np.abs(np.linalg.pinv(A.T @ A).diagonal()))
        told = np.zeros(len(size))
        told[known] = np.clip(x / np.maximum(deviation, 1e-300), -1e3, 1e3)
        # Viscous and Coulomb friction take power, whatever else is told.
        evidence = told[0], told[3]
        strongest = max(evidence, key=abs)
        if strongest < -SURE and min(evidence) + max(evidence) < 0.0:
            signs[joint] = -1.0
        # A joint that carries little says nothing: what it turns may be its own rotor.
        share = abs(x[0]) / max(np.linalg.norm(y), 1e-300) if known[0] else 0.0
        if abs(told[0]) > SURE and share > CARRIED:
            gains[joint] = abs(x[0] / size[0])
    doubts = []
    turned = [name for name, sign in zip(names, signs, strict=True) if sign < 0.0]
    if turned:
        doubts.append(
            f'efforts of {", ".join(turned)} have the opposite sign of the torques that the motors '
            'apply; effort.scale is negative there'
        )
    usual = float(np.nanmedian(gains)) if np.isfinite(gains).any() else 1.0
    if not 1.0 / PLAUSIBLE < usual < PLAUSIBLE:
        doubts.append(
            f'efforts are about {usual:.3g} times the torques of the description: they seem to be '
            'in other units (currents, or a share of the largest torque). effort.scale turns them '
            'into Nm, as exactly as the masses of the description are right'
        )
        near = (gains > usual / PLAUSIBLE) & (gains < usual * PLAUSIBLE)
        return EffortScale(signs / np.where(near, gains, usual), tuple(doubts))
    return EffortScale(signs, tuple(doubts))
