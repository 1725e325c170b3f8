"""The robot of a demonstration: what is known of it before anything runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ament_index_python.packages import get_package_share_directory
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot
from dynamics_ros.simulation import (
    Actuators,
    LagrangianReference,
    comfortable_posture,
    gentle_push,
    tool_frame,
)

Array = NDArray[np.float64]

DEFAULT_ROBOT = 'seven_joint_arm.urdf'

_LENGTH = 0.3  # m, the lever arm of the wrench estimate: its parameter wrench.length_scale
_USUAL_THRESHOLD = 0.05  # Nm per N, the default of wrench.singular_threshold
_SHARE_OF_PUSH = 0.2  # of the largest joint torque of the push that counts as contact


@dataclass(frozen=True)
class Subject:
    """A robot with its tool, its posture and the push that suits it.

    Attributes:
        urdf: the description.
        robot: the robot.
        reference: the independent road to its poses and torques.
        tool: frame that is followed and pushed.
        posture: (n) that the simulated motion goes around.
        force: (3) of the push, root axes [N].
        observable: share of the force that joint torques can tell, 1 when all of it.
    """

    urdf: str
    robot: Robot
    reference: LagrangianReference
    tool: str
    posture: Array
    force: Array
    observable: float

    @classmethod
    def of(cls, urdf: str) -> Subject:
        """Look at a description.

        Raises:
            ModelError: it is not a robot, or has no joint that moves.
        """
        robot = Robot.from_urdf(urdf)
        if robot.nv == 0:
            raise ModelError(f'robot {robot.name!r}', 'has no joint that moves')
        tool = tool_frame(read_urdf(urdf))
        posture = comfortable_posture(robot, tool)
        actuators = Actuators.for_robot(robot, posture, tool)
        force, observable = gentle_push(robot, actuators, posture, tool)
        reference = LagrangianReference(urdf, robot.joint_names)
        return cls(urdf, robot, reference, tool, posture, force, observable)

    def simulator_parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """Node name to parameters of the simulator."""
        return {'robot_simulator': {'robot_description': self.urdf, 'tool_frame': self.tool}}

    def node_parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """Node name to parameters of the nodes; the description reaches them by its topic, as on a robot.

        The thresholds follow the push, and those of the wrench estimate the size of the robot:
        a small arm has short levers, and its simulated sensors have no noise to damp.
        """
        J = self.robot.jacobian(self.posture, self.tool)
        torque = float(np.max(np.abs(J[:3].T @ self.force)))
        weights = np.array([1.0, 1.0, 1.0, _LENGTH, _LENGTH, _LENGTH])
        levers = np.linalg.svd(J * weights[:, None], compute_uv=False)
        shortest = float(levers[levers > 1e-6 * levers[0]][-1]) if levers[0] > 0.0 else 1.0
        contact = {
            'frames': [self.tool],
            'thresholds': {'contact': [_SHARE_OF_PUSH * torque], 'collision': [math.inf]},
            'wrench': {'singular_threshold': min(_USUAL_THRESHOLD, 0.3 * shortest)},
            'effort': {'noise': [max(min(0.1, 0.01 * torque), 1e-6)]},
        }
        return {'kinematics_node': {'frames': [self.tool]}, 'contact_node': contact}

    def target(self) -> Array:
        """(n) a posture away from the others, inside the limits, for inverse kinematics."""
        robot = self.robot
        step = 0.2 * np.where(np.arange(robot.nq) % 2, -1.0, 1.0)
        room = np.minimum(robot.upper_limits - self.posture, self.posture - robot.lower_limits)
        target: Array = self.posture + np.sign(step) * np.minimum(np.abs(step), 0.5 * room)
        return target


def read_description(path: str | None) -> str:
    """URDF text of a file, expanded if it is a xacro file, or of the package's own arm.

    Raises:
        ModelError: the file cannot be read or expanded.
    """
    if path is None:
        share = get_package_share_directory('dynamics_ros')
        file = Path(share, 'urdf', DEFAULT_ROBOT)
    else:
        file = Path(path)
    if file.suffix == '.xacro':
        return _expanded(file)
    try:
        return file.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f'file {str(file)!r}', f'cannot be read: {error}') from error


def _expanded(file: Path) -> str:
    try:
        import xacro
    except ImportError:
        raise ModelError(f'file {str(file)!r}', 'xacro is not installed') from None
    try:
        text: str = xacro.process_file(str(file)).toxml()
    except Exception as error:  # xacro raises whatever its expressions raise
        raise ModelError(f'file {str(file)!r}', f'xacro: {error}') from error
    return text
