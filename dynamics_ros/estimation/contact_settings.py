# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the contact estimators, with default, unit, range and description."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.settings import parameter

from .effort_model import MAX_LOAD_FRICTION
from .observers import GAIN


@dataclass(frozen=True)
class EffortSettings:
    """Interpretation of joint state efforts. One value for all joints, or one per joint."""

    scale: tuple[float, ...] = parameter(
        (1.0,),
        'Joint torque per unit of effort; for currents the gear ratio times the torque constant',
    )
    offset: tuple[float, ...] = parameter((0.0,), 'Torque added after scaling', unit='Nm or N')
    includes_gravity: bool = parameter(
        True, 'False if the robot reports efforts without its gravity compensation'
    )
    sampling: str = parameter(
        'instant',
        'instant: effort is the torque at the stamp, as measured by a sensor; interval: the '
        'torque held since the previous message, as applied by a simulator',
        choices=('instant', 'interval'),
    )
    rotor_inertia: tuple[float, ...] = parameter(
        (0.0,),
        'Rotor inertia times the gear ratio squared, if effort is measured before the gear',
        unit='kg m^2 or kg',
        minimum=0.0,
    )
    noise: tuple[float, ...] = parameter(
        (0.05,),
        'Standard deviation of one reported effort, as a torque; inf excludes the joint',
        unit='Nm or N',
        minimum=1e-9,
        may_be_infinite=True,
    )


@dataclass(frozen=True)
class ContactEffortSettings(EffortSettings):
    """Effort settings plus the noise levels that determine thresholds and covariances."""

    velocity_noise: tuple[float, ...] = parameter(
        (0.001,),
        'Standard deviation of one reported velocity',
        unit='rad/s or m/s',
        minimum=0.0,
    )
    model_error: tuple[float, ...] = parameter(
        (),
        'Standard deviation of the errors of model, friction and calibration at rest. Empty: 0.1 '
        '% of the effort limit of each joint, or of a usual one where it has none or one that does '
        'not fit its weight',
        unit='Nm or N',
        minimum=1e-6,
    )


@dataclass(frozen=True)
class FrictionSettings:
    """Friction: viscous v + (coulomb + stribeck exp(-(v/0.2)^2)) tanh(v/velocity)."""

    viscous: tuple[float, ...] = parameter(
        (),
        'Viscous friction. Empty: damping of the URDF <dynamics>',
        unit='Nms/rad or Ns/m',
        minimum=0.0,
        maximum=1e6,
    )
    coulomb: tuple[float, ...] = parameter(
        (),
        'Coulomb friction. Empty: friction of the URDF <dynamics>',
        unit='Nm or N',
        minimum=0.0,
        maximum=1e6,
    )
    velocity: float = parameter(
        0.01,
        'Speed at which dry friction has almost its full magnitude; of a sliding joint times its '
        'range over 2 pi, 0.1 m without a range',
        unit='rad/s',
        minimum=1e-6,
        maximum=1000.0,
    )
    stribeck: tuple[float, ...] = parameter(
        (0.0,),
        'Additional dry friction at low speed, of which 37 % are left at 0.2 rad/s; negative, down '
        'to minus coulomb, if dry friction grows with the speed',
        unit='Nm or N',
        minimum=-1e6,
        maximum=1e6,
    )


@dataclass(frozen=True)
class LoadedFrictionSettings(FrictionSettings):
    """Friction settings plus the term load |torque behind friction| tanh(v/velocity)."""

    load: tuple[float, ...] = parameter(
        (0.0,),
        'Additional dry friction as a share of the torque that the joint transmits',
        minimum=0.0,
        maximum=MAX_LOAD_FRICTION,
    )


@dataclass(frozen=True)
class UnexplainedSettings:
    """Model and friction residuals in motion, as written by ``calibrate_robot``.

    If any of them is given, deviations, thresholds and covariances depend on the speed, load and
    reversals of each joint. One value for all joints, or one per joint.
    """

    speed: tuple[float, ...] = parameter(
        (),
        'Deviation of the external torque per speed. If all of unexplained.* are empty, thresholds '
        'rise by 1 % of the effort limit of each joint per rad/s instead, or of a usual one as for '
        'effort.model_error',
        unit='Nms/rad or Ns/m',
        minimum=0.0,
    )
    load: tuple[float, ...] = parameter(
        (), 'Deviation per torque that the joint transmits', minimum=0.0, maximum=10.0
    )
    reversal: tuple[float, ...] = parameter(
        (),
        'Deviation at a reversal of the joint, and for a moment after',
        unit='Nm or N',
        minimum=0.0,
    )
    standing: tuple[float, ...] = parameter(
        (),
        'Largest friction that may hold the joint at standstill; it raises the thresholds',
        unit='Nm or N',
        minimum=0.0,
    )
    tail: tuple[float, ...] = parameter(
        (),
        'Factor on the deviations that are a contact, for large errors that are more frequent '
        'than those of a normal distribution. Empty: 1',
        minimum=1.0,
        maximum=100.0,
    )


@dataclass(frozen=True)
class ObserverSettings:
    """Settings of the external torque observer."""

    gain: tuple[float, ...] = parameter(
        (GAIN,),
        'Bandwidth: the time constant is 1 / gain, and noise grows with the gain. One value, or '
        'one per joint',
        unit='1/s',
        minimum=0.01,
    )


@dataclass(frozen=True)
class WrenchSettings:
    """Settings of the wrench estimator at the contact frames."""

    expressed_in: str = parameter(
        '',
        'Frame whose axes the wrenches are expressed in, which is then their frame_id, wherever '
        "they act; with a moving base 'world' is the frame of odom. Empty: each contact frame",
    )
    reference_points: tuple[float, ...] = parameter(
        (),
        'Reference points of the torques, x y z in each contact frame. Empty: the origins of the '
        'frames',
        unit='m',
    )
    force_only: bool = parameter(False, 'A point contact: no torque at the contact frame')


@dataclass(frozen=True)
class ThresholdSettings:
    """Contact and collision thresholds. One value for all joints, or one per joint."""

    contact: tuple[float, ...] = parameter(
        (),
        'Contact threshold of the external torque; inf: joint not monitored. Empty: a multiple of '
        'the standard deviation that follows from effort.noise, effort.velocity_noise, '
        'effort.model_error and unexplained.*',
        unit='Nm or N',
        minimum=0.0,
        may_be_infinite=True,
    )
    collision: tuple[float, ...] = parameter(
        (),
        'Collision threshold of the external torque; inf: joint not monitored. Empty: 20 % of the '
        'effort limit of each joint, or of a usual one as for effort.model_error, and at least '
        'twice the contact threshold',
        unit='Nm or N',
        minimum=0.0,
        may_be_infinite=True,
    )
    false_alarms_per_hour: float = parameter(
        0.0,
        'Rate at which free motion may be taken for a contact, which determines the contact '
        'threshold in standard deviations. Only as accurate as these: calibrate first. 0: 5 '
        'standard deviations',
        minimum=0.0,
        maximum=1e5,
    )


@dataclass(frozen=True)
class FeetSettings:
    """Feet of a robot with root_joint floating, reported on ~/foot_contacts."""

    frames: tuple[str, ...] = parameter((), 'Frames of the feet. Empty: the topic is not published')
    friction: float = parameter(0.6, 'Coefficient of the friction cone', minimum=0.0)


@dataclass(frozen=True)
class ContactSettings:
    """All contact estimator settings of one robot."""

    frames: tuple[str, ...] = parameter(
        (),
        'Contact frames; several are simultaneous contacts. Empty: the end of the longest chain',
    )
    effort: ContactEffortSettings = field(default_factory=ContactEffortSettings)
    friction: LoadedFrictionSettings = field(default_factory=LoadedFrictionSettings)
    unexplained: UnexplainedSettings = field(default_factory=UnexplainedSettings)
    observer: ObserverSettings = field(default_factory=ObserverSettings)
    wrench: WrenchSettings = field(default_factory=WrenchSettings)
    thresholds: ThresholdSettings = field(default_factory=ThresholdSettings)
    feet: FeetSettings = field(default_factory=FeetSettings)
