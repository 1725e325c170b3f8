# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of real bodies that fit equations best: a semidefinite program, and its fallback.

    min  x^T H x / 2 - g^T x + weight sum_bodies (tr(P0^-1 P) - log det P)   over x = (pi, others),

where the P are positive semidefinite by the logarithm, and some of the others not negative. With
clarabel it is a conic program; log det P is what stands on the diagonal of Z in
[[P, Z], [Z^T, diag Z]] >= 0. Without it the pseudo-inertias are written as products of triangular
matrices with positive diagonals ([Rucker2022]), and SciPy searches for those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError

from .pseudo_inertia import BASIS, metric, parameters_of, pseudo_inertia

Array = NDArray[np.float64]

_LOWER = np.tril_indices(4)
_DIAGONAL = _LOWER[0] == _LOWER[1]

REGULARIZED = 1e-7
"""Of a second try; by default it is 1e-8."""

NEAR, FEASIBLE = 0.1, 1e-6
"""Gap of the objective, half a square of deviations, and error of the constraints that do."""


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
        solver: 'clarabel', 'scipy', or 'auto' for the first where it is installed.

    Raises:
        NoSolutionError: the solver gave up.
    """
    if solver != 'scipy':
        try:
            import clarabel
        except ImportError:
            if solver == 'clarabel':
                raise
        else:
            return _conic(program, clarabel)
    return _log_cholesky(program)


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
    raise NoSolutionError(f'clarabel: {solution.status}')


def _log_cholesky(program: Program) -> Array:
    """By SciPy, over logarithms of what is positive and entries of triangular matrices."""
    bodies, n = len(program.bodies), len(program.g)
    whole = 10 * bodies
    start = np.linalg.cholesky(pseudo_inertia(program.bodies))
    factors = np.linalg.inv(start)
    positive = program.positive[whole:]
    curvature = np.sqrt(np.diag(program.H)[whole:])
    size = 1.0 / np.maximum(curvature, 1e-12)

    def unpacked(theta: Array) -> tuple[Array, Array]:
        """x, and its derivative by theta."""
        x, J = np.empty(n), np.zeros((n, n))
        for body in range(bodies):
            part = slice(10 * body, 10 * body + 10)
            U = np.zeros((4, 4))
            U[_LOWER] = np.where(_DIAGONAL, np.exp(np.minimum(theta[part], 30.0)), theta[part])
            C = start[body] @ U
            x[part] = parameters_of(C @ C.T)
            for k, (i, j) in enumerate(zip(*_LOWER, strict=True)):
                dU = np.zeros((4, 4))
                dU[i, j] = U[i, j] if _DIAGONAL[k] else 1.0
                dC = start[body] @ dU
                J[part, 10 * body + k] = parameters_of(dC @ C.T + C @ dC.T)
        rest = theta[whole:]
        grown = np.exp(np.minimum(rest, 30.0))
        x[whole:] = size * np.where(positive, grown, rest)
        J[whole:, whole:] = np.diag(size * np.where(positive, grown, 1.0))
        return x, J

    def value(theta: Array) -> tuple[float, Array]:
        x, J = unpacked(theta)
        logs = np.zeros(n)
        logs[:whole] = np.tile(_DIAGONAL, bodies) * 2.0
        pull = np.zeros(n)
        inverses = np.einsum('bji,bjk->bik', factors, factors)
        pull[:whole] = np.einsum('bij,kji->bk', inverses, BASIS).ravel()
        slope = program.H @ x - program.g + program.weight * pull
        cost = 0.5 * x @ program.H @ x - program.g @ x
        cost += program.weight * (pull @ x - logs @ theta)
        return float(cost), J.T @ slope - program.weight * logs

    def curve(theta: Array) -> Array:
        _, J = unpacked(theta)
        found = J.T @ program.H @ J
        trace = np.concatenate([np.ones(whole), np.zeros(n - whole)])
        return found + np.diag(2.0 * program.weight * trace + 1e-9)

    begin = np.zeros(n)
    begin[whole:] = np.where(positive, np.log(0.1), 0.0)
    found = scipy.optimize.minimize(
        value, begin, jac=True, hess=curve, method='trust-exact', options={'maxiter': 400}
    )
    return unpacked(found.x)[0]
