# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed-form solutions instead of a search, for arms and problems that allow them."""

from __future__ import annotations

import math
import time

import numpy as np

from dynamics_ros.algorithms.inverse_kinematics.solutions import EXACT, solvable_arm

from .chain import ClosedForm
from .problem import Problem
from .result import Solutions

SEPARATION = 1e-4
"""Difference of each joint below which two branches count as the same solution [rad]."""

RELIABLE = 1e-7
"""Smallest tolerance that rounding cannot exceed where branches coincide [m or rad]."""


def closed_form_of(problem: Problem) -> ClosedForm | None:
    """Closed form for a problem; None if its arm or its options do not allow one.

    The closed form of a chain and a set of locked joints is created once and stored with the chain.
    """
    chain = problem.chain
    _, _, position_only, slack, weights, _, posture, *_ = problem.options
    if position_only or slack is not None or posture is not None or chain.supports:
        return None
    if weights and any(map(math.isfinite, weights.values())):
        return None
    locked: tuple[str, ...] = ()
    if problem.locked is not None:
        locked = tuple(chain.names[i] for i in np.flatnonzero(problem.locked))
    try:
        return chain.closed_forms[locked]
    except KeyError:
        closed_form = chain.closed_forms[locked] = _create(problem, locked)
        return closed_form


def _create(problem: Problem, locked: tuple[str, ...]) -> ClosedForm | None:
    robot, frames = problem.robot, problem.chain.frames
    if len(frames) > 1:
        return None
    places = [robot.joint_q_indices[name] for name in locked]
    arm = solvable_arm(robot.model, robot.model.frame(frames[0]), places)
    if arm is None:
        return None
    kernel = robot.kernel('analytic_inverse_kinematics', frames[0], *locked)
    exact = arm.error < EXACT and not locked
    closed_form = ClosedForm(kernel, exact)
    # Compile now, so that compilation does not use up the timeout and all results are identical.
    kernel.wait()
    closed_form_solutions(closed_form, problem, 0.0, most=1)
    return closed_form


def closed_form_solutions(
    closed_form: ClosedForm, problem: Problem, began: float, most: int
) -> tuple[Solutions, bool]:
    """Distinct solutions within the limits, sorted by distance from the seed.

    Args:
        closed_form: of the problem, as returned by `closed_form_of`.
        problem: a problem with one frame.
        began: start time of the problem, on ``time.perf_counter`` [s].
        most: largest number of solutions.

    Returns:
        The solutions, and whether the target is provably out of reach, independent of joint limits.
    """
    position, rotation, *_ = problem.options
    settings = np.array((position, rotation, problem.options.min_separation or SEPARATION))
    positions, squares, counts = closed_form.kernel.call(
        problem.start, problem.in_root_link[0], settings
    )
    count, reached = counts.tolist()
    rows = positions[: min(int(count), most)]
    if len(problem.q) > rows.shape[1]:
        q = np.empty((len(rows), len(problem.q)))
        q[:] = problem.q
        q[:, problem.chain.q_index] = rows
        rows = q
    unreachable = not reached and closed_form.exact and min(position, rotation) >= RELIABLE
    of, elapsed = (problem.robot, problem.chain), time.perf_counter() - began
    return Solutions(of, rows, squares, None, elapsed), unreachable
