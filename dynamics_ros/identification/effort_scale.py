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
    gains, signs = np.full(layout.joints, np.nan), np.ones(layout.joints)
    for joint in range(layout.joints):
        # What a joint accelerates may be its own rotor, of which no description says anything, and
        # which in a light arm is more than all that it carries.
        A, y, count = _columns(layout, equations, described, joint)
        x, told = _regression(A, y, count)
        # Coulomb friction takes power, whatever else is told.
        evidence = told[0] if abs(told[0]) > SURE else told[-1], told[3]
        strongest = max(evidence, key=abs)
        if strongest < -SURE and min(evidence) + max(evidence) < 0.0:
            signs[joint] = -1.0
        # A joint that carries little says nothing.
        share = abs(x[0]) * np.linalg.norm(A[:, 0]) / max(np.linalg.norm(y), 1e-300)
        if abs(told[0]) > SURE and share > CARRIED:
            gains[joint] = abs(x[0])
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


def rotors_told(layout: Layout, equations: Equations, described: Array) -> Array:
    """(nv) rotor inertias that efforts surely have beside a description, else 0 [kg m^2 or kg].

    Args:
        layout, equations, described: as of ``effort_scale``; efforts are torques.
    """
    found = np.zeros(layout.joints)
    for joint in range(layout.joints):
        x, told = _regression(*_columns(layout, equations, described, joint))
        if told[-1] > SURE:
            found[joint] = x[-1]
    return found


def _columns(
    layout: Layout, equations: Equations, described: Array, joint: int
) -> tuple[Array, Array, int]:
    """Columns, efforts, and how many rows they were before they were compressed.

    Columns: torque of described bodies, viscous friction, offset, Coulomb friction, acceleration.
    """
    b = len(layout.base)
    inertial = layout.base.combination @ described[: layout.inertial]
    moving, every = ~equations.standing, equations.rows[joint]
    # At rest friction takes no power, and may be of any size.
    count = int(equations.counts[joint, moving].sum())
    rows = every[moving[equations.block]] if count >= LEAST else every
    rotor, T = layout.base.combination[:, layout.bodies + joint], SIMPLEST.unknowns()
    A = np.column_stack([rows[:, :b] @ inertial, rows[:, b : b + len(T)] @ T, rows[:, :b] @ rotor])
    return A, rows[:, -1], count


def _regression(A: Array, y: Array, count: int) -> tuple[Array, Array]:
    """Coefficients of columns, 0 of those that are empty, and how many deviations they are off 0.

    Args:
        A: (n, c) columns.
        y: (n) what they explain.
        count: rows before they were compressed.
    """
    size = np.linalg.norm(A, axis=0)
    known = size > 1e-9 * max(size.max(), 1e-300)
    A = A[:, known] / size[known]
    x, *_ = np.linalg.lstsq(A, y, rcond=1e-10)
    left = y - A @ x
    spread = np.sqrt(left @ left / max(min(len(y), count) - len(x), 1)) + 1e-300
    deviation = spread * np.sqrt(np.abs(np.linalg.pinv(A.T @ A).diagonal()))
    found, told = np.zeros((2, len(size)))
    found[known] = x / size[known]
    told[known] = np.clip(x / np.maximum(deviation, 1e-300), -1e3, 1e3)
    return found, told
