# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A Cartesian impedance controller keeps limits of joints, torques and rates, whatever comes in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from impedance_plant import FREE, HOME, STEP, Plant, gains
from patience import examples
from random_robots import SEEDS, random_robot, random_urdf
from tolerances import EXACT

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.control.impedance import FLAGS
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
    joint_ranges,
)

NUMBERS = st.one_of(
    st.floats(-5.0, 5.0), st.sampled_from([np.nan, np.inf, -np.inf, 1e35, -1e200, 0.0])
)


def arguments(controller, given, q=HOME, v=None, memory=None):
    target = controller.target_at(q)
    state = ImpedanceState(q, np.zeros(7) if v is None else v, STEP)
    memory = controller.start(q) if memory is None else memory
    return [
        *(state.q, state.v, state.wrench, target.pose, target.twist, target.acceleration),
        *(target.wrench, target.posture, given.stiffness, given.damping, given.axes, given.force),
        *(given.joints, given.settings, memory, np.array(STEP)),
    ]


@examples(150)
@given(st.integers(0, 15), st.lists(NUMBERS, min_size=1, max_size=8), SEEDS)
def test_whatever_comes_in_torques_and_rates_are_bounded(panda, controller, which, numbers, seed):
    """Any input replaced in some places by any number, none or infinity among them."""
    rng = np.random.default_rng(seed)
    given = gains(panda, joints={'max_torque': 40.0, 'max_torque_rate': 500.0})
    values = [x.copy() for x in arguments(controller, given)]
    places = rng.choice(values[which].size, min(len(numbers), values[which].size), replace=False)
    values[which].ravel()[places] = numbers[: len(places)]
    told = [np.where(np.isfinite(x), x, 1e300) for x in values]
    tau, memory, flags = controller.kernel(*told)
    assert np.isfinite(tau).all() and np.isfinite(memory).all() and np.isfinite(flags).all()
    limits = np.minimum(panda.effort_limits, np.inf)
    assert (np.abs(tau) <= limits).all()
    if which != 12:  # the limits themselves
        assert (np.abs(tau) <= 40.0).all()
    if which not in (12, 14, 15):
        assert np.abs(tau - panda.gravity(HOME)).max() <= 500.0 * STEP * (1.0 + EXACT)


@pytest.mark.parametrize(
    ('which', 'flag'), [(0, 'state'), (1, 'state'), (2, 'input'), (3, 'input'), (8, 'input'),
                        (10, 'input'), (12, 'input'), (13, 'input'), (14, 'memory'), (15, 'input')]
)  # fmt: skip
def test_a_number_that_is_none_has_a_name_and_ends_in_rest(panda, controller, which, flag):
    values = arguments(controller, gains(panda), v=0.4 * np.ones(7))
    values[which] = np.full_like(values[which], np.nan)
    told = [np.where(np.isfinite(x), x, 1e300) for x in values]
    _, _, flags = controller.kernel(*told)
    assert flags[FLAGS.index(flag)] == 1.0
    assert flags.sum() <= 4.0


@pytest.mark.parametrize(('share', 'told'), [(1e-11, False), (0.01, True)])
def test_the_guard_counts_from_a_noticeable_change_of_torque(panda, controller, share, told):
    """The range ends where the guard allows this much less acceleration than the law wants."""
    state, rate = ImpedanceState(HOME, np.zeros(7), STEP), 20.0
    target = controller.target_at(HOME)
    pushed = ImpedanceTarget(target.pose, HOME, wrench=[0.0, 0.0, -5.0, 0.0, 0.0, 0.0])
    options = {'max_torque_rate': np.inf, 'limit_stiffness': 0.0, 'guard_rate': rate}
    tau = controller.step(state, pushed, gains(panda, joints=options), controller.start(HOME)).tau
    a = panda.forward_dynamics(HOME, np.zeros(7), tau)
    k = int(a.argmax())
    assert a[k] > 0.1
    upper = panda.upper_limits.copy()
    upper[k] = HOME[k] + (1.0 - share) * a[k] / rate**2
    given = gains(panda, joints=options | {'upper': upper})
    step = controller.step(state, pushed, given, controller.start(HOME))
    assert np.any(step.tau != tau)
    assert ('guard' in step.acting) == told


def test_a_target_that_is_no_number_brakes(panda, controller):
    plant = Plant(controller, HOME)
    plant.v = 0.5 * np.ones(7)
    target = controller.target_at(HOME)
    object.__setattr__(target, 'pose', target.pose * np.nan)
    plant.run(target, gains(panda), 1.0)
    assert 'input' in plant.acting
    assert np.abs(plant.v).max() < 0.01


@pytest.mark.parametrize('change', ['activation', 'stiffness', 'target'])
def test_torques_change_no_faster_than_their_rate(panda, controller, change):
    target, given = controller.target_at(HOME), gains(panda, joints={'max_torque_rate': 800.0})
    plant = Plant(controller, HOME)
    if change != 'activation':
        off = ImpedanceTarget(target.pose, HOME)
        plant.run(off, given, 0.2, np.array([5.0, 0, 0, 0, 0, 0]))
    if change == 'stiffness':
        given = gains(panda, (5000.0, 200.0), (150.0, 10.0), {'max_torque_rate': 800.0})
    if change == 'target':
        pose = target.pose.copy()
        pose[0, 3] -= 1.0
        target = ImpedanceTarget(pose, HOME)
    plant.run(target, given, 0.2)
    assert plant.steepest <= 800.0 * (1.0 + EXACT)
    assert ('torque_rate' in plant.acting) == (change != 'activation')
    if change == 'activation':
        assert np.abs(plant.q - HOME).max() < 1e-9


def test_at_a_singular_pose_the_tool_seems_no_heavier_than_it_may():
    """A wrist whose axes line up: the tool cannot turn about one axis by its joints."""
    robot = Robot.from_urdf(urdf_path('ur5'), backend='python')
    controller = ImpedanceController(robot, 'tool0')
    lined_up = np.array([0.3, -1.2, 1.1, -0.4, 0.0, 0.1])
    J = robot.jacobian(lined_up, 'tool0')
    assert np.linalg.svd(J)[1].min() < 1e-9
    loose = {'posture_stiffness': 0.0, 'posture_damping': 0.0} | FREE
    sizes = []
    for largest in (20.0, 100.0):
        for q in (lined_up, lined_up + 1e-3, lined_up + 0.5):
            given = gains(robot, (0.0, 0.0), (0.0, 0.0), loose, largest_inertia=largest, length=1.0)
            pose = robot.forward_kinematics(q, 'tool0')
            for wanted in 0.01 * np.eye(6):
                said = controller.step(
                    ImpedanceState(q, np.zeros(6), STEP),
                    ImpedanceTarget(pose, q, acceleration=wanted),
                    given,
                    controller.start(q),
                )
                assert ('singular' in said.acting) == (q[4] < 0.1)
                # tau = J^T Lambda x with |Lambda x| <= m |x|.
                assert set(said.acting) <= {'singular'}
                sizes.append(np.linalg.norm(said.tau - robot.gravity(q)))
                assert sizes[-1] <= np.linalg.norm(J, 2) * 1.1 * largest * 0.01
    assert max(sizes) > 0.0


@pytest.mark.parametrize('seed', [2, 5, 7, 9])
def test_every_kind_of_joint_is_guarded(seed):
    """Prismatic, revolute and coupled joints of random trees, as floats; continuous ones turn."""
    robot = random_robot(seed, 5, gravity=(0.0, 0.0, 0.0))
    lower, upper = joint_ranges(robot)
    frame = robot.frame_names[-1]
    controller = ImpedanceController(robot, frame)
    q = np.zeros(robot.nv)
    both = np.isfinite(lower) & np.isfinite(upper)
    q[both] = 0.5 * (lower[both] + upper[both])
    drive = {'posture_stiffness': 5.0, 'posture_damping': 1.0, 'max_torque_rate': 1e6}
    given = ImpedanceGains(robot, np.zeros(6), np.zeros(6), joints=drive, largest_inertia=1e-3)
    plant = Plant(controller, q)
    plant.run(ImpedanceTarget(plant.pose, q + 3.0), given, 0.6)
    assert 'guard' in plant.acting
    beyond = np.maximum(plant.q - upper, lower - plant.q)
    # Torques are held for a millisecond, while joints without a range spin ever faster.
    assert beyond.max() < 0.01


def test_followers_narrow_the_range_of_their_leader():
    found = 0
    for seed in range(60):
        robot = Robot.from_urdf(random_urdf(seed, 5), backend='python')
        lower, upper = joint_ranges(robot)
        for joint in robot.model.joints:
            k = joint.v_indices[0]
            if joint.leader is None or not joint.kind.has_range:
                continue
            found += 1
            for end in (lower[k], upper[k]):
                place = joint.multiplier * end + joint.offset
                assert joint.limits.lower - 1e-9 <= place <= joint.limits.upper + 1e-9
    assert found > 5
