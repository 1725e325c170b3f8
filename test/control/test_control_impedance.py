# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A Cartesian impedance controller: stiffness, freedom and limits; its C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from impedance_plant import FREE, HOME, STEP, Plant, gains, turned
from laws import assert_close
from patience import examples
from planar_arms import planar_arm
from random_robots import SEEDS, random_robot
from tolerances import EXACT, LAW

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.control.impedance import FLAGS
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
    joint_ranges,
    operational_space_torques,
    selection_matrices,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import EffortModel


def test_a_tool_yields_as_its_stiffness_says_in_any_axes(panda, controller):
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 6)) * np.repeat([1.0, 0.2], 3)[:, None]
    K = np.diag(np.repeat([800.0, 40.0], 3)) + 200.0 * root @ root.T / 6.0
    both = np.kron(np.eye(2), turned(0.7, [1.0, 2.0, -1.0]))
    K = both @ K @ both.T
    given = gains(panda, K, K / 10.0)
    target = controller.target_at(HOME)
    push = np.array([2.0, -3.0, 1.0, 0.1, 0.2, -0.1])
    plant = Plant(controller, HOME).run(target, given, 6.0, push)
    moved = plant.pose[:3, 3] - target.pose[:3, 3]
    turn = plant.pose[:3, :3] @ target.pose[:3, :3].T
    vector = 0.5 * np.array(
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    )
    expected = np.linalg.solve(K, push)
    assert np.abs(plant.v).max() < 1e-3
    assert_close(np.concatenate([moved, vector]), expected, 0.01, scale=1e-6)


def test_the_posture_changes_and_the_tool_stays(panda, controller):
    target = controller.target_at(HOME)
    J = panda.jacobian(HOME, 'panda_hand')
    free = np.linalg.svd(J)[2][-1]
    other = ImpedanceTarget(target.pose, HOME + 0.5 * free)
    plant = Plant(controller, HOME)
    given = gains(panda, (2000.0, 100.0), (90.0, 9.0), {'posture_stiffness': 5.0})
    farthest = 0.0
    for _ in range(40):
        plant.run(other, given, 0.05)
        farthest = max(farthest, np.linalg.norm(plant.pose[:3, 3] - target.pose[:3, 3]))
    assert np.abs(plant.q - HOME).max() > 0.1
    assert farthest < 1e-4


def test_friction_is_compensated(panda, controller):
    v = 0.3 * np.ones(7)
    known = {'viscous': 2.0, 'coulomb': 1.0, 'friction_velocity': 0.01} | FREE
    state, target = ImpedanceState(HOME, v, STEP), controller.target_at(HOME)
    start = controller.start(HOME)
    said = [
        controller.step(state, target, gains(panda, joints=joints), start)
        for joints in (known, known | {'viscous': 0.0, 'coulomb': 0.0})
    ]
    assert_close(said[0].tau - said[1].tau, 2.0 * v + np.ones(7), LAW)


def test_friction_that_grows_with_the_load_is_compensated_for_all_that_a_joint_carries(
    panda, controller
):
    """The motor's torque leaves behind friction what the law wants: one formula is the inverse."""
    v = np.array([0.3, -0.2, 0.1, -0.4, 0.02, -0.01, 0.0])
    curve = {'viscous': 0.4, 'coulomb': 0.2, 'stribeck': 0.1} | {'friction_velocity': 0.02}
    load = np.linspace(0.0, 0.3, 7)
    state, start = ImpedanceState(HOME, v, STEP), controller.start(HOME)
    target = controller.target_at(HOME + 0.02)
    plain, loaded = (
        controller.step(state, target, gains(panda, joints=FREE | joints), start).tau
        for joints in ({}, curve | {'load_friction': load})
    )
    model = EffortModel.from_robot(panda, friction_velocity=0.02).with_values(
        viscous=0.4, coulomb=0.2, stribeck=0.1, load_friction=load
    )
    assert np.abs(plain - panda.gravity(HOME)).max() > 1.0
    assert_close(loaded, plain + model.friction_torque(v, plain), LAW)
    assert_close(model.joint_torque(loaded, v), plain, LAW)


def test_a_base_that_moves_is_refused():
    robot = Robot.from_urdf(planar_arm((0.5, 0.4)), 'floating', backend='python')
    with pytest.raises(InvalidArgumentError, match='its base is floating'):
        ImpedanceController(robot, 'tip')
    with pytest.raises(InvalidArgumentError, match=r'its base is floating; .* a base that rests'):
        ImpedanceGains(robot, np.ones(6), np.ones(6))


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        ({'stiffness': -np.ones(6)}, 'stiffness: .*without negative'),
        ({'damping': np.triu(np.ones((6, 6)))}, 'damping: .*symmetric'),
        ({'joints': {'stiff': 2.0}}, "joints: .*'stiff'"),
        ({'joints': {'max_torque': -1.0}}, 'max_torque: .*at least 0'),
        ({'joints': {'guard_rate': 0.0}}, 'guard_rate: 0'),
        ({'joints': {'lower': 1.0, 'upper': -1.0}}, 'lower: above upper'),
        ({'length': 0.0}, 'length'),
        ({'largest_inertia': np.nan}, 'largest_inertia'),
    ],
)
def test_gains_are_checked(panda, options, said):
    given = {'stiffness': np.ones(6), 'damping': np.ones(6)} | options
    with pytest.raises(InvalidArgumentError, match=said):
        ImpedanceGains(panda, **given)


NUMBERS = st.one_of(
    st.floats(-5.0, 5.0), st.sampled_from([np.nan, np.inf, -np.inf, 1e35, -1e200, 0.0])
)


def arguments(controller, given, q=HOME, v=None, memory=None):
    target = controller.target_at(q)
    state = ImpedanceState(q, np.zeros(7) if v is None else v, STEP)
    memory = controller.start(q) if memory is None else memory
    return [
        *(state.q, state.v, target.pose, target.twist, target.acceleration, target.wrench),
        *(target.posture, *given.arrays, np.zeros(7), memory, np.array(STEP)),
    ]


@examples(150)
@given(st.integers(0, 13), st.lists(NUMBERS, min_size=1, max_size=8), SEEDS)
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
    if which != 9:  # the limits themselves
        assert (np.abs(tau) <= 40.0).all()
    if which not in (9, 12, 13):
        assert np.abs(tau - panda.gravity(HOME)).max() <= 500.0 * STEP * (1.0 + EXACT)


@pytest.mark.parametrize(
    ('which', 'flag'), [(0, 'state'), (1, 'state'), (2, 'input'), (7, 'input'), (9, 'input'),
                        (10, 'input'), (11, 'input'), (12, 'memory'), (13, 'input')]
)  # fmt: skip
def test_a_number_that_is_none_has_a_name_and_ends_in_rest(panda, controller, which, flag):
    values = arguments(controller, gains(panda), v=0.4 * np.ones(7))
    values[which] = np.full_like(values[which], np.nan)
    told = [np.where(np.isfinite(x), x, 1e300) for x in values]
    _, _, flags = controller.kernel(*told)
    assert flags[FLAGS.index(flag)] == 1.0
    assert flags.sum() <= 4.0


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


ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM)


# Each against the quantities that define it.


@examples(15)
@given(SEEDS)
def test_hybrid_control_is_its_equation(arm, seed):
    rng = np.random.default_rng(seed)
    q, v = arm.random_configuration(rng), rng.normal(size=7)
    J, M = arm.jacobian(q, 'tool0'), arm.mass_matrix(q)
    if np.linalg.svd(J)[1].min() < 0.02:
        return
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation[:, 0] *= np.linalg.det(rotation)
    free = rng.uniform(size=6) < 0.5
    acceleration, wrench = rng.normal(size=(2, 6))
    Lambda = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    bias = arm.frame_acceleration(q, v, np.zeros(7), 'tool0')
    felt = Lambda @ J @ np.linalg.solve(M, arm.nonlinear_effects(q, v))
    S_M, S_F = selection_matrices(free, rotation)
    expected = J.T @ (Lambda @ (S_M @ acceleration - bias) - S_F @ wrench + felt)
    found = operational_space_torques(arm, q, v, 'tool0', acceleration, wrench, free, rotation)
    assert_close(found, expected, 1e-6)


def test_a_lost_state_is_answered_by_the_last_gravity_torques(panda, controller):
    plant = Plant(controller, HOME).run(controller.target_at(HOME + 0.1), gains(panda), 0.1)
    memory, last = plant.memory, plant.q.copy()
    target = controller.target_at(HOME)
    for _ in range(400):
        lost = ImpedanceState(np.full(7, np.nan), plant.v, STEP)
        said = controller.step(lost, target, gains(panda), memory)
        assert np.abs(said.tau - memory[7:14]).max() <= 1000.0 * STEP * (1.0 + EXACT)
        memory = said.memory
    assert said.acting == ('state',)
    near = controller.step(ImpedanceState(last, 0 * last, STEP), target, gains(panda), memory)
    assert_close(said.tau, panda.gravity(memory[:7]), LAW)
    assert np.isfinite(near.tau).all() and 'state' not in near.acting
