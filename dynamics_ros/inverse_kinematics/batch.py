# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of several targets or seeds, with one result for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_options, real_array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .result import InverseKinematicsResult
from .solve import SolveOptions, solve


@dataclass(frozen=True, eq=False)
class InverseKinematicsResults:
    """Results of several inverse kinematics problems; leading axes are those of the problems.

    The attributes except ``elapsed`` have the meaning of those of `InverseKinematicsResult`.

    Attributes:
        q: (..., nq) solutions.
        success: (...) bool.
        position_error: (...) [m].
        rotation_error: (...) [rad].
        iterations: (...).
        reason: (...) strings.
        elapsed: total time of all problems [s].
    """

    q: NDArray[np.float64]
    success: NDArray[np.bool_]
    position_error: NDArray[np.float64]
    rotation_error: NDArray[np.float64]
    iterations: NDArray[np.int64]
    reason: NDArray[np.str_]
    elapsed: float


def _axes(argument: str, value: ArrayLike, expected: str) -> int:
    """Number of axes of an argument, with a fast path for arrays."""
    if isinstance(value, np.ndarray):
        return value.ndim
    return real_array(argument, value, expected).ndim


def solve_each(
    robot: RigidBodySystem,
    target: ArrayLike,
    frame: str | Sequence[str],
    seed: ArrayLike | None,
    options: SolveOptions,
) -> InverseKinematicsResult | InverseKinematicsResults:
    """Result of `solve`, or results for all leading axes of the target and the seed.

    Args:
        robot: the robot.
        target: (..., 4, 4) target poses of a frame, or (..., m, 4, 4) of a list of m frames.
        frame: name of a frame, or a list of names.
        seed: (..., nq) first starts; None for the centre of the ranges.
        options: options of `solve`; ``timeout`` applies to each problem.

    Raises:
        InvalidArgumentError: as for `solve`, or the leading axes cannot be broadcast.
        UnknownOptionError: `solve` does not have an option.
    """
    check_options(solve, options)
    own = 2 if isinstance(frame, str) else 3
    poses = 'poses of shape (..., 4, 4)'
    single = _axes('target', target, poses) <= own
    if single and (seed is None or _axes('seed', seed, 'configurations of shape (..., nq)') <= 1):
        return solve(robot, target, frame, seed, **options)
    targets = np.asarray(target)
    seeds = robot.neutral()[:0] if seed is None else np.asarray(seed)
    try:
        leading = np.broadcast_shapes(targets.shape[:-own], seeds.shape[:-1])
    except ValueError:
        problem = f'leading axes {seeds.shape[:-1]} beside those of the target'
        raise InvalidArgumentError('seed', problem, f'{targets.shape[:-own]}') from None
    targets = np.broadcast_to(targets, leading + targets.shape[-own:])
    seeds = np.broadcast_to(seeds, leading + seeds.shape[-1:])
    answers = [
        solve(robot, targets[i].copy(), frame, None if seed is None else seeds[i].copy(), **options)
        for i in np.ndindex(leading)
    ]

    def gathered(values: list[Any], kind: type, *shape: int) -> Any:
        return np.array(values, dtype=kind).reshape(leading + shape)

    return InverseKinematicsResults(
        gathered([x.q for x in answers], float, robot.nq),
        gathered([x.success for x in answers], bool),
        gathered([x.position_error for x in answers], float),
        gathered([x.rotation_error for x in answers], float),
        gathered([x.iterations for x in answers], int),
        gathered([x.reason for x in answers], str),
        sum(x.elapsed for x in answers),
    )
