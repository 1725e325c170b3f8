# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arms that are commanded: their joints, bounds and states; one that is replaced is freed."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path

import numpy as np
import pytest
from arm import NAMES, ROBOT
from ros_harness import description

from dynamics_ros import Robot
from dynamics_ros.commanding.arm import PreparedArm, arm_settings, selected
from dynamics_ros.commanding.arm_state import BRAKED, LEAVING, ArmState, after
from dynamics_ros.commanding.joints import (
    commanded_joints,
    moved_joints,
    nearest_equivalent_angles,
    turning_joints,
)
from dynamics_ros.commanding.prepared_servo import PreparedServo
from dynamics_ros.control import CompliantArm, ImpedanceController
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.contact_settings import ContactSettings
from dynamics_ros.parameters.impedance import ImpedanceParameters, TorqueParameters
from dynamics_ros.parameters.servo import ServoParameters


def test_a_joint_whose_torque_nothing_bounds_is_not_commanded():
    robot = Robot.from_urdf(re.sub(r' effort="[^"]*"', '', description(), count=1))
    values = ImpedanceParameters(frame='tool0', command_joints=robot.joint_names)
    with pytest.raises(InvalidArgumentError, match=rf'torque\.limit.*{robot.joint_names[0]!r}'):
        selected(robot, values, 'tool0')
    bounded = ImpedanceParameters(
        frame='tool0', command_joints=robot.joint_names, torque=TorqueParameters(limit=(30.0,))
    )
    assert selected(robot, bounded, 'tool0')[0] == 'tool0'


@pytest.mark.parametrize(('given', 'brakes'), [({}, False), ({'joint_speed_share': 0.3}, True)])
def test_a_joint_beyond_the_share_of_its_speed_ends_what_the_arm_does(given, brakes):
    robot, values = ROBOT, ImpedanceParameters(**given)
    settings = arm_settings(robot, values, np.diag(values.stiffness))
    arm = CompliantArm(ImpedanceController(robot, 'tool0'), settings)
    q, v = robot.neutral(), np.zeros(robot.nv)
    arm.start(q, v)
    v[3] = 0.4 * robot.velocity_limits[3]
    arm.approach(q, v, 0.001, arm.pose)
    assert ('speed' in arm.acting) == brakes


def test_directions_without_stiffness_are_damped_as_in_guiding():
    robot, values = ROBOT, ImpedanceParameters()
    settings = arm_settings(robot, values, np.diag([400.0, 0.0, 400.0, 10.0, 10.0, 0.0]))
    wanted = np.diag([0.0, values.guiding.damping[1], 0.0, 0.0, 0.0, values.guiding.damping[5]])
    np.testing.assert_allclose(settings.compliance.least_damping, wanted, atol=1e-9)
    stiff = arm_settings(robot, values, np.diag(values.stiffness))
    assert not stiff.compliance.least_damping.any()


def test_free_rotations_of_a_small_wrist_are_not_refused_because_of_their_damping():
    robot, values = ROBOT, ImpedanceParameters()
    free = arm_settings(robot, values, np.diag([1000.0, 1000.0, 1000.0, 0.0, 0.0, 0.0]))
    arm = CompliantArm(ImpedanceController(robot, 'tool0'), free)
    q = robot.nominal()
    arm.start(q, np.zeros(robot.nv))
    arm.check(free, guided=False, interval=0.004)


def test_the_documented_transitions_are_those_of_the_code():
    text = (Path(__file__).parents[2] / 'docs' / 'control.md').read_text()
    section = text.split('### States of the arm\n')[1].split('\n### ')[0]
    rows = re.findall(r'^\| (\w+) \| [^|]* \| ([^|]*)\|$', section, re.MULTILINE)
    written = {
        ArmState[name.upper()]: {ArmState[x.upper()] for x in re.findall(r'\w+', following)}
        for name, following in rows[1:]
    }
    made = {x: {y for y in ArmState if after(x, y) is not x} - {ArmState.OFF} for x in ArmState}
    assert written == made


def test_each_state_that_sends_torques_can_end_and_none_resumes_from_its_end():
    for state in set(ArmState) - {ArmState.OFF}:
        assert after(state, ArmState.ENDING) in LEAVING
        assert after(state, ArmState.OFF) is ArmState.OFF
    for state in LEAVING:
        for wanted in set(ArmState) - {ArmState.OFF}:
            assert after(state, wanted) in LEAVING
    assert BRAKED > LEAVING


ELBOW = 'forearm_link'


def test_an_effort_controller_has_to_have_all_joints_that_move_the_frame():
    with pytest.raises(InvalidArgumentError, match=f'{NAMES[0]!r} moves .* and is missing'):
        commanded_joints(ROBOT, 'tool0', NAMES[1:], 'effort')
    with pytest.raises(UnknownJointError, match='command_joints'):
        commanded_joints(ROBOT, 'tool0', [*NAMES, 'tail'], 'effort')


@pytest.mark.parametrize('joints', [[], [*NAMES, NAMES[0]]])
@pytest.mark.parametrize('kind', ['effort', 'velocity'])
def test_arrays_without_an_order_are_refused(joints, kind):
    with pytest.raises(InvalidArgumentError, match='in its order'):
        commanded_joints(ROBOT, ELBOW, joints, kind)


def test_a_servo_commands_what_moves_its_frame_unless_it_is_told():
    moving = [name for name, moves in zip(NAMES, moved_joints(ROBOT, ELBOW), strict=True) if moves]
    assert 0 < len(moving) < len(NAMES)
    assert commanded_joints(ROBOT, ELBOW, (), 'trajectory') == tuple(moving)
    assert commanded_joints(ROBOT, ELBOW, NAMES[:2], 'velocity') == tuple(NAMES[:2])
    with pytest.raises(InvalidArgumentError, match='no joint moves'):
        moved_joints(ROBOT, ROBOT.root_frame)


TURNING = np.array([True, False, True])


@pytest.mark.parametrize(
    ('told', 'before', 'expected'),
    [
        ([-3.1, 0.0, 0.0], [3.1, 0.0, 0.0], [2.0 * np.pi - 3.1, 0.0, 0.0]),
        ([3.1, 0.0, 0.0], [-3.1, 0.0, 0.0], [3.1 - 2.0 * np.pi, 0.0, 0.0]),
        ([0.1, 0.0, 0.2], [0.0, 0.0, 6.0 * np.pi], [0.1, 0.0, 0.2 + 6.0 * np.pi]),
        # One with a range has jumped.
        ([0.0, -3.1, 0.0], [0.0, 3.1, 0.0], [0.0, -3.1, 0.0]),
        # So has one that is half a turn away, or nearly so.
        ([2.9, 0.0, 0.0], [0.0, 0.0, 0.0], [2.9, 0.0, 0.0]),
    ],
)
def test_angles_of_continuous_joints_go_on_where_a_driver_wraps_them(told, before, expected):
    assert nearest_equivalent_angles(np.array(told), np.array(before), TURNING) == pytest.approx(
        expected
    )


def test_only_continuous_joints_that_lead_no_other_may_be_told_turns_off():
    links = ''.join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link>'
        for name in 'abcdef'
    )

    def joint(name, kind, parent, child, more=''):
        return (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/>{more}'
            '</joint>'
        )

    joints = [
        joint('turns', 'continuous', 'a', 'b'),
        joint('ends', 'revolute', 'b', 'c'),
        joint('leads', 'continuous', 'c', 'd'),
        joint('follows', 'continuous', 'd', 'e', '<mimic joint="leads" multiplier="0.5"/>'),
        joint('slides', 'prismatic', 'e', 'f'),
    ]
    robot = Robot.from_urdf(f'<robot name="x">{links}{"".join(joints)}</robot>')
    found = turning_joints(robot)
    turning = [name for name, place in robot.joint_q_indices.items() if found[place]]
    assert turning == ['turns']


def arm(robot):
    joints = tuple(robot.joint_names)
    return PreparedArm.of(robot, ImpedanceParameters(command_joints=joints), robot.tool_frame)


def servo(robot):
    return PreparedServo.of(robot, ServoParameters(), robot.tool_frame, None)


def contacts(robot):
    return ContactPipeline(robot, ContactSettings(), robot.tool_frame)


def inverse_kinematics(robot):
    return robot.inverse_kinematics(robot.forward_kinematics(robot.neutral()))


@pytest.mark.parametrize('use', [arm, servo, contacts, inverse_kinematics])
def test_a_robot_is_freed_without_the_garbage_collector(use):
    robot = Robot.from_urdf(description())
    made = use(robot)
    freed = weakref.ref(robot)
    gc.collect()
    gc.disable()
    try:
        del robot, made
        assert freed() is None
    finally:
        gc.enable()
