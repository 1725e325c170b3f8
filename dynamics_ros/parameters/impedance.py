# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of impedance_controller_node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dynamics_ros.control import SetpointLimits
from dynamics_ros.estimation.contact_settings import LoadedFrictionSettings
from dynamics_ros.parameters.robot import TargetParameters, fixed
from dynamics_ros.settings import parameter

MAX_STIFFNESS = 1e5
"""Largest stiffness of the tool [N/m, Nm/rad]; more than any torque-controlled arm can hold."""

REACTIONS = ('none', 'stop', 'float')

EACH = 'One value, or one per joint'


@dataclass(frozen=True)
class WrenchParameters:
    """Limits of wrench targets; without contact, only damping limits the speed of the tool."""

    force: float = parameter(
        50.0, 'Largest force of a wrench target; larger ones are refused', 'N', (0.0, 1e4)
    )
    torque: float = parameter(
        10.0, 'Largest torque of a wrench target; larger ones are refused', 'Nm', (0.0, 1e3)
    )


@dataclass(frozen=True)
class PostureParameters:
    """Impedance of the joints in the null space of the tool, towards the initial posture."""

    stiffness: tuple[float, ...] = parameter(
        (5.0,), f'Stiffness of the joints. {EACH}', 'Nm/rad or N/m', (0.0, 1e5)
    )
    damping: tuple[float, ...] = parameter(
        (2.0,), f'Damping of the joints. {EACH}', 'Nms/rad or Ns/m', (0.0, 1e4)
    )


@dataclass(frozen=True)
class TorqueParameters:
    """Limits of the torques."""

    share: float = parameter(
        1.0, 'Share of the effort limits in the description that may be used', limits=(0.001, 1.0)
    )
    limit: tuple[float, ...] = parameter(
        (),
        f'Largest torque, in addition to that share. {EACH}. Empty: only that share, for which '
        'every commanded joint needs an effort limit in the description',
        'Nm or N',
        (1e-3, 1e6),
    )
    max_rate: tuple[float, ...] = parameter(
        (1000.0,), f'Largest rate of change of a torque. {EACH}', 'Nm/s or N/s', (1.0, 1e6)
    )


@dataclass(frozen=True)
class JointRangeParameters:
    """Limits that keep joints within their ranges."""

    margin: float = parameter(
        0.1,
        'Distance from the end of a range from which a spring pushes the joint back',
        'rad or m',
        (0.0, 10.0),
    )
    stiffness: ClassVar[float] = 50.0
    """Stiffness of that spring [Nm/rad or N/m]."""


@dataclass(frozen=True)
class GuidingParameters:
    """Hand guiding: damping and speed limits."""

    damping: ClassVar[tuple[float, ...]] = (10.0, 10.0, 10.0, 0.5, 0.5, 0.5)
    """Damping of the tool, along and around x y z [Ns/m, Nms/rad]."""
    speed: float = parameter(
        0.25,
        'Speed of the tool from which it is braked; inf: no limit',
        'm/s',
        (0.01, 10.0),
        may_be_infinite=True,
    )
    angular_speed: float = parameter(
        1.0,
        'Angular speed of the tool from which it is braked; inf: no limit',
        'rad/s',
        (0.01, 100.0),
        may_be_infinite=True,
    )


@dataclass(frozen=True)
class RepulsionParameters:
    """Springs that push links apart from each other and from obstacles."""

    stiffness: float = parameter(
        0.0,
        'Stiffness with which links are pushed apart from each other and from the obstacles of '
        '~/obstacles while the arm follows or is guided; 0: not. Needs the Python package coal and '
        'collision shapes in a URDF',
        'N/m',
        (0.0, 1e4),
    )
    distance: float = parameter(
        0.05,
        'Distance below which they are pushed; stiffness / 2 times its square is at most 2 J',
        'm',
        (0.001, 0.5),
    )


@dataclass(frozen=True)
class CollisionParameters:
    """Reaction to a collision that contact_node detects in the same process."""

    reaction: str = parameter(
        'none',
        'Reaction to a collision. none; stop: brake; float: compensate only gravity. '
        'Every reaction ends at rest with the tool held by springs, until ~/acknowledge. A value '
        'other than none at start also runs contact_node in this process; after none at start, no '
        'other value is accepted',
        choices=REACTIONS,
    )
    duration: float = parameter(
        0.5,
        'Maximum duration of a reaction, after which the arm brakes and holds; inf only with float',
        's',
        (0.01, 3600.0),
        may_be_infinite=True,
    )
    damping: float = parameter(5.0, 'float: rate at which motion decays', '1/s', (0.0, 100.0))


@dataclass(frozen=True)
class ImpedanceParameters(TargetParameters):
    """Parameters of impedance_controller_node."""

    frame: str = parameter('', 'Controlled frame. Empty: the end of the longest chain')
    command_joints: tuple[str, ...] = parameter(
        (),
        'Joints of ~/joint_commands in the order of the effort controller: all joints that move '
        'the frame',
    )
    mode: str = parameter(
        'impedance',
        'Control mode. impedance: follow targets, hold the tool without one; guiding: follow a '
        'guiding hand',
        choices=('impedance', 'guiding'),
    )
    stiffness: tuple[float, ...] = parameter(
        (400.0, 400.0, 400.0, 10.0, 10.0, 10.0),
        'Stiffness of the tool along and around x y z of the root frame, or a symmetric 6 x 6 '
        'matrix row by row; '
        '~/stiffness_command replaces it until the parameter is set again',
        'N/m, Nm/rad',
        (-MAX_STIFFNESS, MAX_STIFFNESS),
        sizes=(6, 36),
    )
    damping_ratio: float = parameter(
        0.9, 'Damping ratio of all directions of the tool; 1: critical', limits=(0.05, 5.0)
    )
    friction_compensation: float = parameter(
        0.0,
        'Share of the modelled friction that is compensated; compensating more than the actual '
        'friction makes the arm move by itself',
        limits=(0.0, 1.0),
    )
    friction: LoadedFrictionSettings = field(default_factory=LoadedFrictionSettings)
    robot_carries_itself: bool = parameter(
        False, 'The robot compensates its own weight, so commands do not include gravity torques'
    )
    commands_at_end: str = parameter(
        'hold',
        'Final command, once the arm is at rest. hold: torques that compensate gravity there; '
        'zero: zeros, for a robot whose brakes or drives then hold it',
        choices=('hold', 'zero'),
    )
    fallback_controller: str = fixed(
        '',
        'Controller of ros2_control that is activated in place of the subscribers of '
        '~/joint_commands if the node hands over an arm whose joint states cannot be used, such as '
        'one that holds the position or lets the drives brake. Needs controller_manager_msgs. '
        'Empty: none',
    )
    stop_time: float = parameter(
        1.5, 'Maximum time of braking before the node is deactivated', 's', (0.1, 10.0)
    )
    rate: float = fixed(
        250.0, 'Rate of the commands while joint states are missing', 'Hz', (10.0, 1000.0)
    )
    command_timeout: float = parameter(
        0.5,
        'Age at which a target that is not repeated ends; then the tool is held; inf: never',
        's',
        (0.01, 3600.0),
        may_be_infinite=True,
    )
    joint_state_timeout: float = parameter(
        0.1,
        'Time without joint states after which a target ends; the arm already brakes from the '
        'third missing joint state on. 0.2 s later the node is deactivated with gravity torques',
        's',
        (0.01, 10.0),
    )
    joint_speed_share: float = parameter(
        1.5,
        'Share of its velocity limit in the description beyond which a joint ends what the arm '
        'does: the arm brakes until all joints are slower than a tenth of theirs. A joint without '
        'a limit counts as limited to 10 rad/s or m/s',
        limits=(0.2, 10.0),
    )
    setpoint: SetpointLimits = field(default_factory=SetpointLimits)
    wrench: WrenchParameters = field(default_factory=WrenchParameters)
    posture: PostureParameters = field(default_factory=PostureParameters)
    torque: TorqueParameters = field(default_factory=TorqueParameters)
    joint_range: JointRangeParameters = field(default_factory=JointRangeParameters)
    guiding: GuidingParameters = field(default_factory=GuidingParameters)
    repulsion: RepulsionParameters = field(default_factory=RepulsionParameters)
    collision: CollisionParameters = field(default_factory=CollisionParameters)
