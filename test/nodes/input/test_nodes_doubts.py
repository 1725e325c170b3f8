# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the reader doubts about a description is in the log, in /rosout and in diagnostics."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_harness import LATCHED, client, running
from std_msgs.msg import String
from urdf_texts import massive_link

DOMAIN = 43
HISTORY = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)

DOUBTFUL = (
    f'<robot name="doubtful"><link name="base"/>{massive_link("rod")}'
    '<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/>'
    '<axis xyz="0 1 0"/><axis xyz="1 0 0"/></joint></robot>'
)
DOUBT = "robot 'doubtful': more than one <axis> is in 'swing'; the first counts, as in urdfdom"


def test_a_doubt_is_logged_once_and_stays_in_diagnostics():
    with client(DOMAIN) as user, running('dynamics_node', DOMAIN) as process:
        logged = user.listen(Log, '/rosout', HISTORY)
        user.wait_for_status('dynamics_node', 'waiting for robot_description')
        user.publish('/robot_description', String(data=DOUBTFUL), LATCHED)
        doubts = 'warnings about the description'
        user.wait_for(lambda: user.values('dynamics_node').get(doubts) == DOUBT)
        (warning,) = user.wait_for(lambda: [log for log in logged if DOUBT in log.msg])
        assert (warning.name, warning.level) == ('dynamics_node', 30)
        assert process.printed.count(DOUBT) == 1
