# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of real bodies that fit equations best: a semidefinite program, and its fallback.

    min  x^T H x / 2 - g^T x + weight sum_bodies (tr(P0^-1 P) - log det P)   over x = (pi, others),

where the P are positive semidefinite by the logarithm, and some of the others not negative. With
clarabel it is a conic program; log det P is what stands on the diagonal of Z in
[[P, Z], [Z^T, diag Z]] >= 0. Without it Newton's method does: the objective is convex, and its
logarithms keep bodies possible, so that a primal-dual interior-point method for the signs is all
that it takes ([Nocedal2006] 19).
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

REGULARIZED = 1e-7
"""Of a second try; by default it is 1e-8."""

NEAR, FEASIBLE = 0.1, 1e-6
"""Gap of the objective, half a square of deviations, and error of the constraints that do."""


STEPS = 200
"""Of Newton's method at most; some thirty do."""

CENTERED, EXACT = 0.1, 1e-7
"""Part of the complementarity that a step aims at; what the objective may still lose."""

PROGRESS = 0.9
"""Of the gap before, from which on steps lead no nearer."""

TO_BORDER = 0.95
"""Part of the way to the border that a step takes at most."""


class NoSolutionError(DynamicsRosError):
    """A program that its solver gave up."""


@dataclass(frozen=True, eq=False)
class Program:
    """What is minimized.

    Attributes:
        H: (n, n), g: (n).
        bodies: (bodies, 10) parameters that the divergence is from; x begins with as many.
        weight: of the divergence.
        positive: (n) whether an entry of x may not be negative.
    """

    H: Array
    g: Array
    bodies: Array
    weight: float
    positive: NDArray[np.bool_]

    def value(self, x: Array) -> float:
        """The objective at x whose bodies are possible."""
        P = pseudo_inertia(x[: self.bodies.size].reshape(-1, 10))
        pull = np.einsum('bij,bji->', np.linalg.inv(pseudo_inertia(self.bodies)), P)
        spread = np.linalg.slogdet(P)[1].sum()
        return float(0.5 * x @ self.H @ x - self.g @ x + self.weight * (pull - spread))


def solve(program: Program, solver: str = 'auto') -> Array:
    """The x of least value.

    Args:
        program: what is minimized.
        solver: 'clarabel', 'newton', or 'auto' for the first where it is installed.

    Raises:
        NoSolutionError: the solver gave up.
    """
    if solver != 'newton':
        try:
            import clarabel
        except ImportError:
            if solver == 'clarabel':
                raise
        else:
            return _conic(program, clarabel)
    return _newton(program)


def _conic(program: Program, clarabel: Any) -> Array:
    """By clarabel, on scaled unknowns counted from the minimum without cones.

    From there the objective is small, so that its relative tolerance says something.
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
    # Logarithms as unknowns of their own, behind the triangles that they are of.
    q = np.concatenate([linear * scale, np.zeros(extra)])
    H = np.zeros((n + extra, n + extra))
    H[:n, :n] = program.H * np.outer(scale, scale)
    chosen = np.flatnonzero(program.positive)
    rows = np.zeros((len(chosen), n + extra))
    rows[np.arange(len(chosen)), chosen] = -scale[chosen]
    A, b = [scipy.sparse.csc_matrix(rows)], [center[chosen]]
    cones = [clarabel.NonnegativeConeT(len(chosen))]
    for body in range(bodies):
        # In units in which the described pseudo-inertia is the identity.
        part = slice(10 * body, 10 * body + 10)
        units = factors[body] @ BASIS @ factors[body].T
        first = n + 14 * body
        M = np.zeros((n + extra, 8, 8))
        M[part, :4, :4] = units * scale[part, np.newaxis, np.newaxis]
        constant = np.zeros((8, 8))
        constant[:4, :4] = np.tensordot(center[part], units, axes=1)
        for k, (row, column) in enumerate(zip(*_LOWER, strict=True)):
            i, j = int(row), int(column)
            M[first + k, i, 4 + j] = M[first + k, 4 + j, i] = 1.0
            if i == j:
                M[first + k, 4 + i, 4 + i] = 1.0
        upper = [(i, j, 1.0 if i == j else np.sqrt(2.0)) for j in range(8) for i in range(j + 1)]
        A.append(scipy.sparse.csc_matrix(-np.array([w * M[:, i, j] for i, j, w in upper])))
        b.append(np.array([w * constant[i, j] for i, j, w in upper]))
        cones.append(clarabel.PSDTriangleConeT(8))
        for i, diagonal in enumerate(np.flatnonzero(_DIAGONAL).tolist()):
            q[first + 10 + i] = -program.weight
            logarithm = scipy.sparse.csc_matrix(
                ([-1.0, -1.0], ([0, 2], [first + 10 + i, first + diagonal])), (3, n + extra)
            )
            A.append(logarithm)
            b.append(np.array([0.0, 1.0, 0.0]))
            cones.append(clarabel.ExponentialConeT())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    problem = (
        scipy.sparse.csc_matrix(np.triu(H)),
        q,
        scipy.sparse.vstack(A, format='csc'),
        np.concatenate(b),
    )
    for regularization in (settings.static_regularization_constant, REGULARIZED):
        settings.static_regularization_constant = regularization
        solution = clarabel.DefaultSolver(*problem, cones, settings).solve()
        gap = abs(solution.obj_val - solution.obj_val_dual)
        # Without progress it may be as near as rounding lets it come.
        if 'Solved' in str(solution.status) or (gap < NEAR and solution.r_prim < FEASIBLE):
            return center + np.asarray(solution.x[:n]) * scale
    raise NoSolutionError(
        f'no possible bodies explain the efforts (clarabel: {solution.status}); look at the units '
        'and signs of efforts and positions'
    )


def _newton(program: Program) -> Array:
    """By steps of a primal-dual interior-point method, bodies in units of the described ones."""
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
    for _ in range(STEPS):
        # In the axes and units of P itself, which is root^-1 root^-T.
        whitened = np.einsum('bij,bkjl,bml->bkim', root, units, root)
        aim = CENTERED * float(dual @ y[chosen]) / max(len(chosen), 1)
        slope, K = H @ y - g, H.copy()
        slope[:own] += traces - weight * whitened.trace(axis1=2, axis2=3).ravel()
        for body, block in enumerate(np.einsum('bkij,blij->bkl', whitened, whitened)):
            part = slice(10 * body, 10 * body + 10)
            K[part, part] += weight * block
        K[chosen, chosen] += dual / y[chosen]
        slope[chosen] -= aim / y[chosen]
        size = 1.0 / np.sqrt(np.diag(K))
        step = -size * np.linalg.solve(K * np.outer(size, size), size * slope)
        # Along a step all logarithms are those of numbers 1 + share * rate.
        inside = np.einsum('bk,bkij->bij', step[:own].reshape(-1, 10), whitened)
        rates = np.concatenate([np.linalg.eigvalsh(inside).ravel(), step[chosen] / y[chosen]])
        barriers = np.concatenate([np.full(4 * bodies, weight), np.full(len(chosen), aim)])
        share = _within(rates)
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
        # A sum would lose what of P is small.
        root = np.linalg.inv(np.linalg.cholesky(np.eye(4) + share * inside)) @ root
        dual = dual + _within(change / dual) * change
        # Where bodies are hardly possible rounding keeps it from coming nearer.
        if gap < EXACT or (PROGRESS * before < gap < NEAR and aim < EXACT):
            return y * scale
        before = gap
    raise NoSolutionError(f'{STEPS} steps of Newton were not enough')


def _within(rates: Array) -> float:
    """The largest share, 1 at most, at which 1 + share * rates are well above zero."""
    fastest = max(-float(rates.min(initial=0.0)), 1e-300)
    return min(1.0, TO_BORDER / fastest)
