# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`doctor`, and `inspect --topic`, beside real nodes in processes of their own."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time

import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from ros_harness import LATCHED, client, occupy, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from urdf_texts import pendulum

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 112


def doctor(*arguments, module='dynamics_ros.doctor'):
    """Start it; its output is read when it has ended."""
    occupy(DOMAIN)
    return subprocess.Popen(
        [sys.executable, '-m', module, *arguments],
        env={**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(user, process, **options):
    """What it says, while messages go on."""
    user.wait_for(lambda: process.poll() is not None, **options)
    out, err = process.communicate()
    assert 'Traceback' not in err, err
    return process.returncode, out


LOOKS = 3, 6, 12, 24
"""Seconds that it looks, one after the other: a busy machine discovers and sends slowly."""


def report(user, *arguments, code, lines, **options):
    """What it says when it ends with this code and has lines that match all of these."""
    for seconds in LOOKS:
        ended, out = answer(user, doctor('--seconds', str(seconds), *arguments), **options)
        lacking = [line for line in lines if not re.search(line, out, re.M)]
        if ended == code and not lacking:
            return out
    raise AssertionError(f'code {ended}, without {lacking}:\n{out}')


def test_of_nodes_that_work_it_tells_rates_and_that_nothing_is_wrong():
    with (
        client(DOMAIN, 'driver') as driver,
        running('kinematics_node', DOMAIN, {'robot_description': pendulum('arm')}),
    ):
        swing = JointState(name=['swing'], position=[0.1], velocity=[0.0])

        def send():
            swing.header.stamp = driver.node.get_clock().now().to_msg()
            driver.publish_joint_state(swing)

        driver.publish('/robot_description', String(data=pendulum('arm')), LATCHED)
        poses = driver.listen(PoseStamped, '/kinematics_node/rod/pose')
        driver.wait_for(lambda: poses, meanwhile=send)
        reads = {'module': 'dynamics_ros.inspect'}
        topics = [doctor('--topic', topic, **reads) for topic in ('/robot_description', '/nowhere')]
        lines = (
            # Once in 20 ms, or less often on a busy machine.
            r'^  /joint_states +[1-5]?\d(\.\d+)? Hz .*/driver',
            r'^  /kinematics_node/rod/pose +[\d.]+ Hz .*/driver',
            # What nobody wants stays uncomputed.
            r'^  nobody listens to /kinematics_node/: .*markers',
            r'^  /kinematics_node +arm +publishing',
            r'^nothing is wrong\n\Z',
        )
        report(driver, '--topic', '/robot_description', code=0, lines=lines, meanwhile=send)
        # ``inspect`` reads the description that somebody publishes.
        code, out = answer(driver, topics[0])
        assert code in (0, 1) and 'arm: 1 joints in q' in out
        _, err = topics[1].communicate()
        assert topics[1].returncode == 2
        assert "topic '/nowhere': no description within 10 s" in err


def test_of_nodes_in_trouble_it_names_each_trouble_and_its_cure():
    swing = JointState(name=['swing'], position=[0.1])
    swing.header.stamp.sec = 1000
    robot = {'robot_description': pendulum('arm'), 'use_sim_time': True}
    with (
        client(DOMAIN) as user,
        client(DOMAIN, 'listener') as listener,
        running('dynamics_node', DOMAIN, robot),
        running('kinematics_node', DOMAIN),
        running('kinematics_node', DOMAIN),
    ):
        user.wait_for_status('dynamics_node', 'waiting for swing')
        user.wait_for_status('kinematics_node', 'waiting for')
        listener.listen(JointState, '/arm/states', QoSProfile(depth=10))
        send = user.node.create_publisher(JointState, '/arm/states', qos_profile_sensor_data)
        other = pendulum('arm').replace('swing', 'turn')
        user.publish('/other/robot_description', String(data=other), LATCHED)
        lines = (
            '^! /arm/states has no joint of the description but swing',
            '^! 2 nodes are named /kinematics_node: ',
            '^! /listener cannot hear /test_client on /arm/states: ',
            '^! /dynamics_node: silent: waiting for swing: /joint_states has no publisher',
            '^! /dynamics_node with use_sim_time: nobody publishes /clock',
            'joint states are on /arm/states: -r joint_states:=/arm/states',
            '^! /kinematics_node: silent: waiting for robot_description',
            'start robot_state_publisher',
            r'^! stamps of /arm/states are [\d.e+]+ s behind the clock',
        )
        topic = '--topic', '/other/robot_description'
        out = report(user, *topic, code=1, lines=lines, meanwhile=lambda: send.publish(swing))
    assert len(out.splitlines()) <= 40


def test_publishers_and_odometry_that_contradict_themselves_are_named():
    floating = {'robot_description': pendulum('arm'), 'root_joint': 'floating'}
    with (
        client(DOMAIN, 'driver') as driver,
        client(DOMAIN, 'other') as other,
        running('kinematics_node', DOMAIN, floating),
    ):

        def send():
            stamp, t = driver.node.get_clock().now().to_msg(), time.time()
            for publisher, shift in ((driver, 0.0), (other, 0.5)):
                swing = math.sin(t) + shift
                state = JointState(name=['swing', 'agreed'], position=[swing, math.sin(t)])
                state.header.stamp = stamp
                publisher.publish_joint_state(state)
            # On a circle, with the velocity in axes of the world, never nearly the base's.
            heading = 0.5 * math.pi + 0.5 * math.sin(t)
            odom = Odometry(child_frame_id='base')
            odom.header.stamp = stamp
            where, turned = odom.pose.pose.position, odom.pose.pose.orientation
            where.x, where.y = math.sin(t), -math.cos(t)
            turned.z, turned.w = math.sin(0.5 * heading), math.cos(0.5 * heading)
            moves = odom.twist.twist
            moves.linear.x, moves.linear.y = math.cos(t), math.sin(t)
            moves.angular.z = 0.5 * math.cos(t)
            driver.publish('/odom', odom)

        poses = driver.listen(PoseStamped, '/kinematics_node/rod/pose')
        driver.wait_for(lambda: poses, meanwhile=send)
        lines = ['^! odometry of /driver on /odom: linear twists are in the axes of frame_id']
        if not os.environ.get('DYNAMICS_ROS_WHEELS'):  # Jazzy does not say who sent a message
            lines += ['^! /driver and /other report different positions of swing on /joint_states']
        report(driver, code=1, lines=lines, meanwhile=send)


def test_where_nobody_is_it_says_where_to_look():
    with client(DOMAIN) as user:
        own = doctor('--seconds', '1')
        code, out = answer(user, own)
    # The client of this test is a node too, which a busy machine may not find in a second.
    assert code == 1
    assert re.search('^! no node (runs in ROS_DOMAIN_ID|of dynamics_ros publishes)', out, re.M)
