# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Weighted normal equations of all unknowns, from the rows of joints.

Unknowns are the parameters of all bodies, 10 each, the rotor inertias, and five of friction for
each joint: viscous, offset, Coulomb, dry friction at rest, and what dry friction grows by with the
load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bodies.base_parameters import BaseParameters
from .equations import Equations, FrictionShape

Array = NDArray[np.float64]

FRICTION = ('viscous', 'offset', 'coulomb', 'breakaway', 'load')


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the unknowns of a robot stand.

    Attributes:
        base: base parameters; those of all bodies and rotors come first.
        joints: number of joints.
    """

    base: BaseParameters
    joints: int

    @property
    def inertial(self) -> int:
        """Number of parameters of bodies and rotors."""
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
        """The unknowns of a joint's friction."""
        first = self.inertial + len(FRICTION) * joint
        return slice(first, first + len(FRICTION))

    def friction_of(self, x: Array) -> Array:
        """(joints, 5) of the unknowns."""
        return x[self.inertial :].reshape(self.joints, len(FRICTION))


def grams(equations: Equations, weights: Array, blocks: NDArray[np.bool_]) -> Array:
    """(nv, c, c) products of all columns, the effort's included, over some blocks.

    Args:
        equations: rows.
        weights: (nv, blocks) of the square of each row.
        blocks: (blocks) which are summed.
    """
    chosen = blocks[equations.block]
    rows = equations.rows[:, chosen]
    scaled = rows * weights[:, equations.block[chosen], np.newaxis]
    found: Array = scaled.transpose(0, 2, 1) @ rows
    return found


@dataclass(frozen=True, eq=False)
class Sums:
    """Products of all columns over some blocks, whatever the shape of friction is.

    Attributes:
        layout: of the unknowns.
        gram: (nv, c, c) as of ``grams``.
        H: (inertial, inertial), g: (inertial): of bodies and rotors, all joints together.
    """

    layout: Layout
    gram: Array
    H: Array
    g: Array

    @classmethod
    def of(cls, layout: Layout, gram: Array) -> Sums:
        """Those of products."""
        b, K = len(layout.base), layout.base.combination
        H = K.T @ gram[:, :b, :b].sum(axis=0) @ K
        return cls(layout, gram, H, K.T @ gram[:, :b, -1].sum(axis=0))

    def assembled(self, shape: FrictionShape) -> tuple[Array, Array, float]:
        """H, g, c of x^T H x / 2 - g^T x + c, half the weighted squares of all rows."""
        layout, gram = self.layout, self.gram
        b, K = len(layout.base), layout.base.combination
        H, g = np.zeros((layout.count, layout.count)), np.zeros(layout.count)
        inertial = slice(0, layout.inertial)
        H[inertial, inertial], g[inertial] = self.H, self.g
        T = shape.unknowns()
        for joint in range(layout.joints):
            first = layout.friction(joint).start
            own = slice(first, first + T.shape[1])
            cross = K.T @ (gram[joint, :b, b:-1] @ T)
            H[inertial, own] = cross
            H[own, inertial] = cross.T
            H[own, own] = T.T @ gram[joint, b:-1, b:-1] @ T
            g[own] = T.T @ gram[joint, b:-1, -1]
        return H, g, 0.5 * float(gram[:, -1, -1].sum())


def predictions(layout: Layout, rows: Array, x: Array, shape: FrictionShape) -> Array:
    """(nv, r) efforts that unknowns give for rows (nv, r, b + k + ...)."""
    b = len(layout.base)
    T = shape.unknowns()
    friction = layout.friction_of(x)[:, : T.shape[1]] @ T.T
    inertial = rows[..., :b] @ (layout.base.combination @ x[: layout.inertial])
    found: Array = inertial + np.einsum('jrk,jk->jr', rows[..., b : b + len(T)], friction)
    return found
