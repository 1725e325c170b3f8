# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An output that the middleware refuses: the others come all the same, and it is named."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from numpy.testing import assert_allclose
from ros_harness import LATCHED, client, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import SetPayload

pytestmark = pytest.mark.ros

DOMAIN = 60
FRAMES = ('tool0', 'hand')
URDF = ARM.replace(
    '</robot>',
    '<link name="hand"/><joint name="hold" type="fixed"><parent link="tool0"/>'
    '<child link="hand"/></joint></robot>',
)
"""The arm with two frames at its end."""

# A topic has one type: where another one is given to it by mistake, its publisher cannot be made.
TAKEN = '/joint_states'
REASON = 'incompatible type'

# The nodes call the same Robot with the same numbers.
SAME = 1e-12


@pytest.fixture
def ros():
    with client(DOMAIN) as one:
        yield one


def moving(ros):
    return lambda: ros.publish_joint_state(ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q)))


def test_the_topic_of_a_frame_that_cannot_be_made_takes_no_other_with_it(ros):
    missing = '/kinematics_node/tool0/pose'
    parameters = {'frames': list(FRAMES)}
    with running('kinematics_node', DOMAIN, parameters, remaps={missing: TAKEN}) as process:
        others = [
            ros.listen(kind, f'/kinematics_node/{frame}/{part}')
            for frame, part, kind in (
                ('tool0', 'twist', TwistStamped),
                ('hand', 'pose', PoseStamped),
                ('hand', 'twist', TwistStamped),
            )
        ]
        ros.publish('/robot_description', String(data=URDF), LATCHED)
        ros.wait_for(lambda: all(others), meanwhile=moving(ros))
        position = others[1][-1].pose.position
        expected = ROBOT.forward_kinematics(Q, 'tool0')[:3, 3]
        assert_allclose([position.x, position.y, position.z], expected, atol=SAME)
        named = f'{missing} (remapped to {TAKEN})'
        told = f'publishing, but not {named}'
        status = ros.wait_for_status('kinematics_node', told, meanwhile=moving(ros))
        assert status.level == DiagnosticStatus.ERROR
        assert REASON in ros.values('kinematics_node')[f'{named} is missing']
        (line,) = [line for line in process.printed.splitlines() if 'ERROR' in line]
        assert f'{named} cannot be published' in line
        assert REASON in line
        assert 'Traceback' not in process.printed
        # A configuration without it has nothing to complain of.
        assert ros.set_parameter('kinematics_node', 'frames', ['hand']).successful
        ros.wait_for_status('kinematics_node', 'publishing to', meanwhile=moving(ros))


def test_an_output_of_the_node_itself_that_cannot_be_made_takes_no_other_with_it(ros):
    parameters = {'robot_description': ARM, 'payload': {'frame': 'tool0', 'mass': 1.0}}
    remaps = {'/kinematics_node/markers': TAKEN, 'payload': TAKEN}
    with running('dynamics_ros', DOMAIN, parameters, remaps=remaps) as process:
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose')
        ros.wait_for(lambda: poses and torques, meanwhile=moving(ros))
        carrying = ROBOT.with_payload('tool0', 1.0).gravity(Q)
        assert_allclose(torques[-1].effort, carrying, atol=SAME)
        for node, topic in (
            ('kinematics_node', '/kinematics_node/markers'),
            ('dynamics_node', '/payload'),
        ):
            told = f'publishing, but not {topic} (remapped to {TAKEN})'
            ros.wait_for_status(node, told, meanwhile=moving(ros))
        ros.wait_for_status('contact_node', 'publishing to', meanwhile=moving(ros))
        # What the missing topic would tell is in force all the same.
        response = ros.call(SetPayload, '/dynamics_node/set_payload')
        assert response.result.code == Result.SUCCESS, response.result.message
        ros.wait_for(
            lambda: np.allclose(torques[-1].effort, ROBOT.gravity(Q), atol=SAME),
            meanwhile=moving(ros),
        )
        assert 'Traceback' not in process.printed
