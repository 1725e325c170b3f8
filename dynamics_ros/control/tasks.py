# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Linear tasks A x = b: pseudo-inverses, weighted tasks, and tasks in strict priority.

x is a joint velocity ([RD] 2.9), an acceleration ([RD] 3.9.1) or any vector ([RD] 3.10.2): for
accelerations A is the Jacobian and b the desired acceleration minus J-dot v. All functions
broadcast over leading axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, finite_vectors, real_array
from dynamics_ros.multibody.linear_systems import (
    Array,
    apply,
    largest_singular_value,
    pseudo_inverse,
    transposed,
)


@dataclass(frozen=True)
class Task:
    """Linear task A x = b, in the least-squares sense ([RD] eq. 2.213).

    Attributes:
        matrix: A (..., m, n).
        target: b (..., m).
    """

    matrix: Array
    target: Array

    def __post_init__(self) -> None:
        matrix = real_array('matrix', self.matrix, 'shape (..., m, n)')
        target = real_array('target', self.target, 'shape (..., m)')
        if matrix.ndim < 2 or target.ndim < 1 or target.shape[-1] != matrix.shape[-2]:
            problem = f'shape {target.shape} beside a matrix of shape {matrix.shape}'
            raise InvalidArgumentError('target', problem, 'one entry a row of the matrix')
        if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
            raise InvalidArgumentError('task', 'NaN or infinite entries', 'finite numbers')
        object.__setattr__(self, 'matrix', matrix)
        object.__setattr__(self, 'target', target)

    def error(self, x: ArrayLike) -> Array:
        """Residual b - A x (..., m) of a solution."""
        return np.asarray(self.target - apply(self.matrix, np.asarray(x, dtype=np.float64)))


def damped_pseudo_inverse(A: ArrayLike, damping: float) -> Array:
    """A^T (A A^T + damping^2 1)^-1 (..., n, m), [RD] eq. 2.207.

    It minimizes |A x - b|^2 + damping^2 |x|^2: near a singularity x stays small at the cost of an
    error. Without damping it is the pseudo-inverse.

    Args:
        A: (..., m, n).
        damping: in the unit of A; 0 or more.
    """
    check_not_negative('damping', damping)
    matrix = _matrix(A)
    if damping == 0.0:
        return pseudo_inverse(matrix)
    if not matrix.size:
        return transposed(matrix)
    # Uses the singular values, since the square of a small damping is lost in A A^T.
    U, values, Vt = np.linalg.svd(matrix, full_matrices=False)
    noise = np.finfo(float).eps * max(matrix.shape[-2:]) * values[..., :1]
    values = np.where(values > noise, values, 0.0)
    larger = np.maximum(values, damping)
    gains = values / larger / ((values / larger) ** 2 + (damping / larger) ** 2) / larger
    return np.asarray((transposed(Vt) * gains[..., None, :]) @ transposed(U))


def weighted_pseudo_inverse(
    A: ArrayLike, row_weights: ArrayLike | None = None, column_weights: ArrayLike | None = None
) -> Array:
    """Weighted pseudo-inverse A^+W (..., n, m).

    x = A^+W b minimizes the sum of row_weights (A x - b)^2 ([RD] eq. 2.215), and of all such x the
    sum of column_weights x^2.

    Args:
        A: (..., m, n).
        row_weights: (m), positive; None is 1.
        column_weights: (n), positive; None is 1.
    """
    matrix = _matrix(A)
    rows = _roots_of_weights('row_weights', row_weights, matrix.shape[-2])
    columns = _roots_of_weights('column_weights', column_weights, matrix.shape[-1])
    scaled = matrix * rows[:, None] / columns
    return np.asarray(pseudo_inverse(scaled) * rows / columns[:, None])


def null_space_projector(A: ArrayLike) -> Array:
    """Null-space projector N = 1 - A^+ A (..., n, n), symmetric, with A N = 0 ([RD] eq. 2.212)."""
    matrix = _matrix(A)
    return np.asarray(np.eye(matrix.shape[-1]) - pseudo_inverse(matrix) @ matrix)


def solve_task(task: Task, preferred: ArrayLike | None = None, damping: float = 0.0) -> Array:
    """Solve one task for x (..., n), [RD] eq. 2.194, 2.208, 2.210.

    Args:
        task: solved in the least-squares sense if it cannot be met.
        preferred: (..., n) x to follow in the null space of the task; None is 0, the smallest x.
        damping: as for ``damped_pseudo_inverse``.
    """
    x = apply(damped_pseudo_inverse(task.matrix, damping), task.target)
    if preferred is None:
        return x
    rest = finite_vectors('preferred', preferred, task.matrix.shape[-1])
    return np.asarray(x + apply(null_space_projector(task.matrix), rest))


def solve_equal(
    tasks: Sequence[Task], weights: Sequence[float] | None = None, damping: float = 0.0
) -> Array:
    """Solve tasks of the same priority for x (..., n), stacked ([RD] eq. 2.214, 2.215, 3.82).

    Args:
        tasks: at least one.
        weights: of the squared error of each task, positive; None is 1.
        damping: as for ``damped_pseudo_inverse``.
    """
    _check_tasks(tasks)
    roots = _roots_of_weights('weights', weights, len(tasks))
    leading = np.broadcast_shapes(
        *(task.matrix.shape[:-2] for task in tasks), *(task.target.shape[:-1] for task in tasks)
    )
    matrices, targets = [], []
    for task, root in zip(tasks, roots, strict=True):
        matrices.append(np.broadcast_to(root * task.matrix, leading + task.matrix.shape[-2:]))
        targets.append(np.broadcast_to(root * task.target, leading + task.target.shape[-1:]))
    stacked = Task(np.concatenate(matrices, axis=-2), np.concatenate(targets, axis=-1))
    return solve_task(stacked, damping=damping)


def solve_prioritized(tasks: Sequence[Task], damping: float = 0.0) -> Array:
    """Solve tasks in strict priority for x (..., n), the first has the highest.

    Each task is met as well as the earlier ones allow ([RD] eq. 2.220 and 3.83, algorithm 2). The
    rank tolerance of A N is relative to A: where earlier tasks leave no freedom, A N is rounding
    noise, which must not be inverted.

    Args:
        tasks: at least one.
        damping: as for ``damped_pseudo_inverse``, of every task.
    """
    _check_tasks(tasks)
    check_not_negative('damping', damping)
    n = tasks[0].matrix.shape[-1]
    x: Array = np.zeros(n)
    N: Array = np.eye(n)
    for task in tasks:
        reduced = task.matrix @ N
        inverse = pseudo_inverse(reduced, largest_singular_value(task.matrix))
        step = inverse if damping == 0.0 else damped_pseudo_inverse(reduced, damping)
        x = x + apply(N, apply(step, task.error(x)))
        N = N - inverse @ reduced
    return x


def _check_tasks(tasks: Sequence[Task]) -> None:
    sizes = {task.matrix.shape[-1] for task in tasks}
    if len(sizes) != 1:
        problem = f'{len(tasks)} tasks with {sorted(sizes)} columns'
        raise InvalidArgumentError('tasks', problem, 'tasks of the same number of columns')


def _matrix(A: ArrayLike) -> Array:
    matrix = real_array('A', A, 'shape (..., m, n)')
    if matrix.ndim < 2 or not np.isfinite(matrix).all():
        problem = f'shape {matrix.shape}' if matrix.ndim < 2 else 'NaN or infinite entries'
        raise InvalidArgumentError('A', problem, 'finite numbers of shape (..., m, n)')
    return matrix


def _roots_of_weights(argument: str, weights: ArrayLike | None, size: int) -> Array:
    if weights is None:
        return np.ones(size)
    values = real_array(argument, weights, f'shape ({size},)')
    if values.shape != (size,) or not (np.isfinite(values) & (values > 0.0)).all():
        raise InvalidArgumentError(argument, f'{values.tolist()}', f'{size} positive numbers')
    return np.asarray(np.sqrt(values))
