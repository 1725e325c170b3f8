# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Information of a motion about the parameters of a robot, with derivatives.

    f = -log det M + WORST log cond Y^T Y,   M = sum over times of Y^T S^-2 Y

for the regressor Y of base parameters and standard deviations S of efforts. The derivative of f by
the regressor is a matrix W of the same shape. Then sum_ik W_ik dY_ik is the derivative of the
inverse dynamics of bodies whose inertial parameters are row i of W. The largest and smallest
eigenvalues are replaced by power means, which are smooth where two eigenvalues meet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

CONDITION_WEIGHT = 30.0
"""Weight of the condition number; the determinant alone neglects the least known parameters."""

POWER = 6
"""Exponent of the power means of eigenvalues."""


class Objective:
    """The objective f of one robot; smaller values mean more information."""

    def __init__(self, robot: Robot, base: BaseParameters, noise: Array, sizes: Array) -> None:
        """Prepare the kernels.

        Args:
            robot: robot with a fixed base and joints of one coordinate.
            base: its base parameters (b).
            noise: (nv) standard deviations of efforts [Nm or N].
            sizes: (b) scales of base parameters, for determinants near one.
        """
        self._robot, self._base, self._noise, self._sizes = robot, base, noise, sizes
        self._derivatives = robot.kernel('inverse_dynamics_derivatives', parameters='inertias')

    def value(self, q: Array, v: Array, a: Array) -> float:
        """f of a motion (n, nv each); inf if it does not identify all parameters."""
        return self._value_and_derivative(self._regressor(q, v, a))[0]

    def gradient(self, q: Array, v: Array, a: Array) -> tuple[float, Array, Array, Array]:
        """f and its derivatives by q, v, a (n, nv each)."""
        value, W = self._value_and_derivative(self._regressor(q, v, a))
        n, nv = q.shape
        bodies = 10 * len(self._robot.body_names)
        whole = np.zeros((n, nv, bodies + nv))
        whole[..., self._base.chosen] = W
        inertias = np.zeros((n, nv + 1, bodies // 10, 10))
        inertias[:, :nv] = whole[..., :bodies].reshape(n, nv, -1, 10)
        # Kernels reject negative masses, so a constant is added to all masses and subtracted below.
        more = 1.0 - min(0.0, float(inertias[..., 0].min()))
        inertias[..., 0] += more
        states = (np.repeat(x[:, np.newaxis], nv + 1, axis=1) for x in (q, v, a))
        joints = np.arange(nv)
        # Only torque i of the bodies of row i is used.
        slopes = [
            (d[:, joints, joints] - d[:, nv, joints]).sum(axis=1)
            for d in self._derivatives(*states, inertias)
        ]
        slopes[2] += whole[:, joints, bodies + joints]
        return value, slopes[0], slopes[1], slopes[2]

    def _regressor(self, q: Array, v: Array, a: Array) -> Array:
        found: Array = self._base.columns(self._robot.regressor(q, v, a), a)
        return found

    def _value_and_derivative(self, Y: Array) -> tuple[float, Array]:
        """f of a regressor (n, nv, b), and its derivative by the regressor."""
        Z = Y / self._noise[:, np.newaxis] / self._sizes
        M, plain = (np.einsum('nib,nic->bc', X, X, optimize=True) for X in (Z, Y))
        sign, logarithm = np.linalg.slogdet(M)
        values, vectors = np.linalg.eigh(plain)
        if sign <= 0.0 or values[0] <= 0.0:
            return np.inf, np.zeros_like(Y)
        highs, lows = (values / values[-1]) ** POWER, (values[0] / values) ** POWER
        spread = np.log(values[-1] / values[0]) + np.log(highs.sum() * lows.sum()) / POWER
        weights = (highs / highs.sum() - lows / lows.sum()) / values
        W = -2.0 * (Z @ np.linalg.inv(M)) / self._noise[:, np.newaxis] / self._sizes
        W += 2.0 * CONDITION_WEIGHT * (Y @ ((vectors * weights) @ vectors.T))
        return -float(logarithm) + CONDITION_WEIGHT * float(spread), W
