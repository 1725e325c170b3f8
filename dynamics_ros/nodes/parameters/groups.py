"""Every parameter of the nodes, with its default, unit, range and meaning, declared once."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.algorithms.contact.torque_observer import KINDS
from dynamics_ros.estimation.observers import GAIN
from dynamics_ros.estimation.samples.sample_filter import FACTOR, SIGMAS

from .declaration import parameter


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
class EffortParameters:
    """What the efforts of the joint states mean. One value for all joints, or one per joint."""

    scale: tuple[float, ...] = parameter(
        (1.0,), 'Joint torque per unit of effort: gear ratio times torque constant for a current'
    )
    offset: tuple[float, ...] = parameter((0.0,), 'Added after scaling', unit='Nm or N')
    includes_gravity: bool = parameter(
        True, 'False for a robot that reports effort without what it adds to carry its weight'
    )
    sampling: str = parameter(
        'instant',
        'instant: effort is the torque at the stamp, as a sensor sees it; interval: the torque '
        'that was held since the message before, as a simulator applies it',
        choices=('instant', 'interval'),
    )
    rotor_inertia: tuple[float, ...] = parameter(
        (0.0,),
        'Of the motor times the gear ratio squared, where effort is measured before the gear',
        unit='kg m^2 or kg',
        minimum=0.0,
    )
    noise: tuple[float, ...] = parameter(
        (0.05,),
        'Standard deviation of one reported effort, as a torque; inf: do not use the joint',
        unit='Nm or N',
        minimum=1e-9,
        may_be_infinite=True,
    )


@dataclass(frozen=True)
class ContactEffortParameters(EffortParameters):
    """The same, and what thresholds and covariances follow from."""

    velocity_noise: tuple[float, ...] = parameter(
        (0.001,),
        'Standard deviation of one reported velocity',
        unit='rad/s or m/s',
        minimum=0.0,
    )
    model_error: tuple[float, ...] = parameter(
        (),
        'Standard deviation of what model, friction and calibration leave unexplained at rest. '
        'Empty: 0.1 % of the effort limit of each joint, 0.1 where it has none',
        unit='Nm or N',
        minimum=1e-6,
    )


@dataclass(frozen=True)
class FrictionParameters:
    """Friction: viscous v + (coulomb + stribeck exp(-(v/stribeck_velocity)^2)) tanh(v/velocity)."""

    viscous: tuple[float, ...] = parameter(
        (), 'Empty: damping of the URDF <dynamics>', unit='Nms/rad or Ns/m', minimum=0.0
    )
    coulomb: tuple[float, ...] = parameter(
        (), 'Empty: friction of the URDF <dynamics>', unit='Nm or N', minimum=0.0
    )
    velocity: float = parameter(
        0.01,
        'Speed at which dry friction has almost its full size',
        unit='rad/s or m/s',
        minimum=1e-6,
    )
    stribeck: tuple[float, ...] = parameter(
        (0.0,),
        'What dry friction is larger by at low speed; negative, down to minus coulomb, where it '
        'grows with the speed',
        unit='Nm or N',
    )
    stribeck_velocity: float = parameter(
        0.1,
        'Speed at which that has almost faded',
        unit='rad/s or m/s',
        minimum=1e-6,
    )


@dataclass(frozen=True)
class IdentificationParameters:
    """The action identify_payload: how long it watches, and what the efforts that it sees mean."""

    duration: float = parameter(
        10.0, 'Time to watch where a goal asks for none', unit='s', minimum=0.1, maximum=600.0
    )
    effort: EffortParameters = field(default_factory=EffortParameters)
    friction: FrictionParameters = field(default_factory=FrictionParameters)


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
class PlausibilityParameters:
    """What joint states are taken at all, and what is made of those that contradict the model."""

    sigmas: float = parameter(
        SIGMAS,
        'A single position, velocity or effort that departs from both its neighbours by so many '
        'usual changes of its joint, or so many deviations of effort.noise, effort.velocity_noise, '
        'is refused; one that lasts is taken, one message late',
        minimum=1.0,
        maximum=1e6,
    )
    velocity: float = parameter(
        FACTOR,
        'A velocity is refused beyond so many times the velocity limit of its joint, '
        '1000 rad/s or m/s where it has none',
        minimum=1.0,
        maximum=1e6,
    )
    effort: float = parameter(
        FACTOR,
        'An effort is refused beyond so many times the effort limit of its joint, 1e5 Nm or N '
        'where it has none',
        minimum=1.0,
        maximum=1e6,
    )


@dataclass(frozen=True)
class ObserverParameters:
    """The observer of external torques."""

    kind: str = parameter(
        'momentum',
        'momentum; momentum_second_order: as late, with less noise; inverse_dynamics: from '
        'differences of velocities; static: gravity alone, which also runs while joints report no '
        'velocity',
        choices=KINDS,
    )
    gain: tuple[float, ...] = parameter(
        (GAIN,),
        'An external torque shows after 1 / gain; noise grows with it. One value, or one per joint',
        unit='1/s',
        minimum=0.01,
    )
    max_gap: float = parameter(
        0.1, 'The observer starts anew after a longer gap between stamps', unit='s', minimum=1e-4
    )
    transition_time: float = parameter(
        0.5, 'Time that estimates take to another payload or gravity', unit='s', minimum=0.0
    )


@dataclass(frozen=True)
class WrenchParameters:
    """The wrench at the contact frames."""

    expressed_in: str = parameter(
        '',
        'Frame whose axes the wrenches are expressed in, which is the frame_id then, whatever they '
        "act at; of a moving base 'world' is the frame of odom. Empty: each contact frame",
    )
    reference_points: tuple[float, ...] = parameter(
        (),
        'Points that the torques are about, x y z in each contact frame. Empty: their origins',
        unit='m',
    )
    force_only: bool = parameter(False, 'A point contact: no torque at the contact frame')
    length_scale: float = parameter(
        0.3, 'Lever arm that makes a torque as large as a force', unit='m', minimum=1e-3
    )
    singular_threshold: float = parameter(
        0.02, 'Singular values below this are damped', unit='Nm per N', minimum=1e-6
    )


@dataclass(frozen=True)
class ContactThresholdParameters:
    """When an external torque is a contact. One value for all joints, or one per joint."""

    contact: tuple[float, ...] = parameter(
        (),
        'A larger external torque is a contact; inf: joint not watched. Empty: sigmas times the '
        'standard deviation that follows from effort.noise, effort.velocity_noise and '
        'effort.model_error',
        unit='Nm or N',
        minimum=0.0,
        may_be_infinite=True,
    )
    collision: tuple[float, ...] = parameter(
        (),
        'A larger external torque is a collision; inf: joint not watched. Empty: 20 % of the '
        'effort limit of each joint, 30 where it has none, and at least twice that of a contact',
        unit='Nm or N',
        minimum=0.0,
        may_be_infinite=True,
    )
    sigmas: float = parameter(5.0, 'Standard deviations that are a contact', minimum=0.1)
    velocity: tuple[float, ...] = parameter(
        (),
        'Added to both thresholds per speed of the joint, for what friction and model leave '
        'unexplained in motion. Empty: 1 % of the effort limit of each joint, 0.5 where it has '
        'none',
        unit='Nms/rad or Ns/m',
        minimum=0.0,
    )
    acceleration: tuple[float, ...] = parameter(
        (0.0,),
        'Added to both thresholds per acceleration of the joint',
        unit='Nms^2/rad or Ns^2/m',
        minimum=0.0,
    )
    debounce: float = parameter(
        0.001,
        'A threshold has to be exceeded this long, in any case by two messages; 0: by one',
        unit='s',
        minimum=0.0,
    )
    release: float = parameter(
        0.05, 'A contact ends when no threshold is exceeded this long', unit='s', minimum=0.0
    )


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
class FeetParameters:
    """The feet of a robot with root_joint floating, of which ~/foot_contacts tells."""

    frames: tuple[str, ...] = parameter((), 'Frames of the feet. Empty: the topic is not published')
    friction: float = parameter(0.6, 'Coefficient of the friction cone', minimum=0.0)
    normal: tuple[float, ...] = parameter(
        (0.0, 0.0, 1.0), 'Of the ground, in the frame of odom, upward', sizes=(3,)
    )
    force_threshold: float = parameter(
        0.0,
        'Normal force that is a contact; 0: 3 % of an even share of the weight',
        unit='N',
        minimum=0.0,
    )


@dataclass(frozen=True)
class TareParameters:
    """Taking the present external torques for zero."""

    window: float = parameter(1.0, 'Time that is averaged', unit='s', minimum=0.01)
    max_velocity: float = parameter(
        0.02, 'Refused when a joint is faster', unit='rad/s or m/s', minimum=0.0
    )
    max_deviation: float = parameter(
        0.5,
        'Refused when the external torque of a joint varies more (standard deviation)',
        unit='Nm or N',
        minimum=0.0,
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
class ContactParameters:
    """Parameters of contact_node."""

    frames: tuple[str, ...] = parameter(
        (),
        'Contact frames; several are contacts at one time. Empty: the end of the longest chain',
    )
    publish_rate: float = parameter(0.0, PUBLISH_RATE, unit='Hz', minimum=0.0)
    publish_rates: ContactRates = field(default_factory=ContactRates)
    effort: ContactEffortParameters = field(default_factory=ContactEffortParameters)
    friction: FrictionParameters = field(default_factory=FrictionParameters)
    plausibility: PlausibilityParameters = field(default_factory=PlausibilityParameters)
    observer: ObserverParameters = field(default_factory=ObserverParameters)
    wrench: WrenchParameters = field(default_factory=WrenchParameters)
    thresholds: ContactThresholdParameters = field(default_factory=ContactThresholdParameters)
    location: LocationParameters = field(default_factory=LocationParameters)
    feet: FeetParameters = field(default_factory=FeetParameters)
    tare: TareParameters = field(default_factory=TareParameters)
    markers: ArrowParameters = field(default_factory=ArrowParameters)
