# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks in strict order with inequalities, and a robot on its feet held by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from scipy.optimize import nnls
from tolerances import LAW

from benchmarks.descriptions import bare, without_friction
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.constraints import constraint_bias, constraint_jacobian
from dynamics_ros.control import (
    Level,
    WholeBodyProblem,
    constrained_least_squares,
    pose_error,
    solve_hierarchy,
)
from dynamics_ros.demo.known_robots import LEGGED
from dynamics_ros.errors import InfeasibleError, InvalidArgumentError
from dynamics_ros.simulation.mujoco_world import MujocoWorld, Surroundings

SEEDS = st.integers(0, 2**32 - 1)
FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
FRICTION = 0.6
OPTIMAL = 1e-7
"""Relative: a solution is exact for its active set; its conditions are differences."""


@pytest.fixture(scope='module')
def anymal():
    return Robot.from_urdf(urdf_path('anymal'), 'floating', backend='python')


@pytest.fixture(scope='module')
def standing(anymal):
    """A stance: knees bent, all four feet under the base."""
    q = anymal.neutral()
    for name, index in anymal.joint_q_indices.items():
        fore = 1.0 if name[1] == 'F' else -1.0
        q[index] = {'HAA': 0.1, 'HFE': 0.6 * fore, 'KFE': -1.1 * fore}[name[-3:]]
    return q


def problem_of(seed, rows, inequalities, n):
    """A random problem that has a solution."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(rows, n)), 5.0 * rng.normal(size=rows)
    C, inside = rng.normal(size=(inequalities, n)), rng.normal(size=n)
    return A, b, C, C @ inside + rng.uniform(0.0, 1.0, inequalities)


@examples(60)
@given(SEEDS, st.integers(1, 6), st.integers(0, 12), st.integers(1, 6))
def test_least_squares_with_inequalities_is_optimal(seed, rows, inequalities, n):
    A, b, C, d = problem_of(seed, rows, inequalities, n)
    x = constrained_least_squares(A, b, C, d)
    assert (C @ x - d).max(initial=0.0) <= OPTIMAL
    # The gradient is held by the inequalities that are reached, none of which pulls.
    gradient = A.T @ (A @ x - b)
    reached = C[C @ x - d > -1e-6]
    _, unbalanced = nnls(-reached.T, gradient) if len(reached) else (0, np.linalg.norm(gradient))
    assert unbalanced <= OPTIMAL * max(100.0, np.abs(gradient).max())


@examples(30)
@given(SEEDS)
def test_without_inequalities_it_is_the_null_space_projection(seed):
    """[RD] eq. 2.220, algorithm 2: x + N (A N)^+ (b - A x), task by task."""
    rng = np.random.default_rng(seed)
    parts = [(rng.normal(size=(m, 7)), rng.normal(size=m)) for m in (2, 3, 4)]
    x, N = np.zeros(7), np.eye(7)
    for A, b in parts:
        x = x + N @ np.linalg.pinv(A @ N, rcond=1e-9) @ (b - A @ x)
        N = N @ (np.eye(7) - np.linalg.pinv(A @ N, rcond=1e-9) @ A @ N)
    levels = [Level.equality(A, b) for A, b in parts]
    solution = solve_hierarchy(levels)
    assert_close(solution.x, x, 1e-6)
    assert solution.violations[:2] == pytest.approx((0.0, 0.0), abs=1e-9)


def test_weights_decide_between_tasks_that_contradict():
    low, high = Level.equality([[1.0]], [0.0]), Level.equality([[1.0]], [1.0])
    assert solve_hierarchy([low + high]).x == pytest.approx([0.5])
    assert solve_hierarchy([low + 3.0 * high]).x == pytest.approx([0.75])
    assert solve_hierarchy([low, high]).x == pytest.approx([0.0])


def test_a_base_moves_over_feet_that_rest(anymal):
    """[RD] eq. 2.276."""
    rng = np.random.default_rng(2)
    q, feet, base = anymal.random_configuration(rng), FEET[:3], anymal.body_names[0]
    J, wanted = constraint_jacobian(anymal, q, feet), rng.normal(size=6)
    task = Level.equality(anymal.jacobian(q, base), wanted)
    u = solve_hierarchy([Level.equality(J, np.zeros(9)), task]).x
    assert_close(J @ u, np.zeros(9))
    assert_close(anymal.frame_velocity(q, u, base), wanted)  # three feet hold all of the base


@examples(40)
@given(SEEDS)
# In these, bounds that meet in one point depend on each other.
@example(907)
@example(67500)
def test_no_level_disturbs_those_before_it(seed):
    rng = np.random.default_rng(seed)
    levels = [
        Level.inequality(rng.normal(size=(3, 6)), rng.normal(size=3)),
        Level.equality(rng.normal(size=(2, 6)), rng.normal(size=2)),
        Level.inequality(rng.normal(size=(4, 6)), rng.normal(size=4)),
        Level.equality(rng.normal(size=(5, 6)), rng.normal(size=5)),
    ]
    before = [solve_hierarchy(levels[:k]).violations for k in range(1, 5)]
    for k in range(1, 4):
        assert_close(np.array(before[k][:k]), np.array(before[k - 1]), 1e-6)


def test_an_inequality_that_cannot_be_met_is_violated_least_and_no_more_later():
    impossible = Level.inequality([[1.0, 0.0], [-1.0, 0.0]], [-1.0, -1.0])  # x <= -1 and x >= 1
    greedy = Level.equality([[1.0, 0.0]], [10.0])
    solution = solve_hierarchy([impossible, greedy, Level.equality([[0.0, 1.0]], [3.0])])
    assert_close(solution.x, np.array([0.0, 3.0]), LAW)
    assert solution.violations == pytest.approx((np.sqrt(2.0), 10.0, 0.0))
    assert solution.freedom == 0


def test_a_bound_that_contradicts_itself_is_refused():
    C, d = np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0])
    with pytest.raises(InfeasibleError, match='contradict'):
        constrained_least_squares(np.eye(1), np.zeros(1), C, d)
    with pytest.raises(InfeasibleError, match='without variables'):
        constrained_least_squares(np.eye(1), np.zeros(1), np.zeros((1, 1)), np.array([-1.0]))


# Whole bodies.


def on_the_ground(robot, q, v, motion):
    """The physics that any motion has to obey."""
    J = constraint_jacobian(robot, q, FEET)
    assert_close(J @ motion.a + constraint_bias(robot, q, v, FEET), np.zeros(12), LAW, 100.0)
    needed = robot.inverse_dynamics(q, v, motion.a)
    assert_close(motion.tau + J.T @ motion.forces, needed, LAW, 1000.0)
    assert not motion.tau[:6].any()


def within_friction(forces):
    sideways = np.linalg.norm(forces.reshape(-1, 3)[:, :2], axis=1)
    return (sideways <= FRICTION * forces.reshape(-1, 3)[:, 2] + 1e-6).all()


def test_a_base_accelerates_as_commanded_with_least_torque(anymal, standing):
    v, base = np.zeros(anymal.nv), anymal.body_names[0]
    problem = WholeBodyProblem(anymal, standing, v, FEET)
    wanted = np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.3])
    motion = problem.solve(
        [
            problem.friction_cones(FRICTION) + problem.torque_limits(),
            problem.frame_acceleration(base, wanted),
            problem.torques(np.zeros(12)),
        ]
    )
    on_the_ground(anymal, standing, v, motion)
    assert_close(anymal.frame_acceleration(standing, v, motion.a, base), wanted)
    assert within_friction(motion.forces)
    assert motion.violations[:2] == pytest.approx((0.0, 0.0), abs=1e-6)
    # Without friction in the way it is the pseudo-inverse of [RD] eq. 3.100.
    least, _ = anymal.constrained_inverse_dynamics(standing, v, motion.a, FEET)
    free = problem.solve([problem.frame_acceleration(base, wanted), problem.torques(np.zeros(12))])
    assert_close(free.tau, least, 1e-6, 10.0)
    assert np.linalg.norm(motion.tau) >= np.linalg.norm(least) - 1e-6


def test_feet_do_not_slip_and_torques_are_limited_when_more_is_asked(anymal, standing):
    v, base = np.zeros(anymal.nv), anymal.body_names[0]
    problem = WholeBodyProblem(anymal, standing, v, FEET)
    cones = problem.friction_cones(FRICTION, least_normal_force=5.0, facets=8)
    limits = problem.torque_limits(np.full(12, 25.0))
    least = problem.contact_forces(np.zeros(12))
    for bounds, axis, asked in ((cones, 0, 9.0), (limits + cones, 2, 30.0)):
        wanted = asked * np.eye(6)[axis]
        motion = problem.solve([bounds, problem.frame_acceleration(base, wanted), least])
        on_the_ground(anymal, standing, v, motion)
        assert within_friction(motion.forces)
        assert motion.forces[2::3].min() >= 5.0 - 1e-6
        assert motion.violations[0] == pytest.approx(0.0, abs=1e-6)
        assert motion.violations[1] > 1.0
        if axis == 0:
            reached = anymal.frame_acceleration(standing, v, motion.a, base)[0]
            # What the share of the weight accelerates, less the corners of the pyramid.
            assert 0.6 * FRICTION * 9.81 < reached < 9.0
        else:
            assert np.abs(motion.tau).max() == pytest.approx(25.0, abs=1e-6)


def test_wrong_levels_are_named(anymal, standing):
    problem = WholeBodyProblem(anymal, standing, np.zeros(anymal.nv), FEET)
    with pytest.raises(InvalidArgumentError, match='normal: '):
        problem.friction_cones(FRICTION, normal=(0.0, 0.0, 2.0))
    with pytest.raises(InvalidArgumentError, match='facets: 2'):
        problem.friction_cones(FRICTION, facets=2)
    with pytest.raises(InvalidArgumentError, match='matrix: shape'):
        problem.acceleration(np.eye(3), np.zeros(3))
    with pytest.raises(InvalidArgumentError, match='target: shape'):
        problem.joint_accelerations(np.zeros(3))
    with pytest.raises(InvalidArgumentError, match='levels: 2 levels'):
        solve_hierarchy([Level.equality(np.eye(2), np.zeros(2)), problem.torques(np.zeros(12))])


KNOWN = LEGGED['anymal']
PERIOD, SUBSTEPS = 2e-3, 4

ROBOT = Robot.from_urdf(without_friction(bare(urdf_path('anymal'))), 'floating')
WEIGHT = 9.81 * ROBOT.total_mass


def home():
    q = ROBOT.neutral()
    q[7:] = [KNOWN.stance.get(name, 0.0) for name in ROBOT.joint_names]
    q[2] = KNOWN.foot_radius - min(ROBOT.forward_kinematics(q, foot)[2, 3] for foot in KNOWN.feet)
    return q


def test_it_stands_on_forces_within_friction_that_are_those_of_the_ground():
    start, feet = home(), KNOWN.feet
    contacts = Surroundings(dict.fromkeys(feet, KNOWN.foot_radius), {})
    world = MujocoWorld(ROBOT, PERIOD / SUBSTEPS, contacts)
    world.place(start)
    target = ROBOT.forward_kinematics(start, 'base')
    for _ in range(round(0.6 / PERIOD)):
        q, v = world.q, world.v
        base = 100.0 * pose_error(target, ROBOT.forward_kinematics(q, 'base'))
        base -= 20.0 * ROBOT.frame_velocity(q, v, 'base')
        problem = WholeBodyProblem(ROBOT, q, v, feet)
        motion = problem.solve(
            [
                problem.friction_cones(FRICTION, least_normal_force=5.0) + problem.torque_limits(),
                problem.frame_acceleration('base', base),
                problem.contact_forces(np.zeros(12)),
            ]
        )
        for _ in range(SUBSTEPS):
            world.step(motion.tau)
    assert np.abs(pose_error(target, ROBOT.forward_kinematics(world.q, 'base'))).max() < 0.01
    forces = motion.forces.reshape(4, 3)
    assert forces[:, 2].sum() == pytest.approx(WEIGHT, rel=0.01)
    assert within_friction(motion.forces)
    true = world.contact_wrenches()
    for foot, force in zip(feet, forces, strict=True):
        assert true[foot][:3] == pytest.approx(force, abs=0.01 * WEIGHT)
