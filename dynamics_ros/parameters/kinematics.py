# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of kinematics_node."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.parameters.robot import COLLISION_MARGIN, PUBLISH_RATE, fixed
from dynamics_ros.settings import parameter

MAX_TIMEOUT = 5.0
"""Longest time limit of a search [s]."""


@dataclass(frozen=True)
class InverseKinematicsParameters:
    """Defaults of the service compute_inverse_kinematics."""

    timeout: float = parameter(0.1, 'Time limit if a request gives none', 's', (0.001, MAX_TIMEOUT))

    def time_limit(self, requested: float) -> float:
        """Return the time limit of a request, which may be 0 for the default [s].

        Raises:
            InvalidArgumentError: the limit is negative or longer than the node allows.
        """
        timeout = requested or self.timeout
        if not 0.0 < timeout <= MAX_TIMEOUT:
            expected = f'0 to {MAX_TIMEOUT:g} s'
            raise InvalidArgumentError('timeout', f'{timeout:g} s', expected)
        return timeout


@dataclass(frozen=True)
class KinematicsParameters:
    """Parameters of kinematics_node."""

    frames: tuple[str, ...] = parameter(
        (), 'Frames whose pose and twist are published. Empty: the end of the longest chain'
    )
    publish_rate: float = parameter(0.0, PUBLISH_RATE, 'Hz', minimum=0.0)
    publish_tf: bool = fixed(
        False,
        'Publish the links as robot_state_publisher does: links on moving joints relative to their '
        'parent links on /tf, others on /tf_static. Do not set it together with a '
        'robot_state_publisher for the same robot, which publishes the same transforms',
    )
    publish_base_tf: bool = fixed(
        False,
        'With publish_tf, also publish the pose of a moving base in the frame of odom, if no other '
        'node does so on /tf',
    )
    moveit_services: bool = fixed(
        False,
        'Provide the services compute_fk and compute_ik of MoveIt; needs moveit_msgs. Do not set '
        'it together with move_group in the same namespace, which has services of these names',
    )
    collision_margin: float = parameter(0.01, COLLISION_MARGIN, 'm', (0.0, 1.0))
    inverse_kinematics: InverseKinematicsParameters = field(
        default_factory=InverseKinematicsParameters
    )
