# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""odom of a legged robot that nobody tells where it is: from an IMU and the feet that stand."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from ros_harness import LATCHED, client, running
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu
from std_msgs.msg import String
from walking import FEET, IMU, PERIOD, ROBOT, walk

from benchmarks.robots import urdf_path
from dynamics_ros.wire.conversions import nanoseconds

pytestmark = pytest.mark.ros

DOMAIN = 71
BIASES = np.array([[0.005, -0.005, 0.005], [0.1, -0.1, 0.05]])
"""Of the IMU [rad/s, m/s^2]: without the feet it would be off by a quarter of the way."""

DETAIL = 'base by IMU and feet'
TEXT = urdf_path('anymal').read_text()
PARAMETERS = {
    'root_joint': 'floating',
    'feet': {'frames': list(FEET)},
    'base': {'imu_topic': 'imu'},
}


@pytest.fixture(scope='module')
def samples():
    return walk(2.0)


def efforts(sample):
    """Torques of the joints at which the feet that stand carry and move the robot."""
    standing = [foot for foot, stands in zip(FEET, sample.stands, strict=True) if stands]
    J = np.vstack([ROBOT.jacobian(sample.q, foot)[:3] for foot in standing])
    tau = ROBOT.inverse_dynamics(sample.q, sample.v, sample.a)
    forces = np.linalg.lstsq(J[:, :6].T, tau[:6], rcond=None)[0]
    return (tau - J.T @ forces)[6:]


def reading(sample, stamp, frame=IMU):
    message = Imu()
    message.header.frame_id, message.header.stamp = frame, stamp
    readings = sample.rate + BIASES[0], sample.force + BIASES[1]
    for field, values in zip(('angular_velocity', 'linear_acceleration'), readings, strict=True):
        for axis, value in zip('xyz', values, strict=True):
            setattr(getattr(message, field), axis, float(value))
    return message


def tell(ros, sample, **options):
    """One joint state, and the reading of the IMU at the same time; its stamp [ns]."""
    names = ROBOT.joint_names
    state = ros.joint_state(names, sample.q[7:], sample.v[6:], efforts(sample), step=PERIOD)
    ros.publish_joint_state(state)
    ros.publish('/imu', reading(sample, state.header.stamp, **options), qos_profile_sensor_data)
    return nanoseconds(state.header.stamp)


@pytest.fixture
def ros():
    with running('contact_node', DOMAIN, PARAMETERS), client(DOMAIN) as one:
        one.publish('/robot_description', String(data=TEXT), LATCHED)
        one.wait_for(lambda: one.status('contact_node').hardware_id)
        yield one


def pose(message):
    p, o = message.pose.pose.position, message.pose.pose.orientation
    return np.array([p.x, p.y, p.z]), Rotation.from_quat([o.x, o.y, o.z, o.w])


def test_a_walk_is_published_as_odometry_and_gives_the_node_its_base(ros, samples):
    found = ros.listen(Odometry, '/odom', 1000)
    first = samples[0]
    ros.wait_for(lambda: found, meanwhile=lambda: tell(ros, first), period=PERIOD)
    start, began = pose(found[-1])
    before = 0
    for sample in samples:
        # A reading that overtakes its joint state is answered with the next one.
        told, before = before, tell(ros, sample)
        late = time.monotonic() + 0.2
        ros.wait_for(
            lambda told=told, late=late: (
                nanoseconds(found[-1].header.stamp) >= told or time.monotonic() > late
            )
        )
    ros.wait_for(lambda: nanoseconds(found[-1].header.stamp) >= told)
    last = found[-1]
    assert last.header.frame_id == 'odom' and last.child_frame_id == 'base'
    p, R = pose(last)
    truth = samples[-1].q
    way = truth[:3] - first.q[:3]
    turn = Rotation.from_quat(truth[3:7]) * Rotation.from_quat(first.q[3:7]).inv()
    assert np.linalg.norm(way) > 0.3
    assert np.linalg.norm(p - start - way) < 0.1 * np.linalg.norm(way)
    assert (R * began.inv() * turn.inv()).magnitude() < 0.03
    twist = last.twist.twist
    v = [twist.linear.x, twist.linear.y, twist.linear.z]
    assert np.linalg.norm(np.array(v) - samples[-1].v[:3]) < 0.05
    assert np.array(last.pose.covariance).reshape(6, 6).diagonal().min() > 0.0
    # A description with other masses, as of a calibration, leaves the robot where it is.
    other = TEXT.replace('robot name="anymal"', 'robot name="heavier"').replace('"16.79', '"19.5')
    ros.publish('/robot_description', String(data=other), LATCHED)
    ros.wait_for(lambda: ros.status('contact_node').hardware_id == 'heavier')
    del found[:]
    ros.wait_for(lambda: found, meanwhile=lambda: tell(ros, samples[-1]), period=PERIOD)
    assert np.linalg.norm(pose(found[0])[0] - p) < 0.02
    # The estimates of contact_node use it.
    at_rest = samples[0]
    ros.wait_for_status('contact_node', 'publishing', meanwhile=lambda: tell(ros, at_rest))


def test_readings_that_are_none_are_refused_and_the_node_goes_on(ros, samples):
    found = ros.listen(Odometry, '/odom', 1000)
    sample = samples[0]

    def problem(text, **options):
        ros.wait_for(
            lambda: text in ros.values('contact_node').get(DETAIL, ''),
            meanwhile=lambda: tell(ros, sample, **options),
            period=PERIOD,
        )

    problem('nose', frame='nose')
    bad = reading(sample, ros.next_stamp(PERIOD))
    bad.angular_velocity.x = float('nan')
    ros.wait_for(
        lambda: 'angular_velocity' in ros.values('contact_node').get(DETAIL, ''),
        meanwhile=lambda: ros.publish('/imu', bad, qos_profile_sensor_data),
    )
    assert not found
    problem('published on odom')
    assert found
    ros.wait_for(lambda: 'no reading on imu' in ros.values('contact_node').get(DETAIL, ''))


def test_noise_at_rest_and_a_single_reading_take_nothing_away(ros, samples):
    found = ros.listen(Odometry, '/odom', 1000)
    rest, rng = samples[0], np.random.default_rng(0)

    def noisy(extra=0.0):
        v = rest.v.copy()
        v[6:] += 0.03 * rng.normal(size=12)
        return replace(rest, v=v, rate=np.add(rest.rate, (extra, 0.0, 0.0)))

    ros.wait_for(lambda: found, meanwhile=lambda: tell(ros, noisy()), period=PERIOD)
    tell(ros, noisy(0.06))
    count = len(found)
    ros.wait_for(
        lambda: len(found) > count + 5, meanwhile=lambda: tell(ros, noisy()), period=PERIOD
    )
    assert ros.values('contact_node')[DETAIL] == 'published on odom'


def test_a_foot_that_does_not_exist_is_refused_with_its_name(ros):
    result = ros.set_parameter('contact_node', 'feet.frames', ['LF_FOOT', 'NOSE'])
    assert not result.successful
    assert 'NOSE' in result.reason
