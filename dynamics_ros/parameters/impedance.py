# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of impedance_controller_node, with its default, unit, range and meaning."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.estimation.contact_settings import LoadedFrictionSettings
from dynamics_ros.settings import parameter

from .shared import AUTOSTART

LARGEST_STIFFNESS = 1e5
"""N/m or Nm/rad of the tool: no torque controlled arm holds more."""

DIRECTIONS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
"""Along and around the axes."""

REACTIONS = ('none', 'stop', 'float', 'torque_reflex', 'admittance_reflex', 'retract')

EACH = 'One value, or one per joint'


@dataclass(frozen=True)
class SetpointParameters:
    """How targets are smoothed: the point that the springs pull to."""

    linear_speed: float = parameter(0.25, 'Largest speed', unit='m/s', minimum=1e-6, maximum=10.0)
    angular_speed: float = parameter(
        0.5, 'Largest turning speed', unit='rad/s', minimum=1e-6, maximum=50.0
    )
    linear_acceleration: float = parameter(
        1.0, 'Largest acceleration', unit='m/s^2', minimum=1e-3, maximum=100.0
    )
    angular_acceleration: float = parameter(
        2.0, 'Largest angular acceleration', unit='rad/s^2', minimum=1e-3, maximum=500.0
    )
    linear_lead: float = parameter(
        0.05,
        'Largest distance from the tool: springs pull with no more than stiffness times this, '
        'whatever is in the way',
        unit='m',
        minimum=1e-4,
        maximum=1.0,
    )
    angular_lead: float = parameter(
        0.3, 'Largest angle from the tool; the same', unit='rad', minimum=1e-3, maximum=3.0
    )


@dataclass(frozen=True)
class WrenchParameters:
    """What may be asked for: with nothing to press on, the dampers alone slow the tool down."""

    force: float = parameter(
        50.0,
        'Largest force of a command, which is refused beyond',
        unit='N',
        minimum=0.0,
        maximum=1e4,
    )
    torque: float = parameter(
        10.0, 'Largest torque of a command; the same', unit='Nm', minimum=0.0, maximum=1e3
    )


@dataclass(frozen=True)
class PostureParameters:
    """What keeps the freedom of the joints that the tool leaves: the posture at the start."""

    stiffness: tuple[float, ...] = parameter(
        (5.0,),
        f'Springs of the joints. {EACH}',
        unit='Nm/rad or N/m',
        minimum=0.0,
        maximum=1e5,
    )
    damping: tuple[float, ...] = parameter(
        (2.0,),
        f'Dampers of the joints. {EACH}',
        unit='Nms/rad or Ns/m',
        minimum=0.0,
        maximum=1e4,
    )


@dataclass(frozen=True)
class TorqueParameters:
    """What torques keep to."""

    share: float = parameter(
        1.0,
        'Share of the effort limits of the description that is used',
        minimum=0.001,
        maximum=1.0,
    )
    limit: tuple[float, ...] = parameter(
        (),
        f'Largest torque, beside that share. {EACH}. Empty: that share alone, for which every '
        'joint that is commanded needs an effort limit in the description',
        unit='Nm or N',
        minimum=1e-3,
        maximum=1e6,
    )
    max_rate: tuple[float, ...] = parameter(
        (1000.0,),
        f'Fastest change of a torque. {EACH}',
        unit='Nm/s or N/s',
        minimum=1.0,
        maximum=1e6,
    )


@dataclass(frozen=True)
class JointRangeParameters:
    """How joints are kept within their ranges."""

    margin: float = parameter(
        0.1,
        'Before the ends of a range, where a spring pushes back',
        unit='rad or m',
        minimum=0.0,
        maximum=10.0,
    )
    stiffness: float = parameter(
        50.0, 'Of that spring', unit='Nm/rad or N/m', minimum=0.0, maximum=1e5
    )
    guard_rate: float = parameter(
        20.0,
        'At which a joint may approach an end; larger brakes later and harder',
        unit='1/s',
        minimum=0.1,
        maximum=1000.0,
    )


@dataclass(frozen=True)
class EnergyParameters:
    """The tank that all work of the torques, but that of gravity and friction, is taken from."""

    capacity: float = parameter(
        float('inf'),
        'What it holds; filled at activation and by ~/acknowledge. Once it is empty the arm brakes '
        'and does nothing else; inf: no bound',
        unit='J',
        minimum=0.0,
        maximum=1e6,
        may_be_infinite=True,
    )


@dataclass(frozen=True)
class GuidingParameters:
    """Hand guiding: what a hand that leads the tool feels."""

    locked: tuple[str, ...] = parameter(
        (),
        'Directions of the root frame that are locked, along x y z and around them: rx ry rz',
        choices=DIRECTIONS,
    )
    lower: tuple[float, ...] = parameter(
        (),
        'Walls: least x y z of the tool in the root frame. Empty: none',
        unit='m',
        sizes=(0, 3),
        minimum=-1e6,
        maximum=1e6,
    )
    upper: tuple[float, ...] = parameter(
        (),
        'Walls: largest x y z of the tool. Empty: none',
        unit='m',
        sizes=(0, 3),
        minimum=-1e6,
        maximum=1e6,
    )
    stiffness: tuple[float, ...] = parameter(
        (1000.0, 1000.0, 1000.0, 20.0, 20.0, 20.0),
        'Of locked directions and walls, along and around x y z',
        unit='N/m, Nm/rad',
        sizes=(6,),
        minimum=0.0,
        maximum=1e5,
    )
    damping: tuple[float, ...] = parameter(
        (10.0, 10.0, 10.0, 0.5, 0.5, 0.5),
        'Of free directions, along and around x y z',
        unit='Ns/m, Nms/rad',
        sizes=(6,),
        minimum=0.0,
        maximum=1e4,
    )
    speed: float = parameter(
        0.25,
        'Of the tool, beyond which it is held back; inf: as fast as the hand',
        unit='m/s',
        minimum=0.01,
        maximum=10.0,
        may_be_infinite=True,
    )
    angular_speed: float = parameter(
        1.0,
        'The same of its turning',
        unit='rad/s',
        minimum=0.01,
        maximum=100.0,
        may_be_infinite=True,
    )


@dataclass(frozen=True)
class CollisionParameters:
    """What is done when contact_node, in the same process, detects a collision."""

    reaction: str = parameter(
        'none',
        'none; stop: brake; float: be without weight; torque_reflex, admittance_reflex: flee from '
        'the force, by torques or velocities along what the joints feel; retract: go back the way '
        'the tool came. All end at rest on springs, until ~/acknowledge. Other than none at start, '
        'it has contact_node run in this process; without, no other is taken later',
        choices=REACTIONS,
    )
    duration: float = parameter(
        0.5,
        'Longest time of the reflex, after which the arm brakes and holds; inf only with float',
        unit='s',
        minimum=0.01,
        maximum=3600.0,
        may_be_infinite=True,
    )
    torque_gain: float = parameter(
        2.0, 'Of a torque reflex: torque per external torque', minimum=0.0, maximum=10.0
    )
    admittance: float = parameter(
        0.05,
        'Of an admittance reflex: joint velocity per external torque',
        unit='rad/s/Nm or m/s/N',
        minimum=0.0,
        maximum=10.0,
    )
    speed: float = parameter(
        0.5,
        'Of both: the largest joint velocity that they drive to',
        unit='rad/s or m/s',
        minimum=0.01,
        maximum=10.0,
    )
    damping: float = parameter(
        5.0,
        'Of a float and a torque reflex: rate at which motion decays',
        unit='1/s',
        minimum=0.0,
        maximum=100.0,
    )
    distance: float = parameter(
        0.1, 'That the tool retracts, along its way', unit='m', minimum=0.001, maximum=2.0
    )


@dataclass(frozen=True)
class ImpedanceParameters:
    """Parameters of impedance_controller_node."""

    autostart: bool = parameter(False, AUTOSTART, read_only=True)
    frame: str = parameter('', 'Frame that is on springs. Empty: the end of the longest chain')
    command_joints: tuple[str, ...] = parameter(
        (),
        'Joints of ~/joint_commands in the order that the effort controller expects: all that move '
        'the frame',
    )
    mode: str = parameter(
        'impedance',
        'impedance: follow targets, hold without one; guiding: give way to a hand',
        choices=('impedance', 'guiding'),
    )
    stiffness: tuple[float, ...] = parameter(
        (400.0, 400.0, 400.0, 10.0, 10.0, 10.0),
        'Of the tool along and around x y z, or a symmetric 6 x 6 row by row; ~/stiffness_command '
        'replaces it until it is set again',
        unit='N/m, Nm/rad',
        sizes=(6, 36),
        minimum=-LARGEST_STIFFNESS,
        maximum=LARGEST_STIFFNESS,
    )
    stiffness_frame: str = parameter(
        '',
        'Frame whose axes the stiffness is given in, of the robot or of tf, as they lie when it is '
        'set; those of the controlled frame turn with it. Empty: the root frame',
    )
    damping_ratio: float = parameter(
        0.9, 'How all directions of the tool decay; 1: critical', minimum=0.05, maximum=5.0
    )
    blending_time: float = parameter(
        0.3, 'In which another stiffness is taken over', unit='s', minimum=0.01, maximum=10.0
    )
    friction_compensation: float = parameter(
        0.0,
        'Share of the friction that is compensated; more than there is moves the arm by itself',
        minimum=0.0,
        maximum=1.0,
    )
    friction: LoadedFrictionSettings = field(default_factory=LoadedFrictionSettings)
    robot_carries_itself: bool = parameter(
        False, 'The robot adds the torques that carry its weight, so that commands leave them out'
    )
    commands_at_end: str = parameter(
        'hold',
        'The last command, once the arm is at rest. hold: the torques that carry it there; '
        'zero: zeros, for a robot whose brakes or drives take over then',
        choices=('hold', 'zero'),
    )
    stop_time: float = parameter(
        1.5,
        'Longest time that braking takes before the node is deactivated',
        unit='s',
        minimum=0.1,
        maximum=10.0,
    )
    rate: float = parameter(
        250.0,
        'Commands a second while joint states fail to come',
        unit='Hz',
        minimum=10.0,
        maximum=1000.0,
        read_only=True,
    )
    command_timeout: float = parameter(
        0.5,
        'A target that is not repeated ends after this, and the tool is held; inf: never',
        unit='s',
        minimum=0.01,
        maximum=3600.0,
        may_be_infinite=True,
    )
    joint_state_timeout: float = parameter(
        0.1,
        'A target ends when joint states fail to come for this long; the arm brakes from the third '
        'one that is missing on',
        unit='s',
        minimum=0.01,
        maximum=10.0,
    )
    transform_timeout: float = parameter(
        1.0,
        'A twist or wrench in a frame of tf ends when its transform is older than this by its '
        'stamp; static ones have no age; inf: never',
        unit='s',
        minimum=0.01,
        maximum=3600.0,
        may_be_infinite=True,
    )
    largest_inertia: float = parameter(
        100.0,
        'Inertia that no direction of the tool shall seem to exceed: near singularities the law '
        'is damped from there on',
        unit='kg',
        minimum=0.1,
        maximum=1e6,
    )
    setpoint: SetpointParameters = field(default_factory=SetpointParameters)
    wrench: WrenchParameters = field(default_factory=WrenchParameters)
    posture: PostureParameters = field(default_factory=PostureParameters)
    torque: TorqueParameters = field(default_factory=TorqueParameters)
    joint_range: JointRangeParameters = field(default_factory=JointRangeParameters)
    energy: EnergyParameters = field(default_factory=EnergyParameters)
    guiding: GuidingParameters = field(default_factory=GuidingParameters)
    collision: CollisionParameters = field(default_factory=CollisionParameters)
