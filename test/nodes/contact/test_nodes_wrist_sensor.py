# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A wrist sensor at contact_node: identification, ~/measured_wrench, tare, contact, faults."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import WrenchStamped
from numpy.testing import assert_allclose
from rclpy.action import ActionClient
from rclpy.qos import qos_profile_sensor_data
from ros_harness import LATCHED, served, shared, stamp_of
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from dynamics_ros.estimation import sample_surfaces
from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros_msgs.action import IdentifyPayload
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

pytestmark = pytest.mark.ros

DOMAIN = 222
NODE = 'contact_node'
TOPIC, FRAME = '/ft_sensor/wrench', 'tool0'
MASS, CENTER = 1.2, np.array([0.01, -0.02, 0.08])
BIAS = np.array([3.0, -5.0, 9.0, 0.2, -0.1, 0.3])
ALL_POSTURES = [
    Q,
    *(Q + np.array([0.0, 0.0, 0.0, a, 0.3, b, 0.0]) for a in (-1.0, 0.6) for b in (-0.9, 0.9)),
    Q + np.array([0.0, 0.0, 0.0, 0.0, 1.5, 1.2, 0.0]),
]
PERIOD = 0.005
"""s between two stamps."""


class Sensor:
    """Publishes readings and joint states of an arm whose efforts fit them."""

    def __init__(self, ros):
        self.ros, self.q, self.frame = ros, Q, FRAME
        self.external, self.torques = np.zeros(6), np.zeros(7)
        self.bias, self.silent, self.late = BIAS, False, 0.0
        self.without_efforts = False

    def send(self):
        ros, tau = self.ros, ROBOT.gravity(self.q) - self.torques
        efforts = () if self.without_efforts else tau
        state = ros.joint_state(NAMES, self.q, STILL, efforts, step=PERIOD)
        if not self.silent:
            R = ROBOT.forward_kinematics(self.q, FRAME)[:3, :3]
            force = MASS * R.T @ [0.0, 0.0, -9.81]
            # This driver states what the robot does to the environment.
            values = -(self.external + np.concatenate([force, np.cross(CENTER, force)]) + self.bias)
            message = WrenchStamped()
            message.header.frame_id, message.header.stamp = self.frame, self.stamp(state)
            for part, three in (('force', values[:3]), ('torque', values[3:])):
                for axis, value in zip('xyz', three, strict=True):
                    setattr(getattr(message.wrench, part), axis, float(value))
            ros.publish(TOPIC, message, qos_profile_sensor_data)
        ros.publish_joint_state(state)

    def stamp(self, state):
        stamp = state.header.stamp
        return stamp_of(stamp.sec * 10**9 + stamp.nanosec - round(self.late * 1e9))

    def until(self, condition):
        return self.ros.wait_for(condition, meanwhile=self.send, period=0.002)


ros = shared(served, NODE, DOMAIN, {'robot_description': ARM, 'wrist_sensor.topic': TOPIC})


DURATIONS = 8.0, 30.0, 120.0
"""Seconds: a busy machine processes few states of each posture."""


def identified(ros, one, actions, duration):
    """What comes of an identification from all postures within a duration."""
    feedback = []
    goal = IdentifyPayload.Goal(duration=duration, apply=True)
    sent = actions.send_goal_async(goal, feedback_callback=lambda m: feedback.append(m.feedback))
    one.until(sent.done)
    result, began = sent.result().get_result_async(), time.monotonic()

    def move():
        turn = int((time.monotonic() - began) / (0.15 * duration))
        one.q = ALL_POSTURES[turn % len(ALL_POSTURES)]
        one.send()

    ros.wait_for(result.done, meanwhile=move, period=0.002)
    found = result.result()
    assert found.status != GoalStatus.STATUS_SUCCEEDED or feedback[-1].samples > 0
    return found


@pytest.fixture(scope='module')
def sensor(ros):
    """The sensor, after its load and bias have been identified from six postures."""
    one = Sensor(ros)
    actions = ActionClient(ros.node, IdentifyPayload, f'/{NODE}/identify_wrist_sensor')
    one.until(lambda: actions.server_is_ready() and 'wrist sensor' in ros.values(NODE))
    assert 'identify' in ros.values(NODE)['wrist sensor: deviation [N, Nm]']
    for duration in DURATIONS:
        one.result = identified(ros, one, actions, duration)
        if one.result.status == GoalStatus.STATUS_SUCCEEDED:
            break
    one.q = Q
    return one


@pytest.fixture
def measured(ros, sensor):
    received = ros.listen(WrenchStamped, f'/{NODE}/measured_wrench')
    sensor.until(lambda: received)
    return received


def array(message):
    force, torque = message.wrench.force, message.wrench.torque
    return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])


def test_load_bias_and_sign_are_identified_and_become_parameters(ros, sensor):
    result = sensor.result
    assert result.status == GoalStatus.STATUS_SUCCEEDED, result.result.result.message
    payload = result.result.payload
    assert payload.header.frame_id == FRAME
    assert payload.inertia.m == pytest.approx(MASS, abs=1e-3)
    assert ros.get_parameter(NODE, 'wrist_sensor.reversed')
    assert ros.get_parameter(NODE, 'wrist_sensor.mass') == payload.inertia.m
    np.testing.assert_allclose(
        ros.get_parameter(NODE, 'wrist_sensor.center_of_mass'), CENTER, atol=1e-3
    )
    np.testing.assert_allclose(ros.get_parameter(NODE, 'wrist_sensor.bias'), BIAS, atol=1e-2)


def test_the_wrench_of_the_environment_is_published_in_the_sensors_axes(ros, sensor, measured):
    sensor.until(lambda: np.abs(array(measured[-1])).max() < 0.05)
    sensor.external = push = np.array([0.0, 3.0, -4.0, 0.1, 0.0, 0.0])
    sensor.until(lambda: np.abs(array(measured[-1]) - push).max() < 0.05)
    assert measured[-1].header.frame_id == FRAME
    sensor.q = ALL_POSTURES[-1]
    sensor.until(lambda: np.abs(array(measured[-1]) - push).max() < 0.05)
    sensor.external, sensor.q = np.zeros(6), Q


def test_a_bias_that_drifts_is_tared(ros, sensor, measured):
    sensor.bias = BIAS + np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.1])
    sensor.until(lambda: array(measured[-1])[0] > 1.999)
    response = ros.call(Trigger, f'/{NODE}/tare_wrist_sensor')
    assert response.success, response.message
    sensor.until(lambda: np.abs(array(measured[-1])).max() < 0.01)
    np.testing.assert_allclose(ros.get_parameter(NODE, 'wrist_sensor.bias'), sensor.bias, atol=0.1)


def test_the_covariance_follows_from_the_noise_of_the_readings(ros, sensor, measured):
    noise, deviation = [0.5] * 3 + [0.02] * 3, [0.1] * 3 + [0.01] * 3
    assert ros.set_parameter(NODE, 'wrist_sensor.noise', noise).successful
    assert ros.set_parameter(NODE, 'wrist_sensor.bias_deviation', deviation).successful
    estimates = ros.listen(ExternalWrench, f'/{NODE}/measured_estimate')
    share = 1.0 - math.exp(-50.0 * PERIOD)
    expected = np.square(noise) * share / (2.0 - share) + np.square(deviation)
    diagonal = np.diag(expected).ravel()

    def settled():
        return (
            estimates
            and np.abs(estimates[-1].covariance / diagonal.max() - diagonal / diagonal.max()).max()
            < 0.05
        )

    sensor.until(settled)
    assert estimates[-1].frame == FRAME and all(estimates[-1].observable)
    assert estimates[-1].wrench == measured[-1].wrench or len(measured) > 1
    assert not ros.set_parameter(NODE, 'wrist_sensor.noise', [-1.0] * 6).successful


def touched(ros, sensor, text):
    """Sends states until diagnostics say where the contact is; the last contact state."""
    states = ros.listen(ContactState, f'/{NODE}/contact_state')
    sensor.until(lambda: ros.values(NODE).get('wrist sensor: contact') == text and states)
    return states[-1]


def test_a_small_push_that_joint_torques_do_not_show_is_a_contact_behind_the_sensor(ros, sensor):
    assert touched(ros, sensor, 'none').state == ContactState.NONE
    jacobian = ROBOT.jacobian(Q, FRAME, reference='local')
    assert ros.set_parameter(NODE, 'wrist_sensor.contact_force', 0.2).successful
    sensor.external = np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    sensor.torques = jacobian.T @ sensor.external
    found = touched(ros, sensor, 'behind the sensor')
    assert found.state == ContactState.CONTACT
    assert (np.abs(found.external_torques) < found.contact_thresholds).all()
    # Of the sensor, until the contact is located.
    assert found.link in (ROBOT.body_names[ROBOT.model.frame(FRAME).body], 'tool_link')
    sensor.external, sensor.torques = np.zeros(6), np.zeros(7)
    assert touched(ros, sensor, 'none').state == ContactState.NONE
    # A push on the upper arm moves the first joints, and not the sensor.
    sensor.torques = np.array([0.0, 12.0, 6.0, 0.0, 0.0, 0.0, 0.0])
    assert touched(ros, sensor, 'between base and sensor').state != ContactState.NONE
    sensor.torques = np.zeros(7)


def test_without_efforts_the_sensor_alone_shows_contacts(ros, sensor):
    events = ros.listen(ContactState, f'/{NODE}/contact_events', LATCHED)
    torques = ros.listen(JointState, f'/{NODE}/external_torques')
    sensor.until(lambda: torques)
    sensor.without_efforts = True
    sensor.until(
        lambda: 'contacts behind the wrist sensor alone: no eff' in ros.status(NODE).message
    )
    assert ros.wait_for_report(NODE, meanwhile=sensor.send)['reason'] == 'effort_missing'
    torques.clear()
    found = touched(ros, sensor, 'none')
    assert found.state == ContactState.NONE and np.isnan(found.external_torques).all()
    link, surface = (
        'tool_link',
        sample_surfaces(read_collision_geometry(ARM).triangles)['tool_link'],
    )
    point, force = surface.points[100], -8.0 * surface.normals[100]
    lever = point - ROBOT.model.frame(FRAME).origin.array()[:3, 3]  # the axes are the same
    sensor.external = np.concatenate([force, np.cross(lever, force)])
    states = ros.listen(ContactState, f'/{NODE}/contact_state')
    sensor.until(lambda: states and states[-1].point_known)
    found = states[-1]
    assert found.state == ContactState.CONTACT and not found.collision_latched
    assert (found.link, found.point_frame_id) == (link, link)
    assert_allclose([found.point.x, found.point.y, found.point.z], point, atol=0.02)
    sensor.until(lambda: events and (events[-1].state, events[-1].link) == (found.state, link))
    assert not torques
    sensor.silent = True  # nothing shows contacts any more
    sensor.until(lambda: ros.status(NODE).message.startswith('silent: no effort'))
    sensor.silent, sensor.external = False, np.zeros(6)
    sensor.without_efforts = False
    sensor.until(lambda: torques and ros.status(NODE).message.startswith('publishing'))
    assert np.isfinite(touched(ros, sensor, 'none').external_torques).all()


def test_what_joint_torques_contradict_is_warned_of(ros, sensor):
    sensor.external = np.array([60.0, 40.0, 0.0, 0.0, 0.0, 0.0])
    sensor.until(lambda: 'the wrist sensor shows 72 N' in ros.status(NODE).message)
    sensor.external = np.zeros(6)
    sensor.until(lambda: 'wrist sensor' not in ros.status(NODE).message)


@pytest.mark.parametrize(
    ('fault', 'words'),
    [
        ({'silent': True}, f'no reading on {TOPIC} for more than 0.1 s'),
        ({'late': 1.0}, f'stamps of {TOPIC} and joint states differ by more than 0.1 s'),
        ({'external': np.full(6, math.nan)}, 'refused: wrench'),
        ({'frame': 'flange_of_another'}, "'flange_of_another'"),
    ],
)
def test_without_usable_readings_nothing_is_measured_and_diagnostics_say_why(
    ros, sensor, measured, fault, words
):
    usual = {name: getattr(sensor, name) for name in fault}
    vars(sensor).update(fault)
    if 'frame' in fault:
        ros.set_parameter(NODE, 'wrist_sensor.gain', 60.0)  # the frame is looked up again
    sensor.until(lambda: words in ros.values(NODE)['wrist sensor'])
    measured.clear()
    refused = ros.call(Trigger, f'/{NODE}/tare_wrist_sensor')
    assert not refused.success and words in refused.message
    for _ in range(50):
        sensor.send()
    sensor.until(lambda: words in ros.wait_for_report(NODE, meanwhile=sensor.send)['wrist sensor'])
    assert not measured
    vars(sensor).update(usual)
    sensor.until(lambda: measured and ros.values(NODE)['wrist sensor'] == 'ok')
    assert np.abs(array(measured[-1])).max() < 1.0
