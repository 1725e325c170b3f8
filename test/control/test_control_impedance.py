# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A Cartesian impedance controller: what it promises of stiffness, freedom, limits and faults."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import assert_close
from planar_arms import planar_arm
from random_robots import SEEDS, random_robot, random_urdf
from tolerances import EXACT, LAW

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.control.impedance import FLAGS, impedance_step
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
    joint_ranges,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.spatial import rotation_about
from dynamics_ros.spatial.vector import Vector3

HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.8, 0.4])
STEP = 1e-3
FREE = {'lower': -9.0, 'upper': 9.0, 'guard_rate': 1e3, 'max_torque_rate': np.inf}
"""Settings of joints that nothing limits but the efforts of the description."""


@pytest.fixture(scope='module')
def panda():
    robot = Robot.from_urdf(urdf_path('panda'), locked_joints={'panda_finger_joint1': 0.02})
    robot.kernel('impedance_step', 'panda_hand').wait()
    return robot


@pytest.fixture(scope='module')
def controller(panda):
    return ImpedanceController(panda, 'panda_hand')


def turned(angle, axis):
    R = rotation_about(Vector3(*(np.array(axis) / np.linalg.norm(axis))), angle)
    return np.array([[*row] for row in R])


def gains(robot, stiffness=(1000.0, 50.0), damping=(60.0, 5.0), joints=None, **options):
    own = {'posture_stiffness': 10.0, 'posture_damping': 2.0} | (joints or {})
    three = [np.repeat(x, 3) if np.ndim(x) == 1 else x for x in (stiffness, damping)]
    return ImpedanceGains(robot, *three, joints=own, **options)


class Plant:
    """A robot in steps of a tenth of the controller's, and what its controller said."""

    def __init__(self, controller, q, energy=np.inf):
        self.controller, self.robot = controller, controller.robot
        self.q, self.v = q.copy(), np.zeros(self.robot.nv)
        self.memory = controller.start(q, energy=energy)
        self.tau = self.robot.gravity(q)
        self.acting: set[str] = set()
        self.steepest = 0.0
        self.given = 0.0
        """Work of the torques beside gravity's [J]."""

    def run(self, target, gains, duration, push=None, measured=None):
        robot, frame = self.robot, self.controller.frame
        for k in range(round(duration / STEP)):
            pushed = np.zeros(robot.nv)
            if push is not None:
                wrench = push(self, k * STEP) if callable(push) else push
                pushed = robot.jacobian(self.q, frame).T @ wrench
            state = ImpedanceState(self.q, self.v, STEP, *([] if measured is None else [measured]))
            said = self.controller.step(state, target, gains, self.memory)
            self.steepest = max(self.steepest, np.abs((said.tau - self.tau) / STEP).max())
            self.tau, self.memory = said.tau, said.memory
            self.acting |= set(said.acting)
            carried = robot.gravity(self.q)
            before = self.q
            for _ in range(4):
                a = robot.forward_dynamics(self.q, self.v, said.tau + pushed)
                self.v = self.v + 0.25 * STEP * a
                self.q = robot.integrate(self.q, 0.25 * STEP * self.v)
            self.given += (said.tau - carried) @ robot.difference(before, self.q)
        return self

    @property
    def pose(self):
        return self.robot.forward_kinematics(self.q, self.controller.frame)


# What a tool does.


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


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_no_posture_torque_accelerates_the_tool(panda, controller, seed):
    """J a + J-dot v is what springs, dampers and the wanted acceleration make of it, exactly."""
    rng = np.random.default_rng(seed)
    q, v = HOME + 0.2 * rng.normal(size=7), 0.5 * rng.normal(size=7)
    springs = {'posture_stiffness': 2.0, 'posture_damping': 0.5}
    given = gains(panda, (0.0, 0.0), (0.0, 0.0), springs | FREE)
    wanted = rng.normal(size=6)
    target = ImpedanceTarget(
        panda.forward_kinematics(q, 'panda_hand'), rng.normal(size=7), acceleration=wanted
    )
    said = controller.step(ImpedanceState(q, v, STEP), target, given, controller.start(q))
    if not said.acting:
        a = panda.forward_dynamics(q, v, said.tau)
        assert_close(panda.frame_acceleration(q, v, a, 'panda_hand'), wanted, 1e-6)


def test_a_payload_is_carried(panda):
    loaded = panda.with_payload('panda_hand', 2.0, [0.0, 0.0, 0.1])
    controller = ImpedanceController(loaded, 'panda_hand')
    target = controller.target_at(HOME)
    said = controller.step(
        ImpedanceState(HOME, np.zeros(7), STEP), target, gains(loaded), controller.start(HOME)
    )
    assert_close(said.tau, loaded.gravity(HOME), EXACT)


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


def test_an_empty_tank_brakes_and_does_not_drive(panda, controller):
    target = controller.target_at(HOME)
    plant = Plant(controller, HOME, energy=0.0)
    away = target.pose.copy()
    away[0, 3] += 0.2
    plant.run(ImpedanceTarget(away, HOME), gains(panda, energy_capacity=0.0), 0.5)
    assert np.linalg.norm(plant.pose[:3, 3] - target.pose[:3, 3]) < 1e-4
    assert 'energy' in plant.acting
    plant.v = 0.3 * np.ones(7)
    moving = plant.robot.kinetic_energy(plant.q, plant.v)
    plant.run(target, gains(panda, energy_capacity=0.0), 0.5)
    assert plant.robot.kinetic_energy(plant.q, plant.v) < 0.2 * moving


# Limits.

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


@settings(max_examples=150, deadline=None)
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


def test_a_target_that_is_no_number_brakes(panda, controller):
    plant = Plant(controller, HOME)
    plant.v = 0.5 * np.ones(7)
    target = controller.target_at(HOME)
    object.__setattr__(target, 'pose', target.pose * np.nan)
    plant.run(target, gains(panda), 1.0)
    assert 'input' in plant.acting
    assert np.abs(plant.v).max() < 0.01


def test_arrays_of_another_shape_are_refused(controller, panda):
    with pytest.raises(InvalidArgumentError, match='memory'):
        controller.step(
            ImpedanceState(HOME, HOME, STEP), controller.target_at(HOME), gains(panda), np.zeros(3)
        )


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


def test_no_joint_is_driven_beyond_its_range(panda, controller):
    lower, upper = joint_ranges(panda)
    for side, ends in ((-1.0, lower), (1.0, upper)):
        plant = Plant(controller, HOME)
        target = ImpedanceTarget(plant.pose, ends + side * 0.4)
        springs = {'posture_stiffness': 30.0, 'posture_damping': 3.0, 'max_torque_rate': 1e5}
        given = gains(panda, (0.0, 0.0), (0.0, 0.0), springs, largest_inertia=1e-3)
        plant.run(target, given, 3.0)
        assert 'guard' in plant.acting
        # Several joints that are pushed at once lean on each other.
        assert (side * (plant.q - ends)).max() < 0.05
        assert (np.abs(plant.q - ends) < 0.1).any()


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


def test_the_potential_pushes_back_before_the_end(panda, controller):
    _, upper = joint_ranges(panda)
    q = HOME.copy()
    q[5] = upper[5] - 0.05
    potential = {'margin': 0.1, 'limit_stiffness': 40.0}
    given = gains(panda, (0.0, 0.0), (0.0, 0.0), potential | {'max_torque_rate': np.inf})
    given.joints[JOINT_GUARD] = 1e3
    said = controller.step(
        ImpedanceState(q, np.zeros(7), STEP), controller.target_at(q), given, controller.start(q)
    )
    assert said.acting == ('joint_limit',)
    expected = np.zeros(7)
    expected[5] = -40.0 * 0.05
    assert_close(said.tau - panda.gravity(q), expected, LAW)


JOINT_GUARD = 6


# The law is one function: floats, symbols, machine code.


@settings(max_examples=8, deadline=None)
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
