# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""impedance_controller_node before an obstacle: springs keep the tool off."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('coal')

from geometry_msgs.msg import Point
from impedance_harness import NODE, ROBOT, arm
from ros_harness import LATCHED, description
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.collision import Collisions, Obstacle

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 225
RADIUS, DISTANCE = 0.1, 0.06
REPULSION = {'repulsion.stiffness': 1000.0, 'repulsion.distance': DISTANCE}


def ball(place, **fields):
    marker = Marker(type=Marker.SPHERE, ns='test', **fields)
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = place.tolist()
    marker.scale.x = marker.scale.y = marker.scale.z = 2.0 * RADIUS
    return MarkerArray(markers=[marker])


def test_a_tool_that_is_sent_into_an_obstacle_stays_off_and_goes_on_without_it():
    with arm(DOMAIN, **REPULSION) as one:
        start = one.pose
        place = start[:3, 3] + 0.2 * start[:3, 2]
        pose = np.eye(4)
        pose[:3, 3] = place
        scene = Collisions(ROBOT, description()).with_obstacles(
            {'ball': Obstacle('sphere', RADIUS, pose)}
        )

        def distance():
            found = scene.distances(one.q)
            pairs = zip(found.distance, found.pairs, strict=True)
            return min(d for d, pair in pairs if 'ball' in pair)

        goal = start.copy()
        goal[:3, 3] += 0.12 * start[:3, 2]
        one.ros.publish(f'/{NODE}/obstacles', ball(place), LATCHED)
        one.ros.wait_for(lambda: distance() < 0.8 * DISTANCE, meanwhile=lambda: one.lead_to(goal))
        found = []
        one.pass_time(1.5, lambda: (one.lead_to(goal), found.append(distance())))
        # Torques of a busy machine come late.
        assert np.median(found) > 0.0 and min(found) > -0.02
        assert found[-1] < DISTANCE
        one.ros.publish(f'/{NODE}/obstacles', ball(place, action=Marker.DELETE), LATCHED)
        one.ros.wait_for(lambda: distance() < found[-1] - 0.02, meanwhile=lambda: one.lead_to(goal))


def test_a_refused_obstacle_ends_targets_until_it_is_mended_and_values_are_checked():
    with arm(DOMAIN + 1, **REPULSION) as one:
        far = np.array([3.0, 0.0, 0.0])
        wrong = ball(far)
        wrong.markers[0].header.frame_id = 'nowhere'
        one.ros.publish(f'/{NODE}/obstacles', wrong, LATCHED)
        rising = lambda: one.lead_along([0.0, 0.0, 0.02, 0.0, 0.0, 0.0])  # noqa: E731
        status = one.wait_for_status('holding: ~/obstacles refused', rising)
        assert 'nowhere' in status.message
        one.ros.publish(f'/{NODE}/obstacles', ball(far), LATCHED)
        one.wait_for_status('following twist_command', rising)
        large = ball(far)
        large.markers[0].points = [Point()] * 20000
        one.ros.publish(f'/{NODE}/obstacles', large, LATCHED)
        status = one.wait_for_status('holding: ~/obstacles refused', rising)
        assert 'bytes; expected up to' in status.message
        answer = one.ros.set_parameter(NODE, 'repulsion.stiffness', 9000.0)
        assert not answer.successful
        assert 'stores' in answer.reason
