# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference implementation of the outputs: rclpy.spin, message objects, Pinocchio.

Run as a program: `python -m benchmarks.ros_reference FILE.urdf FRAME`. It is a careful
implementation without a library of kernels: each quantity is computed once per message, names are
resolved once, and messages are created with their constructors.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import rclpy
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseStamped,
    Quaternion,
    Transform,
    TransformStamped,
    Twist,
    TwistStamped,
    Vector3,
    Wrench,
    WrenchStamped,
)
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from benchmarks.ros_echo import SELDOM
from dynamics_ros.nodes.inputs import JOINT_STATE_QOS
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

GAIN = 50.0
NOISE = 0.1
CONTACT, COLLISION = 2.0, 30.0


class Reference(Node):
    """Node with kinematics, gravity torques, a momentum observer and the wrench at the tool."""

    def __init__(self, urdf: str, frame: str) -> None:
        super().__init__('benchmark_reference')
        self.model = pinocchio.buildModelFromUrdf(urdf)
        self.data = self.model.createData()
        self.names = list(self.model.names)[1:]
        self.frame, self.frame_id = frame, self.model.getFrameId(frame)
        self.root = self.model.frames[1].name
        self.links = [
            (i, f.name)
            for i, f in enumerate(self.model.frames)
            if f.type == pinocchio.FrameType.BODY and f.name != self.root
        ]
        self.order: list[int] = []
        self.order_of: list[str] = []
        self.count = 0
        self.last: tuple[float, Any, Any] | None = None
        self.estimate = np.zeros(self.model.nv)
        self.pub = {
            name: self.create_publisher(kind, f'~/{name}', 10)
            for name, kind in (
                ('pose', PoseStamped),
                ('twist', TwistStamped),
                ('gravity_torques', JointState),
                ('gravity_commands', Float64MultiArray),
                ('external_torques', JointState),
                ('contact_state', ContactState),
                ('wrench', WrenchStamped),
                ('estimate', ExternalWrench),
                ('kinematics_markers', MarkerArray),
                ('contact_markers', MarkerArray),
            )
        }
        self.pub['tf'] = self.create_publisher(TFMessage, '~/tf', 10)
        self.create_subscription(JointState, 'joint_states', self.on_joint_state, JOINT_STATE_QOS)

    def on_joint_state(self, message: JointState) -> None:
        """Compute and publish all outputs."""
        if message.name != self.order_of:
            self.order_of = list(message.name)
            self.order = [self.order_of.index(name) for name in self.names]
        q = np.array(message.position)[self.order]
        v = np.array(message.velocity)[self.order]
        tau = np.array(message.effort)[self.order]
        if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(tau).all()):
            return
        self.count += 1
        stamp = message.header.stamp
        head = Header(stamp=stamp, frame_id=self.root)
        time = stamp.sec + 1e-9 * stamp.nanosec
        pinocchio.forwardKinematics(self.model, self.data, q, v)
        pinocchio.updateFramePlacements(self.model, self.data)
        pose = pose_of(self.data.oMf[self.frame_id])
        self.pub['pose'].publish(PoseStamped(header=head, pose=pose))
        velocity = pinocchio.getFrameVelocity(
            self.model, self.data, self.frame_id, pinocchio.LOCAL_WORLD_ALIGNED
        ).vector
        twist = Twist(linear=vector(velocity[:3]), angular=vector(velocity[3:]))
        self.pub['twist'].publish(TwistStamped(header=head, twist=twist))
        self.pub['tf'].publish(TFMessage(transforms=[self.transform(head, *x) for x in self.links]))
        gravity = pinocchio.computeGeneralizedGravity(self.model, self.data, q).copy()
        plain = Header(stamp=stamp)
        torques = JointState(header=plain, name=self.names, effort=gravity.tolist())
        self.pub['gravity_torques'].publish(torques)
        self.pub['gravity_commands'].publish(Float64MultiArray(data=gravity.tolist()))
        external = self.observe(time, q, v, tau, gravity)
        torques = JointState(header=plain, name=self.names, effort=external.tolist())
        self.pub['external_torques'].publish(torques)
        largest = float(np.abs(external).max())
        self.pub['contact_state'].publish(
            ContactState(
                header=head,
                state=2 if largest > COLLISION else 1 if largest > CONTACT else 0,
                link=self.frame if largest > CONTACT else '',
                joint_names=self.names,
                external_torques=external.tolist(),
                contact_thresholds=[CONTACT] * len(self.names),
                collision_thresholds=[COLLISION] * len(self.names),
            )
        )
        self.publish_wrench(head, q, external)
        if self.count % SELDOM == 0:
            self.publish_markers(head, pose)

    def transform(self, head: Header, index: int, name: str) -> TransformStamped:
        """Transform message of a link."""
        pose = pose_of(self.data.oMf[index])
        place = Vector3(x=pose.position.x, y=pose.position.y, z=pose.position.z)
        transform = Transform(translation=place, rotation=pose.orientation)
        return TransformStamped(header=head, child_frame_id=name, transform=transform)

    def observe(self, time: float, q: Any, v: Any, tau: Any, gravity: Any) -> Any:
        """External torques (nv), by a first-order momentum observer."""
        M = pinocchio.crba(self.model, self.data, q)
        C = pinocchio.computeCoriolisMatrix(self.model, self.data, q, v)
        momentum, drive = M @ v, tau + C.T @ v - gravity
        if self.last is not None and time > self.last[0]:
            before, momentum_before, drive_before = self.last
            step = time - before
            mean = (momentum - momentum_before) / step - 0.5 * (drive + drive_before)
            self.estimate = mean + math.exp(-GAIN * step) * (self.estimate - mean)
        self.last = (time, momentum, drive)
        return self.estimate

    def publish_wrench(self, head: Header, q: Any, external: Any) -> None:
        """Publish the wrench at the tool and its covariance."""
        J = pinocchio.computeFrameJacobian(
            self.model, self.data, q, self.frame_id, pinocchio.LOCAL_WORLD_ALIGNED
        )
        U, s, Vt = np.linalg.svd(J.T, full_matrices=False)
        inverse = np.where(s > 0.02, 1.0 / s, s / 0.02**2)
        wrench = Vt.T @ (inverse * (U.T @ external))
        covariance = (Vt.T * (NOISE * inverse) ** 2) @ Vt
        force = Wrench(force=vector(wrench[:3]), torque=vector(wrench[3:]))
        self.pub['wrench'].publish(WrenchStamped(header=head, wrench=force))
        x, y, z = self.data.oMf[self.frame_id].translation.tolist()
        self.pub['estimate'].publish(
            ExternalWrench(
                header=head,
                frame=self.frame,
                wrench=force,
                reference_point=Point(x=x, y=y, z=z),
                covariance=covariance.ravel(),
                singular_values=s.tolist(),
                observable=(s > 0.02).tolist(),
                degraded=bool((s <= 0.02).any()),
                joint_names=self.names,
                tare_offset=[0.0] * len(self.names),
            )
        )

    def publish_markers(self, head: Header, pose: Pose) -> None:
        """Publish the axes of the frame and the centre of mass."""
        axes = Marker(header=head, ns='frames', type=Marker.LINE_LIST, pose=pose)
        axes.points = [Point(), Point(x=0.1), Point(), Point(y=0.1), Point(), Point(z=0.1)]
        center = Marker(header=head, ns='center_of_mass', type=Marker.SPHERE)
        self.pub['kinematics_markers'].publish(MarkerArray(markers=[axes, center]))
        arrows = [Marker(header=head, ns=name, type=Marker.ARROW) for name in ('force', 'torque')]
        for arrow in arrows:
            arrow.points = [pose.position, pose.position]
        self.pub['contact_markers'].publish(MarkerArray(markers=arrows))


def vector(values: Any) -> Vector3:
    """Message of a vector (3)."""
    x, y, z = values.tolist()
    return Vector3(x=x, y=y, z=z)


def pose_of(placement: Any) -> Pose:
    """Message of a Pinocchio placement."""
    x, y, z = placement.translation.tolist()
    qx, qy, qz, qw = pinocchio.Quaternion(placement.rotation).coeffs().tolist()
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def main(file: str, frame: str) -> None:
    """Run until a signal."""
    rclpy.init(args=sys.argv)
    node = Reference(str(Path(file)), frame)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == '__main__':
    main(*sys.argv[1:3])
