# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes on robots they were not made with, against Pinocchio: grippers, legs, random trees."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped, Quaternion, TwistStamped
from nav_msgs.msg import Odometry
from random_robots import random_urdf
from rclpy.qos import qos_profile_sensor_data
from ros_harness import LATCHED, client, running
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from tolerances import AGAINST_PINOCCHIO

from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.wire.conversions import pose_matrix, topic_names, transform_matrix, twist_array

# On a busy machine the kernels of a new robot take a minute of each process.
pytestmark = [pytest.mark.ros]

DOMAIN = 85

LIKE_EACH_OTHER, COMPARED = 120, 8
"""States in one layout: kernels are there then, and the observer has settled. Each of so many is
compared, which takes longer than the answer."""

ROBOTS = {
    'panda, whose fingers mimic': (lambda: urdf_path('panda').read_text(), 'fixed'),
    'anymal, whose base moves': (lambda: urdf_path('anymal').read_text(), 'floating'),
    'a random tree': (lambda: random_urdf(14, 12), 'fixed'),
    'a random tree on a plane': (lambda: random_urdf(79, 9), 'planar'),
}


class Stranger:
    """A robot that moves, all that the nodes say of it, and what Pinocchio says."""

    def __init__(self, ros, text: str, root: str) -> None:
        self.ros = ros
        self.robot = Robot.from_urdf(text, root, backend='python')
        self.peer = PinocchioPeer(text, self.robot)
        self.names = list(self.robot.joint_names)
        self.tip = self.robot.body_names[-1]
        self.rng = np.random.default_rng(3)
        # A base that stays: joint states and odometry come in no order.
        self.base = self.robot.neutral()[: self.robot.model.root_joint_nq]
        topic = f'/kinematics_node/{topic_names([self.tip])[self.tip]}'
        self.heard = {
            name: ros.listen(kind, name, 200)
            for name, kind in (
                (f'{topic}/pose', PoseStamped),
                (f'{topic}/twist', TwistStamped),
                ('/tf', TFMessage),
                ('/dynamics_node/gravity_torques', JointState),
            )
        }
        self.fixed = ros.listen(TFMessage, '/tf_static', LATCHED)
        self.others = ros.node.create_publisher(
            JointState, '/joint_states', qos_profile_sensor_data
        )

    def moved(self) -> tuple[np.ndarray, np.ndarray]:
        """Another state."""
        q, v = self.robot.random_configuration(self.rng), self.rng.normal(size=self.robot.nv)
        q[: len(self.base)] = self.base
        v[: self.robot.model.root_joint_nv] = 0.0
        return q, v

    def message(self, q, v, which, foreign=()) -> JointState:
        """What a driver says of the joints of these indices, and of joints of other robots."""
        names = [self.names[i] for i in which]
        position = [q[self.robot.joint_q_indices[name]] for name in names]
        velocity = [v[self.robot.joint_v_indices[name]] for name in names]
        effort = [1.0] * len(names)
        more = [0.5] * len(foreign)
        return self.ros.joint_state(
            [*names, *foreign], [*position, *more], [*velocity, *more], [*effort, *more]
        )

    def answers(self, message: JointState, publish=None) -> list:
        """What is said to a joint state, which is sent until all of it is there."""
        stamp = message.header.stamp

        def send() -> None:
            if len(self.base):
                odom = Odometry()
                odom.header.stamp = stamp
                odom.pose.pose.orientation = Quaternion(w=1.0)
                self.ros.publish('/odom', odom, qos_profile_sensor_data)
            (publish or self.ros.publish_joint_state)(message)

        def found() -> list | None:
            for heard in self.heard.values():
                # No other is looked at twice: a long list would take longer than the next message.
                heard[:] = [m for m in heard if self.stamp(m) == stamp][-1:]
            said = [m for heard in self.heard.values() for m in heard]
            return said if len(said) == len(self.heard) else None

        return self.ros.wait_for(found, meanwhile=send, period=0.1)

    @staticmethod
    def stamp(message):
        transforms = getattr(message, 'transforms', None)
        return (transforms[0] if transforms else message).header.stamp

    def check(self, said: list, q, v) -> None:
        """Compare with Pinocchio."""
        pose, twist, tf, torques = said
        peer, tip = self.peer, self.tip
        agree(pose_matrix(pose.pose, 'pose'), peer.forward_kinematics(q, tip))
        jacobian = peer.jacobian(q, tip, 'local_world_aligned')
        agree(twist_array(twist.twist, 'twist'), jacobian @ v)
        moving = {one.child_frame_id: one for one in tf.transforms}
        assert {*moving} == {*self.robot.body_names}
        fixed = {one.child_frame_id: one for one in self.fixed[-1].transforms}
        assert not {*fixed} & {*moving}
        links = {*fixed, *moving}
        assert {*links, self.robot.root_frame} == {*self.robot.frame_names, self.robot.root_frame}
        for frame in sorted(links.intersection(peer.frames))[:: max(1, len(links) // 8)]:
            agree(pose_in_tree(fixed | moving, frame), peer.forward_kinematics(q, frame))
        assert torques.name == self.names
        agree(np.array(torques.effort), peer.gravity(q)[list(self.robot.joint_v_indices.values())])


def pose_in_tree(tree, frame):
    """(4, 4) pose of a frame in the frame that all others hang on, as tf2 puts it together."""
    pose = np.eye(4)
    while frame in tree:
        pose = transform_matrix(tree[frame].transform, frame) @ pose
        frame = tree[frame].header.frame_id
    return pose


def agree(ours, theirs) -> None:
    scale = max(1.0, float(np.abs(theirs).max()))
    # A pose goes through a quaternion and back.
    np.testing.assert_allclose(ours, theirs, atol=AGAINST_PINOCCHIO * scale, rtol=0.0)


@pytest.fixture(scope='module')
def ros():
    with client(DOMAIN) as one:
        yield one


@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.few(2)
def test_what_is_said_is_what_pinocchio_says(ros, name):
    make, root = ROBOTS[name]
    text = make()
    stranger = Stranger(ros, text, root)
    everything, count = list(range(len(stranger.names))), len(stranger.names)
    parameters = {
        'robot_description': text,
        'root_joint': root,
        'frames': [stranger.tip],
        'publish_tf': True,
        'publish_base_tf': True,
    }
    with running('dynamics_ros', DOMAIN, parameters) as process:
        ros.wait_for(lambda: stranger.fixed)
        for number in range(LIKE_EACH_OTHER):
            q, v = stranger.moved()
            said = stranger.answers(stranger.message(q, v, everything))
            if number % COMPARED == 0:
                stranger.check(said, q, v)
        shuffled = stranger.rng.permutation(count).tolist()
        for foreign in ((), ('wheel', '')):
            q, v = stranger.moved()
            stranger.check(stranger.answers(stranger.message(q, v, shuffled, foreign)), q, v)
        # In two parts, of two publishers.
        q, v = stranger.moved()
        stranger.answers(stranger.message(q, v, everything[: count // 2]))
        rest = stranger.message(q, v, everything[count // 2 :])
        stranger.check(stranger.answers(rest, stranger.others.publish), q, v)
        assert 'Traceback' not in process.printed and 'callback raised' not in process.printed
