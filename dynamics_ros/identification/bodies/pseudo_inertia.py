# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Physically consistent inertial parameters: distances of bodies, and the best consistent fit.

The pseudo-inertia of a body is the second moment of its mass in homogeneous coordinates,

    P = [[S, h], [h^T, m]],   S = tr(I) / 2 - I,

linear in the ten parameters, and positive semidefinite for every distribution of positive mass
([Wensing2018]). The divergence tr(P0^-1 P) - log det(P0^-1 P) - 4 measures the distance of a body
from another one, independent of frames and units ([Lee2020]). The best fit is a semidefinite
program,

    min  x^T H x / 2 - g^T x + weight sum_bodies (tr(P0^-1 P) - log det P)   over x = (pi, others),

where the logarithm keeps the pseudo-inertias P positive definite, and some of the others must not
be negative. The objective is convex and self-concordant, so Newton's method with a line search
finds its minimum ([Nocedal2006] 3). Unknowns that would be negative are zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MIN_MASS, MIN_RADIUS = 0.05, 0.02
"""Least mass [kg] and radius of gyration [m] of a described body, so that its divergence exists."""


_PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def _basis() -> Array:
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for k in range(3):
        basis[1 + k, k, 3] = basis[1 + k, 3, k] = 1.0
    for k, (i, j) in enumerate(_PAIRS):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        basis[4 + k, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return basis


BASIS = _basis()
"""(10, 4, 4) pseudo-inertias of a unit of each parameter."""


def pseudo_inertia(parameters: Array) -> Array:
    """Pseudo-inertias (..., 4, 4) of parameters (..., 10)."""
    P: Array = np.tensordot(parameters, BASIS, axes=1)
    return P


def parameters_of(P: Array) -> Array:
    """Parameters (..., 10) of pseudo-inertias (..., 4, 4)."""
    S = P[..., :3, :3]
    inertia = np.trace(S, axis1=-2, axis2=-1)[..., np.newaxis, np.newaxis] * np.eye(3) - S
    entries = [
        P[..., 3, 3],
        *(P[..., k, 3] for k in range(3)),
        *(inertia[..., i, j] for i, j in _PAIRS),
    ]
    return np.stack(entries, axis=-1)


def given(robot: Robot) -> Array:
    """(bodies, 10) parameters of the description, unchanged."""
    return np.array([[float(x) for x in inertia.parameters()] for inertia in robot.model.inertias])


def described(robot: Robot) -> Array:
    """(bodies, 10) parameters of the description, made physically consistent where necessary."""
    return np.array([parameters_of(_made_consistent(P)) for P in pseudo_inertia(given(robot))])


def consistent(parameters: Array) -> bool:
    """Whether parameters (n, 10) are physically consistent, up to rounding."""
    P = pseudo_inertia(parameters)
    scale = np.trace(P, axis1=1, axis2=2)
    return bool((np.linalg.eigvalsh(P)[:, 0] >= -1e-9 * np.maximum(scale, 1e-9)).all())


def metric(parameters: Array) -> Array:
    """(n, 10, 10) Hessian of the divergence from bodies (n, 10), at these bodies."""
    inverse = np.linalg.inv(pseudo_inertia(parameters))
    turned = np.einsum('bij,kjl->bkil', inverse, BASIS)
    found: Array = np.einsum('bkij,blji->bkl', turned, turned)
    return found


def _made_consistent(P: Array) -> Array:
    mass = max(P[3, 3], MIN_MASS)
    center = P[:3, 3] / mass
    values, vectors = np.linalg.eigh(P[:3, :3] - mass * np.outer(center, center))
    spread = (vectors * np.maximum(values, mass * MIN_RADIUS**2)) @ vectors.T
    made = np.empty((4, 4))
    made[:3, :3] = spread + mass * np.outer(center, center)
    made[:3, 3] = made[3, :3] = mass * center
    made[3, 3] = mass
    return made


MAX_STEPS = 200
"""Largest number of Newton steps; about ten are usual."""

MIN_GAP = 1e-7
"""Gap of the objective, half a square of deviations, at which the method ends."""

NO_PROGRESS, ACCEPTED_GAP = 0.9, 0.1
"""Ratio to the previous gap from which there is no more progress; largest gap that is accepted
then, as of nearly inconsistent bodies with rounding errors."""

BOUNDARY_SHARE = 0.95
"""Largest share of the distance to the boundary in one step."""


class NoSolutionError(DynamicsRosError):
    """The solver found no solution."""


@dataclass(frozen=True, eq=False)
class Program:
    """The minimization problem.

    Attributes:
        H, g: (n, n) matrix and (n) vector of the quadratic objective.
        bodies: (bodies, 10) parameters of the reference P0; x begins with as many.
        weight: weight of the divergence.
        positive: (n) whether an entry of x must not be negative.
    """

    H: Array
    g: Array
    bodies: Array
    weight: float
    positive: NDArray[np.bool_]

    def value(self, x: Array) -> float:
        """Objective at x with physically consistent bodies."""
        P = pseudo_inertia(x[: self.bodies.size].reshape(-1, 10))
        pull = np.einsum('bij,bji->', np.linalg.inv(pseudo_inertia(self.bodies)), P)
        spread = np.linalg.slogdet(P)[1].sum()
        return float(0.5 * x @ self.H @ x - self.g @ x + self.weight * (pull - spread))


def solve(program: Program) -> Array:
    """The minimizer x (n), with bodies in units of the described ones.

    Raises:
        NoSolutionError: the method found no solution.
    """
    free = np.ones(len(program.g), dtype=bool)
    while True:
        x = np.zeros(len(free))
        x[free] = _newton(program, free)
        negative = program.positive & (x < 0.0)
        if not negative.any():
            return x
        free &= ~negative


def _newton(program: Program, free: NDArray[np.bool_]) -> Array:
    """The minimizer of some unknowns, which begin with those of bodies; the others are 0."""
    bodies, H, g = len(program.bodies), program.H[np.ix_(free, free)], program.g[free]
    own, weight = 10 * bodies, program.weight
    curvature = np.diag(H).copy()
    curvature[:own] += weight * metric(program.bodies).diagonal(axis1=1, axis2=2).ravel()
    scale = 1.0 / np.sqrt(np.maximum(curvature, 1e-300))
    H, g = H * np.outer(scale, scale), g * scale
    factors = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(program.bodies)))
    units = np.einsum('bij,kjl,bml->bkim', factors, BASIS, factors)
    units *= scale[:own].reshape(-1, 10)[..., np.newaxis, np.newaxis]
    traces = weight * units.trace(axis1=2, axis2=3).ravel()
    y = np.zeros(len(g))
    y[:own] = program.bodies.ravel() / scale[:own]
    before, root = np.inf, np.tile(np.eye(4), (bodies, 1, 1))
    for _ in range(MAX_STEPS):
        # Coordinates in which P = root^-1 root^-T is the identity.
        whitened = np.einsum('bij,bkjl,bml->bkim', root, units, root)
        slope, K = H @ y - g, H.copy()
        slope[:own] += traces - weight * whitened.trace(axis1=2, axis2=3).ravel()
        for body, block in enumerate(np.einsum('bkij,blij->bkl', whitened, whitened)):
            part = slice(10 * body, 10 * body + 10)
            K[part, part] += weight * block
        size = 1.0 / np.sqrt(np.diag(K))
        step = -size * np.linalg.solve(K * np.outer(size, size), size * slope)
        # Along a step all logarithms are of the form log(1 + share * rate).
        inside = np.einsum('bk,bkij->bij', step[:own].reshape(-1, 10), whitened)
        rates = np.linalg.eigvalsh(inside).ravel()
        share = min(1.0, BOUNDARY_SHARE / max(-float(rates.min(initial=0.0)), 1e-300))
        bend, gap = float(step @ H @ step), -float(slope @ step)
        while share > 1e-12:
            barrier = weight * float((share * rates - np.log1p(share * rates)).sum())
            if -share * gap + 0.5 * share**2 * bend + barrier <= -0.1 * share * gap:
                break
            share *= 0.5
        y = y + share * step
        # Update the factor instead of P, because a sum would lose small entries of P.
        root = np.linalg.inv(np.linalg.cholesky(np.eye(4) + share * inside)) @ root
        if gap < MIN_GAP or NO_PROGRESS * before < gap < ACCEPTED_GAP:
            return y * scale
        before = gap
    raise NoSolutionError(f'{MAX_STEPS} steps of Newton were not enough')
