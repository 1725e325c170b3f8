# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Physically consistent parameters with the best fit: a semidefinite program.

    min  x^T H x / 2 - g^T x + weight sum_bodies (tr(P0^-1 P) - log det P)   over x = (pi, others),

where the logarithm keeps the pseudo-inertias P positive definite, and some of the others must not
be negative. clarabel solves it as a conic program, with log det P from the diagonal of Z in [[P,
Z], [Z^T, diag Z]] >= 0. Without clarabel, a primal-dual interior-point method solves it: the
objective is convex, and its logarithms keep bodies consistent, so only the signs need barriers
([Nocedal2006] 19).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError

from .pseudo_inertia import BASIS, metric, pseudo_inertia

Array = NDArray[np.float64]

_LOWER = np.tril_indices(4)
_DIAGONAL = _LOWER[0] == _LOWER[1]
_OF_Z = (4 + _LOWER[1]) * (5 + _LOWER[1]) // 2 + _LOWER[0]
"""Rows of Z, then those of its diagonal, in the upper triangle of [[P, Z], [Z^T, diag Z]]."""
_OF_DIAGONAL = (4 + np.arange(4)) * (5 + np.arange(4)) // 2 + 4 + np.arange(4)

SECOND_REGULARIZATION = 1e-7
"""Regularization of clarabel for a second attempt; the default is 1e-8."""

ACCEPTED_GAP, ACCEPTED_ERROR = 0.1, 1e-6
"""Accepted gap of the objective, which is half a square of deviations; accepted constraint
error."""


MAX_STEPS = 200
"""Largest number of steps of the interior-point method; about thirty are usual."""

CENTRING, MIN_GAP = 0.1, 1e-7
"""Centring parameter of a step; accepted gap of the objective."""

NO_PROGRESS = 0.9
"""Ratio to the previous gap from which there is no more progress."""

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


def solve(program: Program, solver: str = 'auto') -> Array:
    """The minimizer x (n).

    Args:
        program: the problem.
        solver: 'clarabel', 'newton', or 'auto' for clarabel if it is installed.

    Raises:
        NoSolutionError: the solver found no solution.
    """
    if solver != 'newton':
        try:
            import clarabel
        except ImportError:
            if solver == 'clarabel':
                raise
        else:
            return _solve_conic(program, clarabel)
    return _solve_newton(program)


def _solve_conic(program: Program, clarabel: Any) -> Array:
    """Solve with clarabel, in scaled unknowns relative to the minimum without cones.

    Relative to this minimum the objective is small, so the relative tolerance of clarabel is
    meaningful.
    """
    n, bodies = len(program.g), len(program.bodies)
    own, extra = 10 * bodies, 14 * bodies
    parabola = np.zeros((n, n))
    for body, block in enumerate(metric(program.bodies)):
        part = slice(10 * body, 10 * body + 10)
        parabola[part, part] = program.weight * block
    touched = program.H + parabola
    scale = 1.0 / np.sqrt(np.diag(touched))
    start = np.zeros(n)
    start[:own] = program.bodies.ravel()
    whole = (touched * np.outer(scale, scale), scale * (program.g + parabola @ start))
    center = scale * np.linalg.solve(*whole)
    factors = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(program.bodies)))
    inverses = factors.transpose(0, 2, 1) @ factors
    linear = program.H @ center - program.g
    linear[:own] += program.weight * np.einsum('bij,kji->bk', inverses, BASIS).ravel()
    # Additional unknowns: the entries of the triangles Z, then the logarithms of their diagonals.
    q = np.concatenate([linear * scale, np.zeros(extra)])
    H = np.zeros((n + extra, n + extra))
    H[:n, :n] = program.H * np.outer(scale, scale)
    chosen = np.flatnonzero(program.positive)
    rows = np.zeros((len(chosen), n + extra))
    rows[np.arange(len(chosen)), chosen] = -scale[chosen]
    A, b = [rows], [center[chosen]]
    cones = [clarabel.NonnegativeConeT(len(chosen))]
    # In units in which the described pseudo-inertia is the identity.
    units = np.einsum('bij,kjl,bml->bkim', factors, BASIS, factors, optimize=True)
    constants = np.einsum('bk,bkij->bij', center[:own].reshape(-1, 10), units)
    units *= scale[:own].reshape(-1, 10)[..., np.newaxis, np.newaxis]
    i, j = np.triu_indices(4)
    # The upper triangle of an 8 x 8 matrix column by column; P is its first block.
    of_P, share = j * (j + 1) // 2 + i, np.where(i == j, 1.0, np.sqrt(2.0))
    for body in range(bodies):
        part, first = slice(10 * body, 10 * body + 10), n + 14 * body
        rows, constant = np.zeros((36, n + extra)), np.zeros(36)
        rows[of_P, part] = -share[:, np.newaxis] * units[body][:, i, j].T
        constant[of_P] = share * constants[body][i, j]
        rows[_OF_Z, first + np.arange(10)] = -np.sqrt(2.0)
        rows[_OF_DIAGONAL, first + np.flatnonzero(_DIAGONAL)] = -1.0
        A.append(rows)
        b.append(constant)
        cones.append(clarabel.PSDTriangleConeT(8))
        for k, diagonal in enumerate(np.flatnonzero(_DIAGONAL).tolist()):
            q[first + 10 + k] = -program.weight
            rows = np.zeros((3, n + extra))
            rows[0, first + 10 + k] = rows[2, first + diagonal] = -1.0
            A.append(rows)
            b.append(np.array([0.0, 1.0, 0.0]))
            cones.append(clarabel.ExponentialConeT())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    problem = (
        scipy.sparse.csc_matrix(np.triu(H)),
        q,
        scipy.sparse.csc_matrix(np.concatenate(A)),
        np.concatenate(b),
    )
    for regularization in (settings.static_regularization_constant, SECOND_REGULARIZATION):
        settings.static_regularization_constant = regularization
        solution = clarabel.DefaultSolver(*problem, cones, settings).solve()
        gap = abs(solution.obj_val - solution.obj_val_dual)
        # Without progress the solution may be as accurate as rounding allows.
        if 'Solved' in str(solution.status) or (
            gap < ACCEPTED_GAP and solution.r_prim < ACCEPTED_ERROR
        ):
            return center + np.asarray(solution.x[:n]) * scale
    raise NoSolutionError(
        f'no possible bodies explain the efforts (clarabel: {solution.status}); look at the units '
        'and signs of efforts and positions'
    )


def _solve_newton(program: Program) -> Array:
    """Solve by a primal-dual interior-point method, with bodies in units of the described ones."""
    bodies, n = len(program.bodies), len(program.g)
    own, weight, chosen = 10 * bodies, program.weight, np.flatnonzero(program.positive)
    curvature = np.diag(program.H).copy()
    curvature[:own] += weight * metric(program.bodies).diagonal(axis1=1, axis2=2).ravel()
    scale = 1.0 / np.sqrt(np.maximum(curvature, 1e-300))
    H, g = program.H * np.outer(scale, scale), program.g * scale
    factors = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(program.bodies)))
    units = np.einsum('bij,kjl,bml->bkim', factors, BASIS, factors)
    units *= scale[:own].reshape(-1, 10)[..., np.newaxis, np.newaxis]
    traces = weight * units.trace(axis1=2, axis2=3).ravel()
    y = np.ones(n)
    y[:own] = program.bodies.ravel() / scale[:own]
    before, dual, root = np.inf, np.ones(len(chosen)), np.tile(np.eye(4), (bodies, 1, 1))
    for _ in range(MAX_STEPS):
        # Coordinates in which P = root^-1 root^-T is the identity.
        whitened = np.einsum('bij,bkjl,bml->bkim', root, units, root)
        aim = CENTRING * float(dual @ y[chosen]) / max(len(chosen), 1)
        slope, K = H @ y - g, H.copy()
        slope[:own] += traces - weight * whitened.trace(axis1=2, axis2=3).ravel()
        for body, block in enumerate(np.einsum('bkij,blij->bkl', whitened, whitened)):
            part = slice(10 * body, 10 * body + 10)
            K[part, part] += weight * block
        K[chosen, chosen] += dual / y[chosen]
        slope[chosen] -= aim / y[chosen]
        size = 1.0 / np.sqrt(np.diag(K))
        step = -size * np.linalg.solve(K * np.outer(size, size), size * slope)
        # Along a step all logarithms are of the form log(1 + share * rate).
        inside = np.einsum('bk,bkij->bij', step[:own].reshape(-1, 10), whitened)
        rates = np.concatenate([np.linalg.eigvalsh(inside).ravel(), step[chosen] / y[chosen]])
        barriers = np.concatenate([np.full(4 * bodies, weight), np.full(len(chosen), aim)])
        share = _step_length(rates)
        bend = float(step @ H @ step)
        straight = float(slope @ step) + float(barriers @ rates)
        while share > 1e-12:
            logarithms = float(barriers @ np.log1p(share * rates))
            gain = share * straight + 0.5 * share**2 * bend - logarithms
            if gain <= 0.1 * share * float(slope @ step):
                break
            share *= 0.5
        gap = -float(slope @ step) + float(dual @ y[chosen])
        change = (aim - dual * (y[chosen] + step[chosen])) / y[chosen]
        y = y + share * step
        # Update the factor instead of P, because a sum would lose small entries of P.
        root = np.linalg.inv(np.linalg.cholesky(np.eye(4) + share * inside)) @ root
        dual = dual + _step_length(change / dual) * change
        # For nearly inconsistent bodies, rounding errors limit the progress.
        if gap < MIN_GAP or (NO_PROGRESS * before < gap < ACCEPTED_GAP and aim < MIN_GAP):
            return y * scale
        before = gap
    raise NoSolutionError(f'{MAX_STEPS} steps of Newton were not enough')


def _step_length(rates: Array) -> float:
    """The largest share up to 1 for which all 1 + share * rates stay well above zero."""
    fastest = max(-float(rates.min(initial=0.0)), 1e-300)
    return min(1.0, BOUNDARY_SHARE / fastest)
