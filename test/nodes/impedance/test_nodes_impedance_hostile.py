# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states as no robot should send them: the arm is braked, and what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from impedance_harness import NAMES, NODE, ROBOT, TOPIC
from played_arm import Q, played_arm
from ros_harness import description
from std_msgs.msg import Float64MultiArray

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 204


@pytest.fixture(scope='module')
def played():
    with played_arm(DOMAIN) as one:
        yield one


def test_joint_states_that_are_too_rare_for_springs_brake_the_arm(played):
    played.follow()
    played.told('braking: fewer than 40 joint states a second', lambda: played.lead(step=0.05))
    played.hear(10, lambda: played.lead(step=0.05))
    played.assert_bounded(0.05)
    played.told('following twist_command', played.lead)


def test_a_joint_that_is_told_of_no_more_brakes_the_arm(played):
    played.follow()
    others = [name for name in NAMES if name != NAMES[3]]
    played.told(f'braking: no news of {NAMES[3]}', lambda: played.lead(names=others))
    # However long it lasts, by what is reckoned of the joint.
    played.hear(200, lambda: played.lead(names=others))
    played.assert_bounded(0.05)
    played.told('following twist_command', played.lead)


def test_positions_that_stand_still_while_velocities_go_on_brake_the_arm(played):
    played.follow()
    played.time, played.stands = 0.0, True
    try:
        played.told(f'braking: positions and velocities of {NAMES[0]} contradict', played.lead)
        played.hear(100, played.lead)
        played.assert_bounded(0.05)
    finally:
        played.stands = False
    played.told('following twist_command', played.lead)


def test_a_joint_that_is_told_beyond_its_range_brakes_the_arm_and_is_named(played):
    played.follow()
    before, efforts = played.middle, []
    played.middle = before + 2.0 * np.pi * (np.arange(7) == 3)
    try:
        played.told(f'braking: {NAMES[3]} is', played.lead)
        # The jump is over; where the joint seems to be it is not drawn in from.
        played.hear(200, played.lead)
        efforts = played.efforts[-50:]
        assert (np.abs(efforts) < 0.9 * ROBOT.effort_limits).all()
    finally:
        played.middle = before
    played.told('following twist_command', played.lead)


def test_time_that_goes_back_and_forth_is_survived_within_bounds(played):
    played.follow()
    for jump in (-10.0, 100.0, -100.0, -0.3, 0.3, -3600.0):
        played.stamp += round(jump * 1e9)
        played.hear(100, played.lead)
    played.assert_bounded(0.05)
    played.told('following twist_command', played.lead)


def test_two_publishers_of_one_joint_a_delay_apart_brake_or_go_on_within_bounds(played):
    played.follow()
    late = []

    def both():
        message = played.message()
        late.append(message)
        played.ros.publish_joint_state(message)
        played.lead_along([0, 0, 0.05, 0, 0, 0])
        if len(late) > 100:
            played.ros.publish_joint_state(late.pop(0))

    played.hear(400, both)
    played.assert_bounded(0.05)


@pytest.mark.parametrize(
    ('topic', 'kind', 'already'),
    [(TOPIC, Float64MultiArray, 1), (f'/{NODE}/pose_command', PoseStamped, 0)],
)
def test_who_else_commands_or_leads_the_arm_is_told(played, topic, kind, already):
    publisher = played.ros.node.create_publisher
    rivals = [publisher(kind, topic, 10) for _ in range(2 - already)]
    status = played.told(f'another publisher on {topic}', played.report)
    assert status.level != b'\0'
    for rival in rivals:
        played.ros.node.destroy_publisher(rival)
    del played.statuses[:]
    played.ros.wait_for(
        lambda: played.statuses and 'another' not in played.status,
        meanwhile=played.report,
        period=0.004,
    )


@pytest.mark.parametrize(
    'numbers',
    [
        [1e6] * 6,
        [-10.0] * 6,
        [float('nan')] * 6,
        [float('inf')] * 6,
        [],
        [400.0] * 5,
        [400.0 + i for i in range(36)],
    ],
    ids=['huge', 'negative', 'nan', 'inf', 'empty', 'five', 'asymmetric'],
)
def test_a_stiffness_that_makes_no_sense_is_refused(played, numbers):
    def ask():
        played.report()
        played.ros.publish(f'/{NODE}/stiffness_command', Float64MultiArray(data=numbers))

    played.told('stiffness_command refused', ask)
    played.hear(10, played.report)
    played.assert_bounded(0.1)
    sound = Float64MultiArray(data=[400.0, 400.0, 400.0, 10.0, 10.0, 10.0])
    del played.statuses[:]
    played.ros.wait_for(
        lambda: played.statuses and 'refused' not in played.status,
        meanwhile=lambda: (
            played.report(),
            played.ros.publish(f'/{NODE}/stiffness_command', sound),
        ),
        period=0.004,
    )


def test_an_angle_that_its_driver_wraps_is_no_jump_of_a_continuous_joint():
    last = NAMES[-1]
    urdf = description().replace(
        f'<joint name="{last}" type="revolute">', f'<joint name="{last}" type="continuous">'
    )
    assert urdf != description()
    middle = Q.copy()
    middle[-1] = np.pi
    with played_arm(DOMAIN + 2, middle=middle, wraps=True, robot_description=urdf) as one:
        one.follow()
        del one.statuses[:]
        # Two turns of its motion to and fro over the end of the angles.
        until = one.time + 4.0 * np.pi
        one.ros.wait_for(lambda: one.time > until, meanwhile=one.lead, period=0.004)
        assert not any('jumped' in message.message for message in one.statuses)
        one.assert_bounded(0.05)
