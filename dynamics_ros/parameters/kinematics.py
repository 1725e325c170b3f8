# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of kinematics_node."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.settings import parameter

from .shared import PUBLISH_RATE, output_rate


@dataclass(frozen=True)
class MarkerParameters:
    """What RViz is shown."""

    rate: float = parameter(
        20.0, 'Most marker messages a second; 0: one for every joint state', unit='Hz', minimum=0.0
    )
    axis_length: float = parameter(0.1, 'Length of the axes of a frame', unit='m', minimum=0.001)
    center_of_mass_diameter: float = parameter(
        0.05, 'Diameter of the sphere at the centre of mass', unit='m', minimum=0.001
    )


@dataclass(frozen=True)
class InverseKinematicsParameters:
    """Defaults of the service compute_inverse_kinematics."""

    timeout: float = parameter(
        0.1, 'Time limit of a search that asks for none', unit='s', minimum=0.001, maximum=60.0
    )
    max_timeout: float = parameter(
        5.0, 'Longest time limit that a request may ask for', unit='s', minimum=0.001, maximum=60.0
    )
    position_tolerance: float = parameter(
        1e-5, 'Distance to the target that counts as solved', unit='m', minimum=1e-9
    )
    rotation_tolerance: float = parameter(
        1e-5, 'Angle to the target that counts as solved', unit='rad', minimum=1e-9
    )


@dataclass(frozen=True)
class KinematicsRates:
    """Rates of single outputs of kinematics_node."""

    pose: float = output_rate('~/<frame>/pose, each')
    twist: float = output_rate('~/<frame>/twist, each')
    tf: float = output_rate('/tf')


@dataclass(frozen=True)
class KinematicsParameters:
    """Parameters of kinematics_node."""

    frames: tuple[str, ...] = parameter(
        (), 'Frames whose pose and twist are published. Empty: the end of the longest chain'
    )
    twist_reference: str = parameter(
        'local_world_aligned',
        'What the published twists are expressed in: at the origin of the frame with the axes of '
        'the root frame, in the frame itself, or about the origin of the root frame',
        choices=('local_world_aligned', 'local', 'world'),
    )
    publish_rate: float = parameter(0.0, PUBLISH_RATE, unit='Hz', minimum=0.0)
    publish_rates: KinematicsRates = field(default_factory=KinematicsRates)
    publish_tf: bool = parameter(
        False,
        'Publish the links as robot_state_publisher does: those that joints move in their parent '
        'links to /tf, the others to /tf_static. Not beside a robot_state_publisher of the same '
        'robot: a link would have two parents',
    )
    publish_base_tf: bool = parameter(
        False,
        'With publish_tf, publish the pose of a moving base in the frame of odom as well: for a '
        'robot whose odometry nobody else gives to tf',
    )
    moveit_services: bool = parameter(
        False,
        'Offer compute_fk and compute_ik as MoveIt does; needs moveit_msgs. Not beside a '
        'move_group of the same namespace: it has services of these names',
        read_only=True,
    )
    group_name: str = parameter(
        '',
        'Name of the group that compute_ik answers for: the chain to the first of frames. Empty: '
        'whatever a request calls it',
    )
    avoid_collisions_policy: str = parameter(
        'error',
        'What a request of compute_ik with avoid_collisions gets, of a node that knows no '
        'collisions: an error, or a solution as if it had not asked',
        choices=('error', 'ignore'),
    )
    markers: MarkerParameters = field(default_factory=MarkerParameters)
    inverse_kinematics: InverseKinematicsParameters = field(
        default_factory=InverseKinematicsParameters
    )
