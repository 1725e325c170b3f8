# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A Cartesian impedance controller: what it promises of stiffness, freedom and energy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from impedance_plant import FREE, HOME, STEP, Plant, gains, turned
from laws import assert_close
from patience import examples
from planar_arms import planar_arm
from random_robots import SEEDS, random_robot
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.algorithms.control.impedance import impedance_step
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import EffortModel


@pytest.mark.parametrize('axes_of_tool', [False, True])
def test_a_tool_yields_as_its_stiffness_says_in_any_axes(panda, controller, axes_of_tool):
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 6)) * np.repeat([1.0, 0.2], 3)[:, None]
    K = np.diag(np.repeat([800.0, 40.0], 3)) + 200.0 * root @ root.T / 6.0
    R = turned(0.7, [1.0, 2.0, -1.0])
    given = gains(panda, K, K / 10.0, axes=R, axes_of_tool=axes_of_tool)
    target = controller.target_at(HOME)
    push = np.array([2.0, -3.0, 1.0, 0.1, 0.2, -0.1])
    plant = Plant(controller, HOME).run(target, given, 6.0, push)
    R_0K = target.pose[:3, :3] @ R if axes_of_tool else R
    both = np.kron(np.eye(2), R_0K)
    moved = plant.pose[:3, 3] - target.pose[:3, 3]
    turn = plant.pose[:3, :3] @ target.pose[:3, :3].T
    vector = 0.5 * np.array(
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    )
    expected = np.linalg.solve(both @ K @ both.T, push)
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


def test_friction_is_compensated_and_is_no_work_of_the_controller(panda, controller):
    v = 0.3 * np.ones(7)
    known = {'viscous': 2.0, 'coulomb': 1.0, 'friction_velocity': 0.01} | FREE
    state, target = ImpedanceState(HOME, v, STEP), controller.target_at(HOME)
    start = controller.start(HOME)
    said = [
        controller.step(state, target, gains(panda, joints=joints), start)
        for joints in (known, known | {'viscous': 0.0, 'coulomb': 0.0})
    ]
    assert_close(said[0].tau - said[1].tau, 2.0 * v + np.ones(7), LAW)
    moved = ImpedanceState(HOME + STEP * v, v, STEP)
    left = [
        controller.energy(controller.step(moved, target, gains(panda), x.memory).memory)
        for x in said
    ]
    assert left[0] == pytest.approx(left[1], abs=1e-6)


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


def test_a_wall_is_pressed_as_hard_as_wanted_whatever_the_gains(panda, controller):
    """Closed-loop force along z, a wall of 20 kN/m below the tool; x and y keep their springs."""
    target = controller.target_at(HOME)
    floor = target.pose[2, 3] - 0.002

    def wall(plant, _):
        depth = floor - plant.pose[2, 3]
        speed = (panda.jacobian(plant.q, 'panda_hand') @ plant.v)[2]
        return np.array([0, 0, max(0.0, 20000.0 * depth - 100.0 * speed), 0, 0, 0])

    only_z = np.eye(6)[2]
    force = {'selected': only_z, 'proportional': 0.3, 'integral': 5.0, 'integral_limit': 50.0}
    pressing = ImpedanceTarget(target.pose, HOME, wrench=12.0 * only_z)
    given = gains(panda, damping=(200.0, 8.0), force=force)
    plant = Plant(controller, HOME)
    for _ in range(3000):
        plant.run(pressing, given, STEP, wall, wall(plant, 0.0))
    assert wall(plant, 0.0)[2] == pytest.approx(12.0, rel=0.02)
    assert np.abs(plant.pose[:2, 3] - target.pose[:2, 3]).max() < 1e-3
    assert 'force_integral' not in plant.acting
    # A wall that is gone: the integral ends at its bound and the flag says so.
    plant.run(pressing, gains(panda, force=force | {'integral_limit': 3.0}), 0.5, None, np.zeros(6))
    assert 'force_integral' in plant.acting


# Energy.


def restless(panda, controller, energy, capacity):
    """A tool in honey, soft while it is pushed away and stiff on its way back: it is pumped up."""
    target = controller.target_at(HOME)
    plant = Plant(controller, HOME, energy)
    rng = np.random.default_rng(3)
    options = {'energy_capacity': capacity, 'joints': {'max_torque_rate': 5000.0}}
    soft, stiff = (gains(panda, (k, 5.0), (1.0, 0.3), **options) for k in (50.0, 1500.0))

    def honey(plant, _):
        pushed = np.append(rng.normal(size=3) * 10.0, np.zeros(3))
        return pushed - 10.0 * panda.jacobian(plant.q, 'panda_hand') @ plant.v

    most = 0.0
    for _ in range(4000):
        away = plant.pose[:3, 3] - target.pose[:3, 3]
        speed = (panda.jacobian(plant.q, 'panda_hand') @ plant.v)[:3]
        plant.run(target, soft if away @ speed > 0.0 else stiff, STEP, honey)
        most = max(most, plant.given)
    return plant, most


def test_no_more_energy_is_taken_out_than_is_in_the_tank(panda, controller):
    capacity = 1.0
    plant, taken = restless(panda, controller, capacity, capacity)
    assert taken <= capacity
    assert 'energy' in plant.acting
    _, without = restless(panda, controller, np.inf, np.inf)
    assert without > 3.0 * capacity


# Limits.


# The law is one function: floats, symbols, machine code.


@examples(8)
@given(st.integers(0, 30), SEEDS)
def test_traced_and_on_floats_it_is_the_same(tree, seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(tree, 3)
    controller = ImpedanceController(robot, robot.frame_names[-1])
    q = robot.random_configuration(rng)
    memory = controller.start(robot.random_configuration(rng), energy=rng.uniform(0.0, 5.0))
    options = {'energy_capacity': 4.0, 'axes_of_tool': bool(seed % 2)}
    joints = {'margin': 0.3, 'limit_stiffness': 30.0, 'viscous': 0.3, 'coulomb': 0.2}
    given = gains(robot, joints=joints, **options)
    target = ImpedanceTarget(
        robot.forward_kinematics(robot.random_configuration(rng), controller.frame),
        robot.random_configuration(rng),
        *rng.normal(size=(3, 6)),
    )
    state = ImpedanceState(q, rng.normal(size=robot.nv), 0.002, rng.normal(size=6))
    values = [
        *(state.q, state.v, state.wrench, target.pose, target.twist, target.acceleration),
        *(target.wrench, target.posture, given.stiffness, given.damping, given.axes),
        *(given.force, given.joints, given.settings, memory, state.interval),
    ]
    floats = [x.tolist() if isinstance(x, np.ndarray) else x for x in values]
    frame = robot.model.frame(controller.frame)
    for said, expected in zip(
        controller.step(state, target, given, memory),
        impedance_step(robot.model, frame, *floats),
        strict=True,
    ):
        assert_close(said, np.array(expected), 1e-6)


# What is refused.


def test_a_base_that_moves_is_refused():
    robot = Robot.from_urdf(planar_arm((0.5, 0.4)), 'floating', backend='python')
    with pytest.raises(InvalidArgumentError, match='its base is floating'):
        ImpedanceController(robot, 'tip')


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        ({'stiffness': -np.ones(6)}, 'stiffness: .*without negative'),
        ({'damping': np.triu(np.ones((6, 6)))}, 'damping: .*symmetric'),
        ({'axes': -np.eye(3)}, 'axes: .*a rotation'),
        ({'force': {'selected': 2.0}}, 'selected: .*from 0 to 1'),
        ({'force': {'gain': 2.0}}, "force: .*'gain'"),
        ({'joints': {'stiff': 2.0}}, "joints: .*'stiff'"),
        ({'joints': {'max_torque': -1.0}}, 'max_torque: .*at least 0'),
        ({'joints': {'guard_rate': 0.0}}, 'guard_rate: 0'),
        ({'joints': {'lower': 1.0, 'upper': -1.0}}, 'lower: above upper'),
        ({'length': 0.0}, 'length'),
        ({'largest_inertia': np.nan}, 'largest_inertia'),
        ({'energy_capacity': -1.0}, 'energy_capacity'),
        ({'energy_horizon': 0.0}, 'energy_horizon'),
    ],
)
def test_gains_are_checked(panda, options, said):
    given = {'stiffness': np.ones(6), 'damping': np.ones(6)} | options
    with pytest.raises(InvalidArgumentError, match=said):
        ImpedanceGains(panda, **given)


@pytest.mark.parametrize('part', ['pose', 'twist', 'acceleration', 'wrench', 'posture'])
def test_targets_are_checked(part):
    given = {'pose': np.eye(4), 'posture': HOME}
    with pytest.raises(InvalidArgumentError, match=part):
        ImpedanceTarget(**(given | {part: np.full(6 if part != 'pose' else (4, 4), np.nan)}))
