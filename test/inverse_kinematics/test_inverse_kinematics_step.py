# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of inverse kinematics against the same formulas in NumPy, and where starts lie."""

from __future__ import annotations

import time

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.inverse_kinematics.step import DAMPING_FLOOR, inverse_kinematics_step
from dynamics_ros.inverse_kinematics.chain import chain_of
from dynamics_ros.inverse_kinematics.search import Deadline, Search
from dynamics_ros.inverse_kinematics.starts import SORTED, Starts
from dynamics_ros.multibody.end_effector import pose_error

TOOL = 'tool0'


@pytest.fixture(scope='module')
def ur5():
    return Robot.from_urdf(urdf_path('ur5'))


def step(robot, q, target, lower, upper, *, damping=0.1, pull=0.0, liked=None, mobility=1.0):
    """A step in plain floats: next positions and figures."""
    n = len(q)
    rows = [lower, upper, np.full(n, mobility), np.ones(n), np.zeros(n) if liked is None else liked]
    result = inverse_kinematics_step(
        robot.model,
        [robot.model.frame(TOOL)],
        q.tolist(),
        [target.tolist()],
        [np.asarray(row, dtype=float).tolist() for row in rows],
        [[[1.0] * 6, [0.0] * 6]],
        damping,
        pull,
    )
    return np.array(result.following), result[:4]


def case(robot, seed, distance):
    rng = np.random.default_rng(seed)
    q = rng.uniform(-2.0, 2.0, robot.nq)
    target = robot.forward_kinematics(q + rng.normal(scale=distance, size=robot.nq), TOOL)
    return q, target


WIDE = np.full(6, 100.0)


@pytest.mark.parametrize('seed', range(5))
def test_a_step_is_damped_least_squares(ur5, seed):
    q, target = case(ur5, seed, 0.1)
    error = pose_error(target, ur5.forward_kinematics(q, TOOL))
    J = ur5.jacobian(q, TOOL)
    cost = error @ error
    # The primal form, while the step computes the dual one in other axes.
    expected = np.linalg.solve(J.T @ J + (0.1 * cost + DAMPING_FLOOR) * np.eye(6), J.T @ error)
    after, (position, rotation, minimised, move) = step(ur5, q, target, -WIDE, WIDE)
    shortened = 1.0 / max(1.0, np.abs(expected).max())
    # Condition of the damped equations, some 1e3, times rounding.
    assert after - q == pytest.approx(shortened * expected, abs=1e-11)
    assert position == pytest.approx(error[:3] @ error[:3], rel=1e-12)
    assert rotation == pytest.approx(error[3:] @ error[3:], rel=1e-12)
    assert minimised == pytest.approx(cost, rel=1e-12)
    assert move == pytest.approx(np.abs(expected).max(), rel=1e-9)


def test_a_joint_at_its_limit_rests_and_the_others_do_its_work(ur5):
    q, target = case(ur5, 1, 0.1)
    free, _ = step(ur5, q, target, -WIDE, WIDE)
    upper = WIDE.copy()
    error = pose_error(target, ur5.forward_kinematics(q, TOOL))
    pushed = int(np.argmax(ur5.jacobian(q, TOOL).T @ error))
    upper[pushed] = q[pushed]
    after, _ = step(ur5, q, target, -WIDE, upper)
    assert free[pushed] > q[pushed]
    assert after[pushed] == q[pushed]
    others = np.arange(6) != pushed
    J = ur5.jacobian(q, TOOL)[:, others]
    damped = J.T @ J + (0.1 * error @ error + DAMPING_FLOOR) * np.eye(5)
    expected = np.linalg.solve(damped, J.T @ error)
    expected /= max(1.0, np.abs(expected).max())
    assert (after - q)[others] == pytest.approx(expected, abs=1e-11)


def search_of(robot, tolerance=1e-5):
    chain = chain_of(robot, (TOOL,))
    near = tolerance**2
    return Search(chain.search, 1, chain.joint_rows, chain.tasks[0], near, near)


def test_the_loop_makes_the_steps_that_single_steps_make(ur5):
    search = search_of(ur5)
    chain = chain_of(ur5, (TOOL,))
    rows = [row.tolist() for row in chain.joint_rows]
    for seed in range(20):
        start, target = case(ur5, seed, 0.7)
        start = np.clip(start, chain.lower, chain.upper)
        end = search.run(start, target[None], None)
        x, steps, costs = start.tolist(), 0, [np.inf]
        while steps <= end.steps:
            step = inverse_kinematics_step(
                ur5.model,
                [ur5.model.frame(TOOL)],
                x,
                [target.tolist()],
                rows,
                chain.tasks[0].tolist(),
                0.03,
                0.0,
            )
            arrived = step.position <= search.near and step.rotation <= search.aligned
            costs.append(step.cost)
            # Three steps without a fifth of progress end a search.
            best = [min(costs[: i + 1]) for i in range(len(costs))]
            if arrived or (len(costs) > 4 and best[-1] >= 0.8 * best[-4]):
                break
            x, steps = step.following, steps + 1
        if end.arrived:
            assert arrived and steps == end.steps
            # Some ten steps, each of which carries on the rounding of those before.
            assert end.positions == pytest.approx(np.array(x), abs=1e-9)


def test_a_search_kept_waiting_by_others_still_gets_its_share_of_the_processor():
    ur5 = Robot.from_urdf(urdf_path('ur5'), backend='python')
    search = search_of(ur5)
    q, target = case(ur5, 3, 0.2)
    late_but_idle = Deadline(time.perf_counter() - 1.0, time.thread_time() + 10.0)
    assert search.run(q, target[None], late_but_idle).arrived
    late_and_served = Deadline(time.perf_counter() - 1.0, time.thread_time() - 1.0)
    assert not search.run(np.zeros(6), target[None], late_and_served).arrived


def test_starts_fill_the_ranges_evenly_and_come_nearest_first(ur5):
    chain = chain_of(ur5, (TOOL,))
    starts = Starts(ur5, (TOOL,), chain.q_index, chain.sampled, 0)
    q = np.array([0.4, -1.1, 1.3, -0.9, -1.4, 0.3])
    target = ur5.forward_kinematics(q, TOOL)[None]
    positions = np.array(list(starts.toward(target, SORTED, False)))
    assert positions.shape == (SORTED, 6)
    # Of every joint as many in the lower half of its range as in the upper, but for a few.
    middle = chain.sampled.mean(axis=0)
    assert np.abs((positions < middle).mean(axis=0) - 0.5).max() < 0.02
    poses = ur5.forward_kinematics(positions, TOOL)
    place = np.square(poses[:, :3, 3] - target[0, :3, 3]).sum(axis=1) / starts.spread**2
    turn = np.square(poses[:, :3, :3] - target[0, :3, :3]).sum(axis=(1, 2)) / 2.0
    assert np.all(np.diff(place + turn) >= -1e-9)
