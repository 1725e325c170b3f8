"""Where joint commands go: arrays for forward controllers, or trajectories of one point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..errors import InvalidArgumentError, UnknownJointError
from ..robot import Robot
from .conversions import Array, duration_message, float_sequence
from .outputs import Output


class Commands:
    """Publishes what the joints shall do next."""

    def __init__(self, node: Node, kind: str) -> None:
        """Have the topic of a ``command_type``."""
        self.kind = kind
        trajectory = kind == 'trajectory'
        message = JointTrajectory if trajectory else Float64MultiArray
        name = '~/joint_trajectory' if trajectory else '~/joint_commands'
        self.output = Output(node, message, name)

    def publish(self, robot: Robot, joints: Sequence[str], q: Array, v: Array, dt: float) -> None:
        """Publish one command.

        Args:
            robot: whose joints they are.
            joints: names, in the order of the controller.
            q: (nq) where they shall be when ``dt`` [s] has passed.
            v: (nv) how fast they shall go until then.
        """
        velocities = v[[robot.joint_v_indices[name] for name in joints]]
        if self.kind == 'velocity':
            self.output.publish(Float64MultiArray(data=float_sequence(velocities)))
            return
        positions = q[[robot.joint_q_indices[name] for name in joints]]
        if self.kind == 'position':
            self.output.publish(Float64MultiArray(data=float_sequence(positions)))
            return
        point = JointTrajectoryPoint(
            positions=float_sequence(positions),
            velocities=float_sequence(velocities),
            time_from_start=duration_message(dt),
        )
        # A stamp of zero: at once.
        self.output.publish(JointTrajectory(joint_names=list(joints), points=[point]))


def commanded_joints(robot: Robot, frame: str, asked: Sequence[str], kind: str) -> tuple[str, ...]:
    """The joints that are commanded.

    Raises:
        InvalidArgumentError: none are named where the order of an array has to be known.
        UnknownJointError: the robot does not have one.
    """
    for name in asked:
        if name not in robot.joint_v_indices:
            raise UnknownJointError('command_joints', name, robot.joint_v_indices)
    if asked:
        return tuple(asked)
    if kind != 'trajectory':
        problem = f'empty beside command_type {kind}'
        raise InvalidArgumentError(
            'command_joints', problem, 'the joints of the controller in its order'
        )
    moved = np.abs(robot.jacobian(robot.random_configuration(0), frame)).max(axis=0) > 0.0
    return tuple(name for name, index in robot.joint_v_indices.items() if moved[index])
