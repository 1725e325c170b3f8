# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of several targets or seeds, with one result for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import POSE, check_options, pose_matrices, real_array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

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


class EitherResult(Protocol):
    """Type of an `InverseKinematicsResult` or `InverseKinematicsResults`.

    The shape of the target decides which one ``Robot.inverse_kinematics`` returns. What is a number
    in the first one is an array in the second one; ``limit_margin`` and ``manipulability`` are
    attributes of the first one only.
    """

    @property
    def q(self) -> NDArray[np.float64]:
        """(..., nq) solutions."""

    @property
    def success(self) -> Any:
        """Whether forward kinematics and limits confirmed q."""

    @property
    def position_error(self) -> Any:
        """[m]."""

    @property
    def rotation_error(self) -> Any:
        """[rad]."""

    @property
    def iterations(self) -> Any:
        """Total number of steps of all starts."""

    @property
    def reason(self) -> Any:
        """'converged', 'timed_out', 'unreachable', 'stalled' or 'colliding'."""

    @property
    def elapsed(self) -> float:
        """[s]."""

    @property
    def limit_margin(self) -> float:
        """Distance to the nearest joint limit."""

    @property
    def manipulability(self) -> float:
        """Manipulability [Yoshikawa]."""


def _axes(argument: str, value: ArrayLike, expected: str) -> int:
    """Number of axes of an argument, with a fast path for arrays."""
    if isinstance(value, np.ndarray):
        return value.ndim
    return real_array(argument, value, expected).ndim


def solve_each(
    robot: RigidBodySystem,
    target: ArrayLike,
    frame: str | Sequence[str] | None,
    seed: ArrayLike | None,
    options: SolveOptions,
) -> EitherResult:
    """Result of `solve`, or results for all leading axes of the target and the seed.

    Args:
        robot: the robot.
        target: (..., 4, 4) target poses of a frame, or (..., m, 4, 4) of a list of m frames, also
            in the other forms of ``pose_matrices``.
        frame: name of a frame, or a list of names; None is ``robot.tool_frame``.
        seed: (..., nq) first starts; None for the centre of the ranges.
        options: options of `solve`; ``timeout`` applies to each problem.

    Raises:
        InvalidArgumentError: as for `solve`, or the leading axes cannot be broadcast.
        UnknownOptionError: `solve` does not have an option.
    """
    check_options(solve, options)
    if frame is None:
        frame = robot.tool_frame
    axes_of_one = 2 if isinstance(frame, str) else 3
    if axes_of_one == 3 and isinstance(target, (list, tuple)):
        target = [pose_matrices('target', one) for one in target]
    target = pose_matrices('target', target)
    single = _axes('target', target, POSE) <= axes_of_one
    if single and (seed is None or _axes('seed', seed, 'configurations of shape (..., nq)') <= 1):
        return solve(robot, target, frame, seed, **options)
    targets = np.asarray(target)
    seeds = robot.neutral()[:0] if seed is None else np.asarray(seed)
    try:
        leading = np.broadcast_shapes(targets.shape[:-axes_of_one], seeds.shape[:-1])
    except ValueError:
        problem = f'leading axes {seeds.shape[:-1]} beside those of the target'
        raise InvalidArgumentError('seed', problem, f'{targets.shape[:-axes_of_one]}') from None
    targets = np.broadcast_to(targets, leading + targets.shape[-axes_of_one:])
    seeds = np.broadcast_to(seeds, leading + seeds.shape[-1:])
    results = [
        solve(robot, targets[i].copy(), frame, None if seed is None else seeds[i].copy(), **options)
        for i in np.ndindex(leading)
    ]

    def stacked(values: list[Any], kind: type, *shape: int) -> Any:
        return np.array(values, dtype=kind).reshape(leading + shape)

    results_of_all = InverseKinematicsResults(
        stacked([x.q for x in results], float, robot.nq),
        stacked([x.success for x in results], bool),
        stacked([x.position_error for x in results], float),
        stacked([x.rotation_error for x in results], float),
        stacked([x.iterations for x in results], int),
        stacked([x.reason for x in results], str),
        sum(x.elapsed for x in results),
    )
    return cast('EitherResult', results_of_all)
