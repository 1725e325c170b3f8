# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node before obstacles: the arm that it leads keeps clear of them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('coal')

from ros_harness import LATCHED, description
from servo_harness import ROBOT, SERVO, MovingPlay, Q, play
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.collision import Collisions, Obstacle

pytestmark = pytest.mark.ros

DOMAIN = 119
MARGIN = 0.02
RADIUS = 0.1

START = ROBOT.forward_kinematics(Q, 'tool0')[:3, 3]
PLACE = START + np.array([0.0, 0.3, 0.0])
SCENE = Collisions(ROBOT, description()).with_obstacles(
    {'ball': Obstacle('sphere', (RADIUS,), (PLACE, (0.0, 0.0, 0.0, 1.0)))}
)


def ball(**fields) -> MarkerArray:
    marker = Marker(type=Marker.SPHERE, ns='test', **fields)
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = PLACE.tolist()
    marker.scale.x = marker.scale.y = marker.scale.z = 2.0 * RADIUS
    return MarkerArray(markers=[marker])


def test_an_arm_stops_before_an_obstacle_and_goes_on_when_it_is_removed():
    with play(
        DOMAIN, 'velocity', robot=MovingPlay, avoid_collisions=True, collision_margin=MARGIN
    ) as one:
        one.ros.publish(f'{SERVO}/obstacles', ball(), LATCHED)
        one.twist = [0.0, 0.2, 0.0, 0.0, 0.0, 0.0]
        status = one.wait_for_status('close: ', one.both)
        assert 'test/0' in status.message
        one.ros.wait_for(
            lambda: len(one.path) > 50 and np.ptp(one.path[-50:], axis=0).max() < 1e-3,
            meanwhile=one.both,
        )
        distances = [SCENE.distances(q).smallest for q in one.path]
        assert min(distances) > 0.5 * MARGIN  # what it lags behind its commands
        assert distances[-1] < 3.0 * MARGIN
        before = ROBOT.forward_kinematics(one.q, 'tool0')[1, 3]
        one.ros.publish(f'{SERVO}/obstacles', ball(action=Marker.DELETE), LATCHED)
        one.ros.wait_for(
            lambda: ROBOT.forward_kinematics(one.q, 'tool0')[1, 3] > before + 0.05,
            meanwhile=one.both,
        )


def test_a_refused_obstacle_halts_until_it_is_mended():
    with play(DOMAIN + 1, 'position', robot=MovingPlay, avoid_collisions=True) as one:
        one.wait_for_status('following', one.both)
        wrong = ball()
        wrong.markers[0].header.frame_id = 'nowhere'
        one.ros.publish(f'{SERVO}/obstacles', wrong, LATCHED)
        status = one.wait_for_status('nowhere', one.both)
        assert 'obstacles refused' in status.message
        one.ros.wait_for(lambda: one.stopped, meanwhile=one.both)
        one.ros.publish(f'{SERVO}/obstacles', ball(), LATCHED)
        one.wait_for_status('following', one.both)
