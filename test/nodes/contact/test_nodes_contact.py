# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""contact_node: external torques, wrenches and contacts from joint states alone."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import WrenchStamped
from numpy.testing import assert_allclose
from ros_harness import LATCHED, served, shared
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.estimation import ContactLocator, sample_surfaces
from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.wire.conversions import numbers
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

pytestmark = pytest.mark.ros

DOMAIN = 54
NODE = 'contact_node'

PUSH = np.array([12.0, -5.0, 8.0, 0.3, 0.2, -0.1])
PUSH_TORQUE = ROBOT.jacobian(Q, 'tool0').T @ PUSH
R_ROOT_TOOL = ROBOT.forward_kinematics(Q, 'tool0')[:3, :3]
IN_TOOL = np.concatenate((R_ROOT_TOOL.T @ PUSH[:3], R_ROOT_TOOL.T @ PUSH[3:]))

# A constant torque is estimated with what is left after the time the test waits: 40 time constants.
SETTLED = 1e-6

FELT = 1e-4
"""N, Nm, m: SETTLED through the inverse of J^T, whose smallest singular value is above 0.1, and
the damping."""


THRESHOLDS = {'thresholds.contact': [2.0], 'thresholds.collision': [15.0]}

ros = shared(served, NODE, DOMAIN, {'frames': ['tool0'], **THRESHOLDS})


class Rig:
    """A robot that stands still at Q, with external torques as the test says."""

    def __init__(self, ros) -> None:
        self.ros = ros
        self.torques = ros.listen(JointState, '/contact_node/external_torques')
        self.wrenches = ros.listen(WrenchStamped, '/contact_node/tool0/wrench')
        self.estimates = ros.listen(ExternalWrench, '/contact_node/tool0/estimate')
        self.states = ros.listen(ContactState, '/contact_node/contact_state')
        self.markers = ros.listen(MarkerArray, '/contact_node/markers')

    def message(self, external=STILL, step: float = 0.02) -> JointState:
        return self.ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q) - external, step=step)

    def hold(self, external=STILL, samples: int = 60) -> JointState:
        """Publish samples, 20 ms apart by their stamps, until all there is came of the last."""
        for _ in range(samples):
            message = self.message(external)
            self.exchange(message)
        stamp = message.header.stamp
        for received in (self.states, self.wrenches, self.estimates):
            # Again: of the first one the kernel of wrenches may still be compiled.
            self.ros.wait_for(
                lambda received=received: received[-1].header.stamp == stamp,
                meanwhile=lambda: self.ros.publish_joint_state(message),
            )
        return message

    def exchange(self, message: JointState) -> None:
        """Publish, and wait until the node has answered; a repetition changes nothing."""
        self.ros.exchange(message, self.torques)

    def wait_for_answer(self, external=STILL) -> JointState:
        """Publish states until external torques follow from one of them: those of that one."""
        sent = []

        def send():
            sent.append(self.message(external))
            self.ros.publish_joint_state(sent[-1])

        def answer():
            stamps = [message.header.stamp for message in sent]
            # What is still on its way from before does not count.
            return next((m for m in reversed(self.torques) if m.header.stamp in stamps), None)

        return self.ros.wait_for(answer, meanwhile=send)

    def express_in(self, axes: str) -> None:
        """Have wrenches in the axes of a frame, or in their own; their kernel takes a while."""
        assert self.ros.set_parameter(NODE, 'wrench.expressed_in', axes).successful
        self.ros.wait_for(
            lambda: self.wrenches[-1].header.frame_id == (axes or 'tool0'),
            meanwhile=lambda: self.ros.publish_joint_state(self.message(PUSH_TORQUE)),
        )

    def shown(self) -> list[Marker]:
        """The latest markers."""
        return list(self.markers[-1].markers)

    def call(self, name: str) -> Trigger.Response:
        return self.ros.call(Trigger, f'/contact_node/{name}')


@pytest.fixture(scope='module')
def rig(ros):
    rig = Rig(ros)
    ros.publish('/robot_description', String(data=ARM), LATCHED)
    ros.wait_for(
        lambda: rig.torques and rig.estimates and rig.states and rig.wrenches and rig.markers,
        meanwhile=lambda: ros.publish_joint_state(rig.message()),
    )
    return rig


@pytest.fixture(autouse=True)
def at_rest(rig):
    rig.call('reset')
    # After a reset the observer settles for three time constants before anything is published.
    rig.wait_for_answer()


def test_at_rest_nothing_is_felt(rig):
    message = rig.hold()
    torque = rig.torques[-1]
    assert torque.header.stamp == message.header.stamp
    assert torque.name == NAMES
    assert_allclose(torque.effort, 0.0, atol=SETTLED)
    assert rig.states[-1].state == ContactState.NONE
    assert rig.states[-1].link == ''


def test_a_push_on_the_tool_is_felt_with_the_sign_of_the_environment(rig):
    rig.hold(PUSH_TORQUE)
    assert_allclose(rig.torques[-1].effort, PUSH_TORQUE, atol=SETTLED)
    wrench = rig.wrenches[-1]
    assert wrench.header.frame_id == 'tool0'
    assert_allclose(numbers(wrench.wrench, 'wrench'), IN_TOOL, atol=FELT)
    # Taken as every consumer takes it, at the origin of its frame_id, it has the torques it is of.
    at_its_frame = ROBOT.jacobian(Q, wrench.header.frame_id, 'local').T
    felt = at_its_frame @ numbers(wrench.wrench, 'wrench')
    assert_allclose(felt, PUSH_TORQUE, atol=FELT)
    # And the estimate says how far it can be trusted.
    estimate = rig.estimates[-1]
    assert estimate.frame == 'tool0'
    point = estimate.reference_point
    assert estimate.header.frame_id == 'tool0'
    assert_allclose([point.x, point.y, point.z], 0.0, atol=1e-12)
    covariance = np.reshape(estimate.covariance, (6, 6))
    assert_allclose(covariance, covariance.T, atol=1e-12)
    assert (np.linalg.eigvalsh(covariance) > 0.0).all()
    assert list(estimate.singular_values) == sorted(estimate.singular_values, reverse=True)
    assert all(estimate.observable)
    assert not estimate.degraded
    assert estimate.joint_names == NAMES
    assert estimate.stale_joints == []


def test_a_push_is_a_contact_and_ends(rig):
    rig.hold(PUSH_TORQUE, samples=20)
    state = rig.states[-1]
    assert state.state == ContactState.CONTACT
    assert state.link
    assert not state.collision_latched
    assert list(state.contact_thresholds) == [2.0] * 7
    rig.hold(samples=30)
    assert rig.states[-1].state == ContactState.NONE


def test_events_are_the_changes_of_the_contact_state_and_the_last_one_is_kept(rig):
    rig.hold()
    events = rig.ros.listen(ContactState, '/contact_node/contact_events', LATCHED)
    # A subscriber that comes late gets the last event, though nothing changes.
    rig.ros.wait_for(lambda: events)
    assert [event.state for event in events] == [ContactState.NONE]
    rig.hold(PUSH_TORQUE, samples=40)
    rig.hold(samples=40)
    rig.ros.wait_for(lambda: events[-1].state == ContactState.NONE and len(events) > 2)
    assert {event.state for event in events[1:-1]} == {ContactState.CONTACT}
    changes = [(event.state, event.link, event.collision_latched) for event in events]
    assert all(before != after for before, after in pairwise(changes))
    assert len(events) < 10 < len(rig.states)
    touched = events[1]
    same = next(state for state in rig.states if state.header == touched.header)
    assert (same.state, list(same.contact_thresholds)) == (touched.state, [2.0] * 7)
    assert_allclose(touched.external_torques, same.external_torques)


def test_a_collision_is_latched_until_reset(rig):
    rig.hold(5.0 * PUSH_TORQUE, samples=20)
    assert rig.states[-1].state == ContactState.COLLISION
    rig.hold(samples=30)
    assert rig.states[-1].collision_latched
    assert rig.call('reset').success
    rig.ros.wait_for(
        lambda: not rig.states[-1].collision_latched,
        meanwhile=lambda: rig.ros.publish_joint_state(rig.message()),
    )


@pytest.mark.parametrize(('axes', 'expected'), [('base_link', PUSH), ('', IN_TOOL)])
def test_wrenches_in_any_axes_are_shown_as_force_and_torque_with_the_link(rig, axes, expected):
    rig.express_in(axes)
    last = rig.hold(PUSH_TORQUE).header.stamp
    assert_allclose(numbers(rig.wrenches[-1].wrench, 'wrench'), expected, atol=FELT)
    tool = ROBOT.forward_kinematics(Q, 'tool0')[:3, 3]
    point = rig.estimates[-1].reference_point
    assert_allclose([point.x, point.y, point.z], tool if axes else np.zeros(3), atol=1e-12)

    def settled():
        shown = {marker.ns: marker for marker in rig.shown()}
        stamp = shown['force'].header.stamp
        return shown if (stamp.sec, stamp.nanosec) >= (last.sec, last.nanosec) else None

    shown = rig.ros.wait_for(
        settled, meanwhile=lambda: rig.ros.publish_joint_state(rig.message(PUSH_TORQUE))
    )
    assert set(shown) == {'force', 'torque', 'link', 'contact_force'}
    start, end = shown['force'].points
    arrow = np.array([end.x - start.x, end.y - start.y, end.z - start.z])
    # 1 cm a newton is the default; a millimetre is a tenth of a newton, and less than is seen.
    assert_allclose(arrow, 0.01 * PUSH[:3], atol=1e-3)
    # A viewer has a link's pose at a stamp only when tf has come that far.
    assert {marker.header.frame_id for marker in rig.shown()} == {'base_link'}
    assert_allclose([start.x, start.y, start.z], tool, atol=1e-9)
    label = shown['link']
    assert label.action == Marker.ADD
    link = label.text.removeprefix('contact: ')
    origin = ROBOT.forward_kinematics(Q, link)[:3, 3]
    at = label.pose.position
    assert_allclose([at.x, at.y, at.z], origin, atol=1e-9)
    # RViz takes a width of 0 for "leave it as it is", a metre.
    assert 0.2 * label.scale.z < label.scale.x <= label.scale.z
    assert shown['link'].text.startswith('contact: ')


def test_tare_takes_what_is_felt_for_zero_and_another_replaces_it(rig):
    bias = np.array([0.5, -0.4, 0.3, -0.2, 0.1, 0.1, 0.05])
    rig.hold(bias)
    response = rig.call('tare')
    assert response.success, response.message
    rig.hold(bias, samples=2)
    assert_allclose(rig.torques[-1].effort, 0.0, atol=SETTLED)
    assert_allclose(rig.estimates[-1].tare_offset, bias, atol=SETTLED)
    rig.hold(np.zeros(7))
    assert rig.call('tare').success
    rig.hold(np.zeros(7), samples=2)
    assert_allclose(rig.torques[-1].effort, 0.0, atol=SETTLED)


def test_tare_is_refused_while_the_robot_moves(rig):
    for _ in range(60):
        moving = rig.ros.joint_state(NAMES, Q, STILL + 0.5, ROBOT.gravity(Q), step=0.02)
        rig.exchange(moving)
    response = rig.call('tare')
    assert not response.success
    assert 'mov' in response.message


def test_an_effort_that_is_no_number_silences_it_with_the_reason_and_it_recovers(rig):
    effort = ROBOT.gravity(Q)
    effort[2] = math.nan
    sent = []

    def send():
        sent.append(rig.ros.joint_state(NAMES, Q, STILL, effort))
        rig.ros.publish_joint_state(sent[-1])

    rig.ros.wait_for_status(NODE, 'no effort of upper_arm_roll', meanwhile=send)
    published = [torque.header.stamp for torque in rig.torques]
    assert not any(message.header.stamp in published for message in sent)
    assert int(rig.ros.values(NODE)['refused: effort not finite']) > 0
    rig.wait_for_answer()


@pytest.mark.parametrize('jump', [-100.0, 100.0])
def test_after_a_clock_jump_nothing_false_is_published(rig, jump):
    rig.hold(PUSH_TORQUE)
    rig.ros.next_stamp(jump)
    # By then the observer has seen three time constants: 1 - exp(-3) of the push is 95 %.
    felt = np.array(rig.wait_for_answer(PUSH_TORQUE).effort) / PUSH_TORQUE
    assert (felt > 0.94).all() and (felt < 1.01).all()


def test_a_push_on_a_link_is_located_on_its_surface(rig):
    """Pushed on the last link but two, where the six joints before it feel something."""
    geometry = read_collision_geometry(ARM).triangles
    link = ROBOT.body_names[5]
    surface = sample_surfaces({link: geometry[link]})[link]
    J = ROBOT.jacobian(Q, link, 'local')

    def torque(index):
        force = -25.0 * surface.normals[index]
        return J.T @ np.concatenate([force, np.cross(surface.points[index], force)])

    # The one of which there is least doubt, with thresholds of five deviations.
    moved = {name: shape for name, shape in geometry.items() if name != ROBOT.root_frame}
    locator = ContactLocator(ROBOT, sample_surfaces(moved), noise=2.0 / 5.0)

    def certainty(index):
        place = locator.locate(Q, torque(index))
        return place.probabilities[link] - 10.0 * place.deviation

    index = max(range(0, len(surface.points), 20), key=certainty)
    rig.ros.wait_for(lambda: 'of 8 links' in rig.ros.values(NODE).get('collision geometry', ''))
    rig.hold(torque(index), samples=20)
    rig.ros.wait_for(
        lambda: rig.states[-1].point_known and rig.states[-1].link == link,
        meanwhile=lambda: rig.ros.publish_joint_state(rig.message(torque(index))),
    )
    state = rig.states[-1]
    assert state.point_frame_id == link
    assert 0.5 < state.link_probability <= 1.0
    assert state.point_deviation < 0.03
    point = np.array([state.point.x, state.point.y, state.point.z])
    # Thresholds of 2 Nm are five deviations: 0.4 Nm, which a force of 25 N moves by 2 cm.
    assert np.linalg.norm(point - surface.points[index]) < 0.05
    force = np.array([state.force.x, state.force.y, state.force.z])
    assert force @ surface.normals[index] < -10.0
    rig.ros.wait_for(
        lambda: any(m.ns == 'contact_force' and m.action == Marker.ADD for m in rig.shown()),
        meanwhile=lambda: rig.ros.publish_joint_state(rig.message(torque(index))),
    )
    pose = ROBOT.forward_kinematics(Q, link)
    (arrow,) = [m for m in rig.shown() if m.ns == 'contact_force']
    tip = arrow.points[1]
    seen = pose[:3, :3].T @ ([tip.x, tip.y, tip.z] - pose[:3, 3])
    assert np.linalg.norm(seen - surface.points[index]) < 0.05

    rig.hold(samples=30)
    assert rig.states[-1].link == ''
    assert not rig.states[-1].point_known
    assert math.isinf(rig.states[-1].point_deviation)
    rig.ros.wait_for(
        lambda: all(m.action == Marker.DELETE for m in rig.shown() if m.ns == 'contact_force'),
        meanwhile=lambda: rig.ros.publish_joint_state(rig.message()),
    )


def test_a_push_on_a_link_whose_mesh_is_missing_has_a_link_and_no_point(rig):
    touched = ROBOT.body_names[2]
    document = ElementTree.fromstring(ARM)
    for link in document.findall('link'):
        for collision in link.findall('collision'):
            if link.get('name') != touched:
                link.remove(collision)
    text = ElementTree.tostring(document, encoding='unicode')
    rig.ros.publish('/robot_description', String(data=text), LATCHED)
    rig.ros.wait_for(lambda: rig.ros.values(NODE).get('collision geometry') == 'of 1 links')
    rig.ros.wait_for(
        lambda: rig.states[-1].link_probability > 0.0,
        meanwhile=lambda: rig.ros.publish_joint_state(rig.message(PUSH_TORQUE)),
    )
    state = rig.states[-1]
    assert state.link in ROBOT.body_names[4:]
    assert not state.point_known
    assert state.point_frame_id == ''
    assert math.isinf(state.point_deviation)
    assert state.force.x == state.force.y == state.force.z == 0.0
