# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion of an arm in MuJoCo whose joint states freeze or contradict themselves.

`scripts/bench control --part faults` measures more arms, rates and subsets of joints.
"""

from __future__ import annotations

from dataclasses import replace

import mujoco  # noqa: F401 (without it there is nothing to test)
import numpy as np
import pytest
from patience import times
from scipy.spatial.transform import Rotation

from benchmarks.control_faults import ALLOWED, DRIVERS, FAULTS, cells
from dynamics_ros.commanding.joint_states import softened
from dynamics_ros.control import (
    ArmSettings,
    Compliance,
    CompliantArm,
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
)
from dynamics_ros.simulation import comfortable_posture

LATEST, LATEST_IF_LATE = 0.0201, 0.0601
"""Time in which a fault of a moving joint is detected at 1 kHz, and a velocity that stays 0, which
could be late [s]."""


@pytest.fixture(scope='module', params=[0.0, 0.1], ids=['bare', 'rotors'])
def cell(request):
    return next(cells('arm', request.param))


@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize('mode', ['twist', 'guiding', 'braking', 'rest'])
@pytest.mark.few(8)
def test_an_arm_with_wrong_joint_states_is_braked(cell, fault, mode):
    speed, energy = ALLOWED.get(fault, (0.5, 2.0))
    for joints in (range(7), *([number] for number in times((3,), (1, 3, 5)))):
        outcome = cell.run(fault, joints, mode, 1000.0)
        assert outcome.speed <= speed, joints
        assert outcome.energy <= energy, joints
        if fault == 'v = 0':
            assert outcome.detected <= LATEST_IF_LATE, joints
        if mode == 'twist' and len(joints) == 7:
            assert outcome.detected <= LATEST
            wrong_velocity = fault in ALLOWED
            assert outcome.code == f'states_{"contradictory" if wrong_velocity else "frozen"}'


def test_an_arm_that_stays_blind_gets_gravity_torques_and_slows_down(cell):
    cell.run('q and v repeated', range(7), 'twist', 1000.0)
    assert cell.prepared.check.lasting
    assert np.abs(cell.tau - cell.robot.gravity(cell.q)).max() < 2.0
    assert cell.speed < 0.3


@pytest.mark.parametrize('driver', DRIVERS)
@pytest.mark.parametrize('slow', [False, True], ids=['usual', 'slow'])
@pytest.mark.few(2)
def test_true_joint_states_stop_nothing(driver, slow):
    cell = next(cells('arm', 0.1))
    usual = (('twist', 1000.0), ('guiding', 250.0))
    for mode, rate in times(usual, (*usual, ('twist', 250.0), ('guiding', 1000.0))):
        assert cell.stops(driver, mode, rate, slow=slow) == (0, ''), (mode, rate)
    assert cell.stops(driver, 'twist', 500.0, slow=slow, wall=True) == (0, '')


MODES = ('twist', 'pose', 'guiding', 'braking', 'float')


def speeds(cell, mode, rate, push):
    """Joint speeds [rad/s] of a second, for a force of 0.2 s on the tool."""
    cell.place()
    goal, found = np.array(cell.prepared.arm.pose), []
    for k in range(round(rate)):
        pushed = 0.1 <= k / rate < 0.3
        cell.advance(1.0 / rate, (lambda v: push) if pushed else None)
        cell.control((cell.q, cell.v, cell.tau), 1.0 / rate, mode, goal, np.zeros(6))
        found.append(np.abs(cell.v).max())
    return np.array(found)


@pytest.mark.parametrize('name', ['arm', 'xarm7'])
@pytest.mark.parametrize('rotors', [0.0, 0.1])
def test_a_light_wrist_comes_to_rest_however_rare_its_states_are(name, rotors):
    """Springs of 10 Nm/rad, and a damper of 0.5 Nms/rad, swung wrists at 10 to 25 rad/s."""
    cell = next(cells(name, rotors))
    for rate in (50.0, 100.0, 250.0, 1000.0):
        for mode in MODES:
            assert speeds(cell, mode, rate, np.zeros(3)).max() < 1e-3, (rate, mode)
        for mode in ('twist', 'braking', 'guiding'):
            found = speeds(cell, mode, rate, np.array([12.0, -12.0, 8.0]))
            assert found[-10:].max() < 0.7 * found.max(), (rate, mode)
            assert found[-10:].max() < 1.0, (rate, mode)


@pytest.mark.parametrize('dt', [0.004, 0.01, 0.02])
def test_springs_of_joint_ranges_do_not_swing_a_light_wrist(dt):
    robot = next(cells('xarm7', 0.0)).robot
    tool = 'link_eef'
    q, v = comfortable_posture(robot, tool), np.zeros(robot.nv)
    joints = {'posture_stiffness': 5.0, 'posture_damping': 2.0, 'margin': 0.2}
    joints |= {'limit_stiffness': 100.0, 'upper': q + np.append(np.ones(6), 0.15)}
    settings = ArmSettings(Compliance(np.diag([400.0] * 3 + [10.0] * 3)), joints=joints)
    arm = CompliantArm(ImpedanceController(robot, tool), settings)
    arm.start(q, v)
    for _ in range(round(2.0 / dt)):
        tau = arm.approach(q, v, dt, None)
        for _ in range(round(dt / 5e-4)):
            v = v + 5e-4 * robot.forward_dynamics(q, v, tau)
            q = robot.integrate(q, 5e-4 * v)
    assert np.abs(v).max() < 0.02


@pytest.mark.parametrize('dt', [0.001, 0.004, 0.02])
def test_the_stiffness_that_the_interval_allows_is_that_of_the_torques(dt):
    """The law is softer about a light wrist; how much is reported once."""
    cell = next(cells('xarm7', 0.0))
    cell.place()
    arm, robot, small = cell.prepared.arm, cell.robot, 1e-4
    controller = arm.controller
    gains = ImpedanceGains(
        robot,
        arm.settings.compliance.stiffness,
        np.zeros(6),
        joints={'max_torque_rate': np.inf, 'max_torque': np.inf},
    )
    target, state = controller.target_at(cell.q), ImpedanceState(cell.q, cell.v, dt)
    torques = []
    for turn in (-small, small):
        pose = target.pose.copy()
        pose[:3, :3] = Rotation.from_rotvec([0.0, turn, 0.0]).as_matrix() @ pose[:3, :3]
        moved = ImpedanceTarget(pose, cell.q)
        torques.append(controller.step(state, moved, gains, controller.start(cell.q)).tau)
    J = robot.jacobian(cell.q, cell.frame)
    wrench = np.linalg.lstsq(J.T, (torques[1] - torques[0]) / (2.0 * small), rcond=None)[0]
    assert arm.held_stiffness(dt)[4] == pytest.approx(wrench[4], rel=1e-5)
    warning = softened(arm, dt)
    assert bool(warning) == (dt > 0.001)
    if warning:
        assert warning.reason.value == 'stiffness_reduced'
        assert f'{wrench[4]:.3g} Nm/rad about y, instead of 10' in warning


@pytest.mark.parametrize('name', ['arm', 'xarm7'])
@pytest.mark.parametrize('rate', [250.0, 1000.0])
def test_a_locked_tool_gives_way_only_for_a_moment_if_one_state_is_late(name, rate):
    """A hand presses with 20 N while one state comes 20 ms late."""

    def deflections(late):
        cell = next(cells(name, 0.0))
        cell.place()
        arm, found = cell.prepared.arm, []
        guiding = replace(arm.settings.guiding, locked=np.ones(6, dtype=bool))
        arm.settings = replace(arm.settings, guiding=guiding)
        height = arm.pose[2, 3]
        for k in range(round(1.4 * rate)):
            dt = 1.0 / rate + late * (k == round(rate))
            pressed = k > 0.2 * rate
            cell.advance(dt, (lambda v: np.array([0.0, 0.0, 20.0])) if pressed else None)
            cell.tau = arm.guide(cell.q, cell.v, dt)
            found.append(arm.pose[2, 3] - height)
        return np.array(found)

    usual, late = deflections(0.0), deflections(0.02)
    assert late.max() < 1.7 * usual.max()
    assert abs(late[-1] - usual[-1]) < 0.1 * usual[-1]
