# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics: tasks in order, limits that hold, singularities survived."""

from __future__ import annotations

import numpy as np
import pytest
from few_joint_arms import ARMS, few_joint_arm
from numpy.testing import assert_allclose
from random_robots import random_urdf
from scipy.optimize import lsq_linear

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.inverse_kinematics.differential import (
    CartesianServo,
    CenterOfMassTask,
    DifferentialInverseKinematics,
    FrameTask,
    Limits,
    PostureTask,
    ServoSettings,
    bounded,
)

ARM = 'urdf/seven_joint_arm.urdf'
TIP = 'tool0'
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
DT = 0.01

# Damping of 1e-6 leaves 1e-12 / sigma^2 of a demand undone, sigma about 0.1 at Q.
UNDAMPED = {'damping': 1e-6, 'singular_damping': 0.0}
EXACT = 1e-9


@pytest.fixture(scope='module')
def arm():
    from pathlib import Path

    return Robot.from_urdf(Path(__file__).parents[2] / ARM)


@pytest.fixture(params=['DAQP', 'SciPy'])
def solver(request, monkeypatch):
    """Both solvers of the QP."""
    if request.param == 'SciPy':
        monkeypatch.setattr(bounded, 'daqp', None)
    else:
        assert bounded.daqp is not None, 'the tests need daqp'


def run(robot, solver, q, seconds, last=None):
    """Integrate; the configurations and velocities on the way."""
    path, speeds = [q], []
    for _ in range(round(seconds / DT)):
        motion = solver.velocity(path[-1], DT, last)
        last = motion.v
        speeds.append(motion.v)
        path.append(robot.integrate(path[-1], DT * motion.v))
    return np.array(path), np.array(speeds)


def test_a_twist_is_met_exactly_where_no_limit_binds(arm):
    twist = np.array([0.1, -0.05, 0.02, 0.1, 0.2, -0.1])
    one = DifferentialInverseKinematics(arm, [FrameTask(TIP, feedforward=twist)], **UNDAMPED)
    motion = one.velocity(Q, DT)
    assert_allclose(arm.jacobian(Q, TIP) @ motion.v, twist, atol=EXACT)
    assert motion.at_limit == {} and motion.scale == 1.0


@pytest.mark.parametrize('follow', ['pose', 'position', 'orientation'])
def test_a_frame_comes_to_its_target(arm, follow):
    target = arm.forward_kinematics(Q + 0.3, TIP)
    one = DifferentialInverseKinematics(arm, [FrameTask(TIP, target, follow=follow)])
    path, _ = run(arm, one, Q, 3.0)
    found = arm.forward_kinematics(path[-1], TIP)
    if follow != 'orientation':
        assert_allclose(found[:3, 3], target[:3, 3], atol=1e-6)
    if follow != 'position':
        assert_allclose(found[:3, :3], target[:3, :3], atol=1e-6)


def test_a_task_of_lower_priority_takes_only_what_is_left(arm):
    twist = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.1])
    alone = DifferentialInverseKinematics(arm, [FrameTask(TIP, feedforward=twist)], **UNDAMPED)
    tasks = [FrameTask(TIP, feedforward=twist), PostureTask(np.zeros(7), gain=1.0, priority=1)]
    both = DifferentialInverseKinematics(arm, tasks, **UNDAMPED)
    J = arm.jacobian(Q, TIP)
    v = both.velocity(Q, DT).v
    assert_allclose(J @ v, twist, atol=EXACT)
    # The one direction that is free serves the posture as well as it can.
    free = np.linalg.svd(J)[2][6]
    assert free @ v == pytest.approx(free @ -Q, abs=1e-8)
    assert np.linalg.norm(v + Q) < np.linalg.norm(alone.velocity(Q, DT).v + Q)


def test_the_centre_of_mass_comes_to_its_target(arm):
    target = arm.center_of_mass(Q) + np.array([0.02, -0.03, 0.01])
    one = DifferentialInverseKinematics(arm, [CenterOfMassTask(target)])
    path, _ = run(arm, one, Q, 3.0)
    assert_allclose(arm.center_of_mass(path[-1]), target, atol=1e-6)


@pytest.mark.parametrize('seed', range(8))
def test_bounds_are_met_as_a_bounded_least_squares_solver_meets_them(seed, solver):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(6, 7)), 3.0 * rng.normal(size=6)
    lower, upper = -rng.uniform(0.0, 1.0, 7), rng.uniform(0.0, 1.0, 7)
    damping = 0.05
    x = bounded.solve_bounded([(A, b)], lower, upper, damping)
    stacked = np.vstack([A, damping * np.eye(7)])
    rows = np.append(b, np.zeros(7))
    expected = lsq_linear(stacked, rows, (lower, upper), method='bvls', tol=1e-14).x
    assert_allclose(x, expected, atol=1e-7)


def test_a_robot_without_joints_has_the_empty_velocity():
    robot = Robot.from_urdf('<robot name="still"><link name="a"/></robot>')
    solver = DifferentialInverseKinematics(robot, [PostureTask()])
    assert solver.velocity(np.zeros(0), DT).v.shape == (0,)


@pytest.mark.parametrize('seed', range(6))
def test_a_later_level_does_not_undo_an_earlier_one_at_the_bounds(seed, solver):
    rng = np.random.default_rng(seed)
    levels = [(rng.normal(size=(3, 7)), 2.0 * rng.normal(size=3)) for _ in range(2)]
    bound = np.full(7, 0.5)
    alone = bounded.solve_bounded(levels[:1], -bound, bound, 1e-3)
    both = bounded.solve_bounded(levels, -bound, bound, 1e-3)
    A = levels[0][0]
    assert np.abs(both).max() <= 0.5
    assert_allclose(A @ both, A @ alone, atol=1e-8)
    missed = [np.linalg.norm(levels[1][0] @ x - levels[1][1]) for x in (alone, both)]
    assert missed[1] <= missed[0] + 1e-9


@pytest.mark.parametrize('seed', range(6))
def test_no_limit_is_ever_passed_whatever_the_robot_and_the_demand(seed, solver):
    rng = np.random.default_rng(seed)
    robot = Robot.from_urdf(random_urdf(seed))
    acceleration = 5.0
    limits = Limits(robot, velocity=1.0, acceleration=acceleration, margin=0.01)
    frame = robot.frame_names[-1]
    task = FrameTask(frame)
    one = DifferentialInverseKinematics(robot, [task], limits)
    q, v = robot.neutral(), np.zeros(robot.nv)
    bounded_ones = np.isfinite(robot.lower_limits) & np.isfinite(robot.upper_limits)
    ends = robot.lower_limits[bounded_ones], robot.upper_limits[bounded_ones]
    q[bounded_ones] = np.mean(ends, axis=0)
    for step in range(300):
        if step % 60 == 0:
            task.feedforward = rng.normal(size=6) * 3.0
        motion = one.velocity(q, DT, v)
        assert (np.abs(motion.v) <= 1.0 + 1e-12).all()
        assert (np.abs(motion.v - v) <= acceleration * DT + 1e-9).all()
        v = motion.v
        q = robot.integrate(q, DT * v)
        assert (q >= robot.lower_limits + 0.01 - 1e-9).all()
        assert (q <= robot.upper_limits - 0.01 + 1e-9).all()


def test_the_result_names_what_binds(arm, solver):
    fast = FrameTask(TIP, feedforward=[3.0, 0, 0, 0, 0, 0])
    motion = DifferentialInverseKinematics(arm, [fast], Limits(arm, velocity=0.2)).velocity(Q, DT)
    assert motion.at_limit and set(motion.at_limit.values()) == {'velocity'}
    limits = Limits(arm, acceleration=0.5)
    motion = DifferentialInverseKinematics(arm, [fast], limits).velocity(Q, DT, np.zeros(7))
    assert set(motion.at_limit.values()) == {'acceleration'}
    q = Q.copy()
    q[3] = arm.upper_limits[3]
    posture = PostureTask(q + 0.5, priority=0)
    motion = DifferentialInverseKinematics(arm, [posture]).velocity(q, DT)
    assert motion.at_limit['elbow_pitch'] == 'position'
    assert motion.v[3] == pytest.approx(0.0, abs=1e-9)


def test_a_floating_base_moves_with_its_joints():
    robot = Robot.from_urdf(random_urdf(3), root_joint='floating')
    q = robot.neutral()
    frame = robot.frame_names[-1]
    target = robot.forward_kinematics(q, frame)
    target[:3, 3] += [0.1, 0.2, -0.1]
    tasks = [FrameTask(frame, target), PostureTask(priority=1)]
    path, _ = run(robot, DifferentialInverseKinematics(robot, tasks), q, 3.0)
    assert_allclose(robot.forward_kinematics(path[-1], frame), target, atol=1e-5)


@pytest.mark.parametrize(
    ('make', 'named'),
    [
        (lambda r: DifferentialInverseKinematics(r, []), 'tasks'),
        (lambda r: FrameTask(TIP, follow='nose'), 'follow'),
        (lambda r: FrameTask(TIP, gain=0.0), 'gain'),
        (lambda r: FrameTask(TIP, weight=-1.0), 'weight'),
        (lambda r: FrameTask(TIP, priority=-1), 'priority'),
        (lambda r: FrameTask(TIP, np.zeros((4, 4))), 'target'),
        (lambda r: FrameTask(TIP, feedforward=[np.nan] * 6), 'feedforward'),
        (lambda r: Limits(r, velocity=0.0), 'velocity'),
        (lambda r: Limits(r, margin=100.0), 'margin'),
        (lambda r: Limits(r, approach=2.0), 'approach'),
        (lambda r: DifferentialInverseKinematics(r, [FrameTask(TIP)], damping=0.0), 'damping'),
        (lambda r: DifferentialInverseKinematics(r, [FrameTask(TIP)]).velocity(Q, 0.0), 'dt'),
        (lambda r: DifferentialInverseKinematics(r, [FrameTask(TIP)]).velocity(Q[:3], 1.0), 'q'),
        (
            lambda r: DifferentialInverseKinematics(r, [PostureTask(joint_weights={'nose': 1.0})]),
            'joint_weights',
        ),
        (lambda r: DifferentialInverseKinematics(r, [PostureTask(np.zeros(3))]), 'target'),
    ],
)
def test_what_is_wrong_is_named(arm, make, named):
    with pytest.raises(InvalidArgumentError) as caught:
        make(arm)
    assert caught.value.argument == named


@pytest.mark.parametrize(
    ('task', 'attribute', 'size'),
    [
        (FrameTask(TIP), 'feedforward', 6),
        (CenterOfMassTask(), 'feedforward', 3),
        (CenterOfMassTask(), 'target', 3),
    ],
)
@pytest.mark.parametrize('wrong', ['short', 'nan', 'text', 'complex'])
def test_what_is_set_between_two_steps_is_checked(arm, task, attribute, size, wrong):
    """A NaN that got through would be a velocity of every joint."""
    good = np.full(size, 0.1)
    setattr(task, attribute, good)
    values = {
        'short': good[:-1],
        'nan': good * np.nan,
        'text': 'fast',
        'complex': good + 1.0j,
    }
    with pytest.raises(InvalidArgumentError, match=attribute):
        setattr(task, attribute, values[wrong])
    assert getattr(task, attribute) is good
    assert np.isfinite(DifferentialInverseKinematics(arm, [task]).velocity(Q, DT).v).all()


@pytest.mark.parametrize('follow', ['pose', 'position'])
@pytest.mark.parametrize('name', [name for name in ARMS if name != 'six axes'])
def test_an_arm_with_few_joints_is_led_wherever_it_loses_no_direction(name, follow):
    robot = Robot.from_urdf(few_joint_arm(name))
    servo = CartesianServo(robot, 'tool', ServoSettings(follow=follow))
    q = np.full(robot.nv, 0.8)
    twist = robot.jacobian(q, 'tool') @ np.full(robot.nv, 0.02)
    step = servo.follow_twist(q, twist, 0.1)
    assert step.condition < 60.0
    assert (step.speed, step.near_singularity) == (1.0, False)
    rows = slice(0, 3 if follow == 'position' else 6)
    assert_allclose((robot.jacobian(q, 'tool') @ step.v)[rows], twist[rows], atol=1e-4)


@pytest.mark.parametrize('name', ['planar 2R', 'planar 4R', 'five axes'])
def test_a_twist_that_no_motion_of_an_arm_with_few_joints_makes_is_followed_in_part(name):
    """From rest, where the acceleration binds, in the part that the joints can make."""
    robot = Robot.from_urdf(few_joint_arm(name))
    servo = CartesianServo(robot, 'tool')
    q, twist, dt = np.full(robot.nv, 0.8), np.array([0.2, 0.1, 0.05, 0.0, 0.0, 0.0]), 0.005
    J = robot.jacobian(q, 'tool')
    wanted = np.linalg.lstsq(J, twist, rcond=None)[0]
    for _ in range(50):
        step = servo.follow_twist(q, twist, dt)
    assert_allclose(step.v, wanted, atol=2e-3)


def test_a_servo_keeps_its_direction_where_limits_bind(arm, solver):
    """While it accelerates, and where the elbow comes to its limit, it slows down as a whole."""
    servo, q, dt, slow, blocked = CartesianServo(arm, TIP), Q.copy(), 0.005, 0, 3
    q[blocked] = arm.upper_limits[blocked] - 0.1
    wanted = np.zeros(7)
    wanted[blocked] = 0.6
    for _ in range(150):
        twist = arm.jacobian(q, TIP) @ wanted
        step = servo.follow_twist(q, twist, dt)
        made = arm.jacobian(q, TIP) @ step.v
        along = made @ twist / (twist @ twist)
        assert np.linalg.norm(made - along * twist) < 0.02 * np.linalg.norm(twist)
        assert -1e-6 < along < 1.0 + 1e-6
        slow += along < 0.9
        q = arm.integrate(q, dt * step.v)
    assert slow > 10 and (q <= arm.upper_limits).all()


def test_a_locked_joint_does_not_move_wherever_it_is(arm, solver):
    twist = np.array([0.1, -0.05, 0.02, 0.1, 0.2, -0.1])
    names = [arm.joint_names[1], arm.joint_names[3]]
    for limits in (None, Limits(arm, acceleration=1.0)):
        one = DifferentialInverseKinematics(
            arm, [FrameTask(TIP, feedforward=twist)], limits, locked_joints=names
        )
        for beyond in (-0.1, 1e-9, 0.3):
            q = Q.copy()
            q[[1, 3]] = arm.upper_limits[1] + beyond, arm.lower_limits[3] - beyond
            motion = one.velocity(q, DT, np.full(7, 0.2))
            assert_allclose(motion.v[[1, 3]], 0.0, atol=1e-12)
            assert np.abs(motion.v).max() > 0.01
