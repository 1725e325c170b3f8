# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Weighted normal equations of all unknowns of an identification.

The unknowns are the ten parameters of each body, the rotor inertias, and five friction coefficients
of each joint: viscous, offset, Coulomb, dry friction at rest, and load coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bodies.base_parameters import BaseParameters
from .equations import Equations

Array = NDArray[np.float64]

FRICTION = ('viscous', 'offset', 'coulomb', 'breakaway', 'load')


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of the unknowns of a robot in one vector.

    Attributes:
        base: base parameters, as combinations of the parameters of bodies and rotors.
        joints: number of joints.
    """

    base: BaseParameters
    joints: int

    @property
    def inertial(self) -> int:
        """Number of parameters of bodies and rotors, which come first."""
        return int(self.base.combination.shape[1])

    @property
    def bodies(self) -> int:
        """Number of parameters of bodies."""
        return self.inertial - self.joints

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return self.inertial + len(FRICTION) * self.joints

    def friction(self, joint: int) -> slice:
        """Positions of the friction coefficients of a joint."""
        first = self.inertial + len(FRICTION) * joint
        return slice(first, first + len(FRICTION))

    def friction_of(self, x: Array) -> Array:
        """(joints, 5) friction coefficients of a vector of unknowns."""
        return x[self.inertial :].reshape(self.joints, len(FRICTION))


def grams(equations: Equations, weights: Array, blocks: NDArray[np.bool_]) -> Array:
    """(nv, c, c) weighted Gram matrices of all columns, including the effort, over some blocks.

    Args:
        equations: the equations.
        weights: (nv, blocks) weights of squared rows.
        blocks: (blocks) which blocks are summed.
    """
    chosen = blocks[equations.block]
    rows = equations.rows[:, chosen]
    scaled = rows * weights[:, equations.block[chosen], np.newaxis]
    found: Array = scaled.transpose(0, 2, 1) @ rows
    return found


def normal_system(
    layout: Layout, equations: Equations, weights: Array
) -> tuple[Array, Array, float]:
    """H, g, c of x^T H x / 2 - g^T x + c, half the weighted squared residuals of all rows.

    Args:
        layout: layout of the unknowns.
        equations: the equations.
        weights: (nv, blocks) weights of squared rows.
    """
    gram = grams(equations, weights, np.ones(len(equations.begins), dtype=bool))
    b, K = len(layout.base), layout.base.combination
    H, g = np.zeros((layout.count, layout.count)), np.zeros(layout.count)
    inertial = slice(0, layout.inertial)
    H[inertial, inertial] = K.T @ gram[:, :b, :b].sum(axis=0) @ K
    g[inertial] = K.T @ gram[:, :b, -1].sum(axis=0)
    for joint in range(layout.joints):
        own = layout.friction(joint)
        cross = K.T @ gram[joint, :b, b:-1]
        H[inertial, own], H[own, inertial] = cross, cross.T
        H[own, own], g[own] = gram[joint, b:-1, b:-1], gram[joint, b:-1, -1]
    return H, g, 0.5 * float(gram[:, -1, -1].sum())


def predictions(layout: Layout, rows: Array, x: Array) -> Array:
    """(nv, r) modelled efforts of rows (nv, r, b + 5 + ...)."""
    b = len(layout.base)
    inertial = rows[..., :b] @ (layout.base.combination @ x[: layout.inertial])
    found: Array = inertial + np.einsum(
        'jrk,jk->jr', rows[..., b : b + len(FRICTION)], layout.friction_of(x)
    )
    return found
