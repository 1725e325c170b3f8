# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Requests, targets, clocks and transforms in storms: torques stay bounded, and the arm is led."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from impedance_harness import NODE, ROBOT
from lifecycle_msgs.srv import ChangeState
from played_arm import played_arm
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_harness import stamp_of, tf2_for_nodes
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 220
CAMERA = 'camera'
SOUND = (0.0, 0.0, 0.0, 1.0)


@pytest.fixture(scope='module')
def played():
    with (
        tf2_for_nodes(),
        played_arm(DOMAIN, use_sim_time=True, transform_timeout=1.0) as one,
    ):
        yield one


def led_again(played, **changes):
    """It follows targets as if nothing had been, and was bounded all the time."""
    played.told('following twist_command', lambda: played.lead(**changes))
    played.assert_bounded(0.05)


def test_transitions_in_any_order_from_two_clients_at_once(played):
    played.follow()
    clients = [
        played.ros.node.create_client(ChangeState, f'/{NODE}/change_state') for _ in range(2)
    ]
    played.ros.wait_for(lambda: all(one.service_is_ready() for one in clients))
    labels = ['deactivate', 'activate', 'cleanup', 'configure', 'activate', 'configure', 'fly']
    orders = [labels * 3, labels[::-1] * 3]
    for pair in zip(*orders, strict=True):
        futures = []
        for client, label in zip(clients, pair, strict=True):
            request = ChangeState.Request()
            request.transition.label = label
            futures.append(client.call_async(request))
        played.ros.wait_for(
            lambda futures=futures: all(future.done() for future in futures),
            meanwhile=played.lead,
            period=0.004,
        )
    while played.lifecycle != 'active':
        played.change('configure')
        played.change('activate')
    led_again(played)
    for client in clients:
        played.ros.node.destroy_client(client)


def test_a_clock_that_jumps_stops_and_begins_again(played):
    """What comes in time is told by the machine's clock, whatever time is simulated."""
    times = [10**10, 10**13, 10**9, 10**9, 5 * 10**12, 0, 10**11]
    for clock in times:
        ticks = itertools.count(clock, 4_000_000)

        def tell(ticks=ticks):
            played.ros.publish('/clock', Clock(clock=stamp_of(next(ticks))))
            played.lead()

        played.hear(30, tell)
    # It stands still.
    played.hear(100, played.lead)
    led_again(played)


NAN, INF = float('nan'), float('inf')


@pytest.mark.parametrize(
    ('w', 'place'),
    [(NAN, 0.0), (INF, 0.0), (0.0, 0.0), (2.0, 0.0), (1e200, 0.0), (1.0, NAN), (1.0, INF)],
)
def test_transforms_that_are_none_lead_nobody(played, w, place):
    def see():
        nonsense = seen(CAMERA, (0.0, 0.0, 0.0, w), place)
        played.ros.publish('/tf', TFMessage(transforms=[nonsense]))
        played.report()
        played.lead_along([0, 0, 0.05, 0, 0, 0], CAMERA)

    played.told(f'twist_command refused: tf of {CAMERA!r}', see)
    led_again(played)


@pytest.mark.parametrize('place', [1e7, -1e200])
def test_a_frame_that_is_farther_than_anything_leads_nobody_there(played, place):
    def see():
        played.ros.publish('/tf', TFMessage(transforms=[seen(CAMERA, SOUND, place)]))
        played.report()
        played.lead_to(np.eye(4), CAMERA)

    played.told('pose_command refused: pose_command.pose in the root frame', see)
    led_again(played)


def test_transforms_in_a_circle_lead_nobody(played):
    def see():
        one, other = seen('left', SOUND), seen('right', SOUND)
        one.header.frame_id, other.header.frame_id = 'right', 'left'
        played.ros.publish('/tf', TFMessage(transforms=[one, other]))
        played.report()
        played.lead_along([0, 0, 0.05, 0, 0, 0], 'left')

    played.told('twist_command refused', see)
    led_again(played)


def seen(frame, quaternion, place=0.0):
    """Where a frame is in the root frame, whenever."""
    one = TransformStamped(child_frame_id=frame)
    one.header.frame_id, one.header.stamp = ROBOT.root_frame, Time()
    one.transform.translation.x = place
    names = 'x', 'y', 'z', 'w'
    for name, value in zip(names, quaternion, strict=True):
        setattr(one.transform.rotation, name, value)
    return one


def test_a_flood_of_targets_and_of_parameters(played):
    """Twenty targets and as many requests between two joint states."""
    played.follow()
    setter = played.ros.node.create_client(SetParameters, f'/{NODE}/set_parameters')
    played.ros.wait_for(setter.service_is_ready)
    turn = itertools.count()

    def flood():
        played.report()
        for _ in range(20):
            n = next(turn)
            played.lead_along([0, 0, 0.05 * (-1) ** n, 0, 0, 0])
            pose = played.flood_pose.copy()
            pose[2, 3] += 0.5 * (-1) ** n
            played.lead_to(pose)
        stiffness = [float(x) for x in np.repeat([200.0 + 600.0 * (n % 2), 10.0], 3)]
        request = SetParameters.Request()
        request.parameters = [Parameter('stiffness', value=stiffness).to_parameter_msg()]
        setter.call_async(request)

    played.flood_pose = ROBOT.forward_kinematics(played.middle, 'tool0')
    played.hear(300, flood)
    led_again(played)
    played.ros.node.destroy_client(setter)
