# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node leads an arm: how far, how straight, and when it stops."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from numpy.testing import assert_allclose
from ros_harness import shared
from servo_harness import ROBOT, SERVO, SPEED, MovingPlay, Q, play
from std_srvs.srv import SetBool

from dynamics_ros.wire.conversions import pose_message

pytestmark = pytest.mark.ros

DOMAIN = 82
NODE, TIP = SERVO.strip('/'), 'tool0'
NEAR = 2e-3
"""m, rad: what an arm is off that is a period behind its commands on a busy machine."""


class Arm(MovingPlay):
    """An arm that is where it is sent, a period later."""

    @property
    def pose(self):
        return ROBOT.forward_kinematics(self.q, TIP)

    def lead_to(self, matrix, frame_id=''):
        message = PoseStamped(pose=pose_message(matrix))
        message.header.frame_id = frame_id
        self.ros.publish(f'{SERVO}/pose_command', message)

    def go(self, matrix, frame_id=''):
        self.report()
        self.lead_to(matrix, frame_id)

    def wait_until_it_waits(self):
        """For a command; that a busy machine held it up is told until the next one."""

        def settle():
            self.report()
            if 'held up' in self.status or 'have not come' in self.status:
                self.lead()

        self.wait_for_status('waiting for a command', settle)

    def begin(self):
        """At rest where it always begins, with the servo waiting for a command."""
        self.twist, self.frame_id = [0.0] * 6, ''
        self.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=False))
        self.wait_for_status('following', self.both)
        self.wait_until_it_waits()
        del self.commands[:]  # which it would move to
        self.q = Q.copy()
        self.pass_time(0.1, self.report)


played = shared(play, DOMAIN, robot=Arm)


@pytest.fixture
def arm(played):
    played.begin()
    return played


def test_it_is_quiet_until_it_is_told_something(arm):
    before = list(arm.commands)
    arm.pass_time(1.0, arm.report)
    assert arm.commands == before
    arm.ros.wait_for_status(NODE, 'publishing', meanwhile=arm.report)


@pytest.mark.parametrize('frame_id', ['', TIP])
def test_a_twist_moves_the_tip_by_what_it_says(arm, frame_id):
    direction = np.array([0.0, 0.6, -0.8]) if frame_id == '' else np.array([0.0, 0.0, -1.0])
    along = arm.pose[:3, :3] @ direction if frame_id else direction
    arm.twist, arm.frame_id = [*(SPEED * direction), 0.0, 0.0, 0.0], frame_id
    arm.wait_for_velocity(SPEED * along, arm.both)
    before = arm.pose
    arm.ros.wait_for(
        lambda: along @ (arm.pose[:3, 3] - before[:3, 3]) > 0.03, meanwhile=arm.both, period=0.004
    )
    moved = arm.pose[:3, 3] - before[:3, 3]
    assert np.linalg.norm(moved - along * (along @ moved)) < NEAR
    assert_allclose(arm.pose[:3, :3], before[:3, :3], atol=NEAR)


def test_a_pose_is_reached(arm):
    target, home = arm.pose, arm.pose
    turn = np.array([[0.0, -0.2, 0.1], [0.2, 0.0, 0.0], [-0.1, 0.0, 0.0]])
    u, _, vt = np.linalg.svd(np.eye(3) + turn)
    target[:3, :3] = (u @ vt) @ target[:3, :3]
    target[:3, 3] += [-0.05, 0.06, -0.08]
    for wanted in (target, home):
        arm.ros.wait_for(
            lambda wanted=wanted: np.abs(arm.pose - wanted).max() < 1e-3,
            meanwhile=lambda wanted=wanted: arm.go(wanted),
        )


def test_a_pose_in_a_frame_of_the_tool_is_where_that_was(arm):
    arm.wait_for_status('following pose_command', lambda: arm.go(np.eye(4), TIP))
    assert arm.ros.set_parameter(NODE, 'command_timeout', 10.0).successful
    arm.begin()
    before, offset = arm.pose, np.eye(4)
    offset[2, 3] = -0.03
    arm.lead_to(offset, TIP)  # once: a later one would lie further on
    arm.ros.wait_for(
        lambda: np.abs(arm.pose - before @ offset).max() < 1e-3, meanwhile=arm.report, period=0.004
    )
    arm.pass_time(0.5, arm.report)
    assert np.abs(arm.pose - before @ offset).max() < 1e-3
    assert arm.ros.set_parameter(NODE, 'command_timeout', 0.25).successful


def test_it_stops_when_commands_cease_and_says_nothing_more(arm):
    arm.twist = [0.0, SPEED, 0.0, 0.0, 0.0, 0.0]
    arm.wait_for_velocity([0.0, SPEED, 0.0], arm.both)
    arm.twist = [0.0] * 6
    arm.wait_until_it_waits()
    arm.pass_time(0.5, arm.report)  # what was on its way has come
    last = arm.commands[-1]
    assert not np.any(last.points[0].velocities)
    arm.pass_time(0.5, arm.report)
    assert arm.commands[-1] is last


def test_a_frame_that_nobody_knows_halts_it_with_the_reason(arm):
    arm.twist = [0.0, SPEED, 0.0, 0.0, 0.0, 0.0]
    arm.wait_for_velocity([0.0, SPEED, 0.0], arm.both)
    arm.frame_id = 'nowhere'
    assert 'halted' in arm.wait_for_status("'nowhere'", arm.both).message
    arm.wait_for_stop(arm.both)
    arm.ros.wait_for_status(NODE, "'nowhere'", meanwhile=arm.both)


def test_while_paused_it_follows_nothing(arm):
    assert arm.ros.call(SetBool, f'{SERVO}/pause', SetBool.Request(data=True)).success
    before, arm.twist = arm.q, [0.0, SPEED, 0.0, 0.0, 0.0, 0.0]
    arm.pass_time(0.4, arm.both)
    assert_allclose(arm.q, before, atol=1e-9)
    arm.wait_for_status('paused', arm.both)


def test_no_limit_is_passed_however_long_it_is_led_there(arm):
    arm.twist, arm.frame_id = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], TIP
    arm.path.clear()
    arm.wait_for_status('at the limit', arm.both)
    arm.pass_time(1.0, arm.both)
    path, reached = np.array(arm.path), arm.q
    assert (path > ROBOT.lower_limits + 0.025).all(), 'the margin is 0.05'
    assert (path < ROBOT.upper_limits - 0.025).all()
    arm.twist[5] = -1.0
    arm.ros.wait_for(lambda: np.abs(arm.q - reached).max() > 0.2, meanwhile=arm.both)


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('frame', 'nowhere', 'frame: unknown frame'),
        ('frame', 'base_link', 'frame: no joint moves'),
        ('command_joints', ['nobody'], 'nobody'),
        ('command_type', 'velocity', 'command_type: set while configured'),
    ],
)
def test_a_parameter_that_does_not_fit_the_robot_is_refused_and_the_old_one_stays(
    arm, name, value, reason
):
    answer = arm.ros.set_parameter(NODE, name, value)
    assert not answer.successful
    assert reason in answer.reason
    arm.twist = [0.0, SPEED, 0.0, 0.0, 0.0, 0.0]
    arm.wait_for_velocity([0.0, SPEED, 0.0], arm.both)


def test_it_slows_down_towards_a_singularity_and_stops_before_it():
    thresholds = {'singularity': {'slow_condition': 15.0, 'stop_condition': 25.0}}
    with play(DOMAIN + 1, robot=Arm, **thresholds) as arm:
        arm.report()
        outwards = arm.pose[:3, 3] - ROBOT.forward_kinematics(arm.q, 'upper_arm_link')[:3, 3]
        arm.twist = [*(0.1 * outwards / np.linalg.norm(outwards)), 0.0, 0.0, 0.0]
        arm.wait_for_status('near a singularity', arm.both)
        arm.ros.wait_for(
            lambda: len(arm.path) > 100 and np.ptp(arm.path[-100:], axis=0).max() < 1e-3,
            meanwhile=arm.both,
        )
        reached = arm.pose[:3, 3]
        assert np.linalg.cond(ROBOT.jacobian(arm.q, TIP)) < 40.0
        # Away from it there is nothing to slow down for.
        arm.twist = [-x for x in arm.twist]
        arm.ros.wait_for(
            lambda: np.linalg.norm(arm.pose[:3, 3] - reached) > 0.03, meanwhile=arm.both
        )
