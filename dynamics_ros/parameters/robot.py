# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the robot, and what the parameters of several nodes have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError, UnknownJointError, meant
from dynamics_ros.robot import Robot
from dynamics_ros.settings import MAX_GRAVITY, parameter

fixed = partial(parameter, read_only=True)
"""Creates a field, as ``parameter``, of a parameter that is fixed at start."""

REMOVED = {
    name: instead
    for instead, names in {
        'nothing: remove the line': """
            unexplained.lowest unexplained.highest group_name observer.max_gap""",
        'nothing: remove the line, and after momentum_third_order or static observer.gain too; '
        'calibrate again': 'observer.kind',
        'stiffness, a 6 x 6 matrix in the axes of the root frame': 'stiffness_frame',
        'observer.gain: estimates follow a payload with its time constant': (
            'observer.transition_time'
        ),
        'torque.limit, and setpoint.linear_lead, which bounds the springs': 'energy.capacity',
        'the mode impedance, with a stiffness of 0 along the directions that are free': (
            'guiding.locked guiding.stiffness'
        ),
        'a box in ~/obstacles, with repulsion.stiffness': 'guiding.lower guiding.upper',
        'the field of that name in requests': """
            inverse_kinematics.position_tolerance inverse_kinematics.rotation_tolerance""",
        'a timeout of up to 5 s in a request': 'inverse_kinematics.max_timeout',
        'effort.* and friction.*; a goal has the duration': 'identification.',
        'nothing: calibrate again, or remove the line': """
            effort.velocity_differenced effort.velocity_cutoff friction.stribeck_velocity
            unexplained.fastest unexplained.beyond""",
        'unexplained.speed, a fifth of it': 'thresholds.velocity',
        'nothing: calibrate again when friction has changed': 'adaptation.',
        'friction.* and robot_carries_itself': 'feed_forward.',
        'its former default, which is a constant now': """
            plausibility.sigmas plausibility.velocity plausibility.effort
            feet.force_threshold thresholds.release location.rate
            markers.diameter wrench.length_scale location.friction tare.max_deviation
            location.max_deviation location.resolution tare.max_velocity joint_range.guard_rate
            largest_inertia blending_time speed.joint_scale ground_truth_rate load_friction
            command_mode markers.rate markers.axis_length markers.center_of_mass_diameter
            location.enabled joint_range.stiffness guiding.damping
            tare.window wrench.singular_threshold thresholds.debounce""",
        'publish_rate, for all outputs of the node': 'publish_rates.',
        'collision.reaction stop or float': """
            collision.torque_gain collision.admittance collision.speed collision.distance""",
        '~/set_gravity of dynamics_node, from a node that filters the IMU': 'gravity_source.',
        'a remapping: -r OLD:=NEW': 'contact_topic gravity_topic simulator',
        'RViz or Foxglove, which show markers; the page draws forces itself': 'marker_topics',
        'the violations that ~/compute_trajectory_efforts returns': (
            'feed_forward.refuse_beyond_limits'
        ),
        'unexplained.* of calibrate_robot': 'thresholds.acceleration',
        'thresholds.false_alarms_per_hour; 0 means 5 standard deviations': 'thresholds.sigmas',
        'markers.force_scale: torque arrows have five times its length': 'markers.torque_scale',
        'local_world_aligned; ~/compute_forward_kinematics has others': 'twist_reference',
        'the frame of odom, whose z axis has to be the normal of the ground': 'feet.normal',
        'coal, or requests without avoid_collisions': 'avoid_collisions_policy',
    }.items()
    for name in names.split()
}
"""Parameters of earlier versions, which are refused, and what to use now; ``group.`` is a group."""


def instead_of(name: str) -> str:
    """Return what to use instead of a parameter of an earlier version; '' for any other."""
    return REMOVED.get(name, REMOVED.get(f'{name.partition(".")[0]}.', ''))


def advice(name: str, known: Iterable[str]) -> str:
    """Return what to use instead of an unknown parameter, or the closest known name, or ''."""
    instead = instead_of(name)
    return f'; use {instead}' if instead else meant(name, known)


DIRECTIONS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
"""Directions along and around the axes."""

COLLISION_MARGIN = 'Distance that links keep from each other and from the obstacles of ~/obstacles'

PUBLISH_RATE = 'Maximum rate of each output; 0: one message for every joint state'


@dataclass(frozen=True)
class DescriptionParameters:
    """File of the robot's description, for a node that may also get it otherwise."""

    robot_description_file: str = fixed(
        '',
        'File of the robot, used if robot_description is empty: URDF, xacro (its name ends in '
        '.xacro), MJCF or SDF. Relative to the folder of the start. Empty: the topic '
        'robot_description, or of robot_simulator the seven-joint arm of this package',
    )
    robot_description_arguments: tuple[str, ...] = fixed(
        (), 'Arguments of the xacro file, each "name:=value" in quotes'
    )


COMMANDED = 'command_joints'
"""Name of the parameter with the commanded joints, in the order of the controller."""


def known_frames(
    robot: Robot, frames: tuple[str, ...], default: str, parameter: str = 'frames'
) -> tuple[str, ...]:
    """Return the frames of a parameter, or the default frame if it is empty.

    Raises:
        UnknownFrameError: the robot does not have one of them.
    """
    for frame in frames:
        if frame not in robot.frame_names:
            raise UnknownFrameError(parameter, frame, robot.frame_names)
    return frames or (default,)


def check_unique(joints: Sequence[str], expected: str = 'each joint once') -> None:
    """Check that no commanded joint is repeated.

    Args:
        joints: names of the joints.
        expected: text for the error.

    Raises:
        InvalidArgumentError: a joint is repeated.
    """
    if len(set(joints)) != len(joints):
        raise InvalidArgumentError(COMMANDED, 'a joint is named twice', expected)


def check_known(robot: Robot, joints: Sequence[str]) -> None:
    """Check that the robot has all commanded joints.

    Raises:
        UnknownJointError: the robot does not have one of them.
    """
    for name in joints:
        if name not in robot.joint_v_indices:
            raise UnknownJointError(COMMANDED, name, robot.joint_v_indices)


@dataclass(frozen=True)
class CommandingParameters:
    """Parameters of every node that commands a robot."""

    autostart: bool = fixed(
        False,
        'Configure and activate the commands to the robot at start; false: left to a lifecycle '
        'manager, or ros2 lifecycle set',
    )
    allow_other_publishers: bool = parameter(
        False,
        'Become active although another node publishes on the topic of the commands; for a '
        'multiplexer that chooses between them',
    )


@dataclass(frozen=True)
class TargetParameters(CommandingParameters):
    """Parameters of every node that moves a robot to targets."""

    rate: float = fixed(200.0, 'Rate of the commands', 'Hz', (1.0, 1000.0))
    transform_timeout: float = parameter(
        1.0,
        'Age of a transform, by its stamp, at which a target in its frame ends; static transforms '
        'have no age; inf: never',
        's',
        (0.01, 3600.0),
        may_be_infinite=True,
    )


MAX_PAYLOAD = 1e4
"""Largest mass of a payload [kg]; more than any arm carries."""


@dataclass(frozen=True)
class LockedJointParameters:
    """Joints with a constant position, which are removed from the model."""

    names: tuple[str, ...] = fixed((), 'Joints to lock at a constant position')
    positions: tuple[float, ...] = fixed(
        (), 'Position of each locked joint, in the order of names', 'rad or m', (-1e6, 1e6)
    )


@dataclass(frozen=True)
class RobotParameters(DescriptionParameters):
    """Parameters of the robot and its state; shared by all nodes of a process."""

    robot_description: str = fixed('', 'URDF as XML text. Empty: robot_description_file')
    root_joint: str = fixed(
        'fixed',
        'Joint between the world and the root link. floating and planar need the topic odom',
        choices=('fixed', 'floating', 'planar'),
    )
    locked_joints: LockedJointParameters = field(default_factory=LockedJointParameters)
    loops: tuple[str, ...] = fixed(
        (),
        'Frames that joints hold together beside those of the tree, each frame other [kind] '
        'without prefix. position (the default): the origins; pose: the poses; revolute: the '
        'origins and z axes. Those of MJCF are known',
    )
    passive_joints: tuple[str, ...] = fixed(
        (),
        'Joints of loops that have no motor, so that they get no torque. Those of MJCF are known',
    )
    loop_tolerance: float = parameter(
        0.01,
        'Gap of a loop from which dynamics_node does not use a joint state',
        unit='m or rad',
        minimum=1e-6,
        maximum=1.0,
    )
    gravity: tuple[float, ...] = fixed(
        (0.0, 0.0, -9.81),
        'Acceleration of free fall in the root frame at start; ~/set_gravity of dynamics_node sets '
        'another one',
        'm/s^2',
        (-MAX_GRAVITY, MAX_GRAVITY),
        sizes=(3,),
    )
    largest_payload: float = fixed(
        0.0,
        'Largest accepted mass of a payload, from any source; 0: the mass of the robot without '
        'payload',
        'kg',
        (0.0, MAX_PAYLOAD),
    )
    backend: str = fixed(
        'auto',
        'Back end of the kernels. llvm: machine code; python: Python; auto: the fastest available',
        choices=('auto', 'llvm', 'python'),
    )
    frame_prefix: str = fixed(
        '',
        'Prefix of every frame_id of a frame of the model, as in robot_state_publisher',
        is_frame=True,
    )
    joint_state_topic: str = fixed(
        'joint_states',
        'Topic of the joint states: joint_states, or dynamic_joint_states of ros2_control, which '
        'needs control_msgs and more CPU time for each message',
        choices=('joint_states', 'dynamic_joint_states'),
    )
    state_timeout: float = parameter(
        5.0,
        'Age from which services refuse to use the latest state, by the clock of the node; 0: '
        'never',
        's',
        (0.0, 1e6),
    )
    joint_timeout: float = parameter(
        1.0,
        'A joint is stale if its stamp is older than the newest one by more than this; 0: never',
        's',
        (0.0, 1e6),
    )
