"""Every parameter of the nodes, with its default, unit, range and meaning, declared once."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.estimation.contact_settings import (
    ContactSettings,
    EffortSettings,
    FrictionSettings,
)
from dynamics_ros.settings import parameter


@dataclass(frozen=True)
class LockedJointParameters:
    """Joints that are kept where they are and leave the model."""

    names: tuple[str, ...] = parameter((), 'Joints to lock at a constant position')
    positions: tuple[float, ...] = parameter(
        (), 'Position of each locked joint, in the order of names', unit='rad or m'
    )


@dataclass(frozen=True)
class GravitySourceParameters:
    """Where the direction of gravity comes from, for a robot on a base that tilts."""

    kind: str = parameter(
        'parameter',
        'parameter: gravity, and the service set_gravity; imu: the topic imu, of a sensor that is '
        'fixed to the root link; tf: the pose of the root link in level_frame',
        choices=('parameter', 'imu', 'tf'),
        read_only=True,
    )
    level_frame: str = parameter('world', 'Frame of tf whose z axis points up', read_only=True)
    time_constant: float = parameter(
        0.5, 'Of the filter of the direction', unit='s', minimum=0.0, read_only=True
    )
    least_angle: float = parameter(
        0.01,
        'Tilt from which the robot is built anew, at most twice a second',
        unit='rad',
        minimum=1e-4,
        read_only=True,
    )


@dataclass(frozen=True)
class RobotParameters:
    """The robot and its state; one set for all nodes of a process."""

    robot_description: str = parameter(
        '', 'URDF as XML text. Empty: wait for the topic robot_description'
    )
    root_joint: str = parameter(
        'fixed',
        'How the root link moves in the world. floating and planar need the topic odom',
        choices=('fixed', 'floating', 'planar'),
    )
    locked_joints: LockedJointParameters = field(default_factory=LockedJointParameters)
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81), 'Acceleration of free fall in the root frame', unit='m/s^2', sizes=(3,)
    )
    gravity_source: GravitySourceParameters = field(default_factory=GravitySourceParameters)
    backend: str = parameter(
        'auto',
        'What runs the kernels: machine code (llvm), Python, or the fastest there is (auto)',
        choices=('auto', 'llvm', 'python'),
    )
    frame_prefix: str = parameter(
        '',
        'Put before every frame_id that names a frame of the model, as robot_state_publisher does',
    )
    joint_state_topic: str = parameter(
        'joint_states',
        'Where joint states come from: joint_states, or dynamic_joint_states of ros2_control, '
        'which needs control_msgs and takes more time for each',
        choices=('joint_states', 'dynamic_joint_states'),
        read_only=True,
    )
    state_timeout: float = parameter(
        5.0,
        'A service that is asked for the latest state refuses one received longer ago, by the '
        'clock of the node; 0: never',
        unit='s',
        minimum=0.0,
    )
    joint_timeout: float = parameter(
        1.0,
        'A joint whose stamp is this far from the newest one is stale; 0: never',
        unit='s',
        minimum=0.0,
    )


AUTOSTART = (
    'Configure and activate what commands the robot at start; false: a lifecycle manager, or '
    'ros2 lifecycle set, does'
)

PUBLISH_RATE = 'Most messages a second of each output; 0: one for every joint state'


def output_rate(what: str) -> float:
    """The rate of one output."""
    value: float = parameter(
        -1.0,
        f'Most messages a second of {what}; 0: one for every joint state; negative: publish_rate',
        unit='Hz',
        minimum=-1.0,
    )
    return value


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


@dataclass(frozen=True)
class PayloadParameters:
    """What the robot carries at start; the service set_payload changes them."""

    frame: str = parameter('', 'Frame of the model that the payload is fixed to')
    mass: float = parameter(0.0, 'Mass; 0: no payload', unit='kg', minimum=0.0)
    center_of_mass: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), 'Centre of mass in that frame', unit='m', sizes=(3,)
    )
    inertia: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        'Inertia about the centre of mass, axes of that frame: ixx ixy ixz iyy iyz izz',
        unit='kg m^2',
        sizes=(6,),
    )


@dataclass(frozen=True)
class IdentificationParameters:
    """The action identify_payload: how long it watches, and what the efforts that it sees mean."""

    duration: float = parameter(
        10.0, 'Time to watch where a goal asks for none', unit='s', minimum=0.1, maximum=600.0
    )
    effort: EffortSettings = field(default_factory=EffortSettings)
    friction: FrictionSettings = field(default_factory=FrictionSettings)


@dataclass(frozen=True)
class DynamicsRates:
    """Rates of single outputs of dynamics_node."""

    gravity_torques: float = output_rate('~/gravity_torques')
    gravity_commands: float = output_rate('~/gravity_commands')


@dataclass(frozen=True)
class DynamicsParameters:
    """Parameters of dynamics_node."""

    publish_rate: float = parameter(0.0, PUBLISH_RATE, unit='Hz', minimum=0.0)
    publish_rates: DynamicsRates = field(default_factory=DynamicsRates)
    command_joints: tuple[str, ...] = parameter(
        (),
        'Joints of ~/gravity_commands, in the order that the effort controller expects. '
        'Empty: the topic is not published',
    )
    autostart: bool = parameter(False, AUTOSTART, read_only=True)
    commands_at_end: str = parameter(
        'hold',
        'What ends ~/gravity_commands. hold: nothing, and the controller holds the last torques; '
        'zero: torques of zero, which drop an arm that has no brakes',
        choices=('hold', 'zero'),
    )
    payload: PayloadParameters = field(default_factory=PayloadParameters)
    identification: IdentificationParameters = field(default_factory=IdentificationParameters)


@dataclass(frozen=True)
class LocationParameters:
    """Which link is touched, and where: from the collision geometry of robot_description."""

    enabled: bool = parameter(True, 'Read the geometry and locate contacts on it')
    rate: float = parameter(
        20.0, 'Most locations a second during a contact', unit='Hz', minimum=0.1
    )
    friction: float = parameter(
        0.3, 'Tangential over normal force that is usual in a push', minimum=0.01
    )
    max_deviation: float = parameter(
        0.03, 'A point is known when its standard deviation is no larger', unit='m', minimum=0.001
    )
    resolution: float = parameter(
        0.008,
        'Size of the pieces that surfaces are cut into; smaller ones take longer',
        unit='m',
        minimum=0.001,
        maximum=0.1,
    )


@dataclass(frozen=True)
class ArrowParameters:
    """What RViz is shown of a contact."""

    rate: float = parameter(
        20.0, 'Most marker messages a second; 0: one for every joint state', unit='Hz', minimum=0.0
    )
    force_scale: float = parameter(0.01, 'Length of an arrow per force', unit='m/N', minimum=1e-6)
    torque_scale: float = parameter(
        0.05, 'Length of an arrow per torque', unit='m/Nm', minimum=1e-6
    )
    diameter: float = parameter(0.02, 'Diameter of an arrow', unit='m', minimum=1e-4)


@dataclass(frozen=True)
class ContactRates:
    """Rates of single outputs of contact_node."""

    external_torques: float = output_rate('~/external_torques')
    contact_state: float = output_rate('~/contact_state')
    foot_contacts: float = output_rate('~/foot_contacts')
    wrench: float = output_rate('~/<frame>/wrench, each')
    estimate: float = output_rate('~/<frame>/estimate, each')


@dataclass(frozen=True)
class ContactParameters(ContactSettings):
    """Parameters of contact_node."""

    publish_rate: float = parameter(0.0, PUBLISH_RATE, unit='Hz', minimum=0.0)
    publish_rates: ContactRates = field(default_factory=ContactRates)
    location: LocationParameters = field(default_factory=LocationParameters)
    markers: ArrowParameters = field(default_factory=ArrowParameters)
