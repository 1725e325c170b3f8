# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the contact estimators, with default, unit, range and description."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.algorithms.contact.torque_observer import KINDS
from dynamics_ros.settings import parameter

from .effort_model import MOST_LOAD_FRICTION
from .observers import GAIN
from .samples.sample_filter import FACTOR, SIGMAS

LONGEST = 3600.0
"""s: times beyond are mistakes, and the largest floats are no number of nanoseconds."""


@dataclass(frozen=True)
class EffortSettings:
    """Interpretation of joint state efforts. One value for all joints, or one per joint."""

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
class ContactEffortSettings(EffortSettings):
    """Effort settings plus the noise levels that determine thresholds and covariances."""

    velocity_noise: tuple[float, ...] = parameter(
        (0.001,),
        'Standard deviation of one reported velocity',
        unit='rad/s or m/s',
        minimum=0.0,
    )
    velocity_differenced: tuple[float, ...] = parameter(
        (0.0,),
        'Share of the variance of velocity_noise that differences of positions make, in which what '
        'one velocity has too much the next one has too little: 1 where velocities are differences '
        'of encoder steps',
        minimum=0.0,
        maximum=1.0,
    )
    model_error: tuple[float, ...] = parameter(
        (),
        'Standard deviation of what model, friction and calibration leave unexplained at rest. '
        'Empty: 0.1 % of the effort limit of each joint, 0.1 where it has none',
        unit='Nm or N',
        minimum=1e-6,
    )


@dataclass(frozen=True)
class FrictionSettings:
    """Friction: viscous v + (coulomb + stribeck exp(-(v/stribeck_velocity)^2)) tanh(v/velocity)."""

    viscous: tuple[float, ...] = parameter(
        (),
        'Empty: damping of the URDF <dynamics>',
        unit='Nms/rad or Ns/m',
        minimum=0.0,
        maximum=1e6,
    )
    coulomb: tuple[float, ...] = parameter(
        (), 'Empty: friction of the URDF <dynamics>', unit='Nm or N', minimum=0.0, maximum=1e6
    )
    velocity: float = parameter(
        0.01,
        'Speed at which dry friction has almost its full size',
        unit='rad/s or m/s',
        minimum=1e-6,
        maximum=1000.0,
    )
    stribeck: tuple[float, ...] = parameter(
        (0.0,),
        'What dry friction is larger by at low speed; negative, down to minus coulomb, where it '
        'grows with the speed',
        unit='Nm or N',
        minimum=-1e6,
        maximum=1e6,
    )
    stribeck_velocity: float = parameter(
        0.1,
        'Speed at which that has almost faded',
        unit='rad/s or m/s',
        minimum=1e-6,
        maximum=1000.0,
    )


@dataclass(frozen=True)
class LoadedFrictionSettings(FrictionSettings):
    """Friction settings plus the term load |torque behind friction| tanh(v/velocity)."""

    load: tuple[float, ...] = parameter(
        (0.0,),
        'What dry friction grows by per torque that the joint transmits: a share',
        minimum=0.0,
        maximum=MOST_LOAD_FRICTION,
    )


@dataclass(frozen=True)
class UnexplainedSettings:
    """Model and friction residuals in motion, as written by ``calibrate_robot``.

    If any of them is given, deviations, thresholds and covariances depend on the speed, load and
    reversals of each joint. One value for all joints, or one per joint.
    """

    speed: tuple[float, ...] = parameter(
        (),
        'Deviation of the external torque per speed. Empty, as the others: not known, and '
        'thresholds.velocity has its default',
        unit='Nms/rad or Ns/m',
        minimum=0.0,
    )
    load: tuple[float, ...] = parameter(
        (), 'Deviation per torque that the joint carries', minimum=0.0, maximum=10.0
    )
    reversal: tuple[float, ...] = parameter(
        (),
        'Deviation where the joint turns round, and for a moment after',
        unit='Nm or N',
        minimum=0.0,
    )
    standing: tuple[float, ...] = parameter(
        (),
        'Largest friction that may hold the joint while it stands still: thresholds rise by it',
        unit='Nm or N',
        minimum=0.0,
    )
    tail: tuple[float, ...] = parameter(
        (),
        'Factor on the deviations that are a contact, for what is off farther and more often than '
        'noise of a normal distribution. Empty: 1',
        minimum=1.0,
        maximum=100.0,
    )
    lowest: tuple[float, ...] = parameter(
        (),
        'Lowest position of each joint in which all this is known; where the robot is beyond, '
        'diagnostics says so. Empty: anywhere',
        unit='rad or m',
    )
    highest: tuple[float, ...] = parameter(
        (), 'Highest position of each joint in which all this is known', unit='rad or m'
    )


@dataclass(frozen=True)
class PlausibilitySettings:
    """Plausibility limits of joint states, and the handling of those that contradict the model."""

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
class ObserverSettings:
    """Settings of the external torque observer."""

    kind: str = parameter(
        'momentum',
        'momentum; momentum_second_order: as late, with less noise; kalman: a Kalman filter that '
        'adapts to the noise of velocities; inverse_dynamics: from '
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
        0.1,
        'The observer starts anew after a longer gap between stamps',
        unit='s',
        minimum=1e-4,
        maximum=LONGEST,
    )
    transition_time: float = parameter(
        0.5,
        'Time that estimates take to another payload or gravity',
        unit='s',
        minimum=0.0,
        maximum=LONGEST,
    )


@dataclass(frozen=True)
class WrenchSettings:
    """Settings of the wrench estimator at the contact frames."""

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
class ThresholdSettings:
    """Contact and collision thresholds. One value for all joints, or one per joint."""

    contact: tuple[float, ...] = parameter(
        (),
        'A larger external torque is a contact; inf: joint not watched. Empty: sigmas times the '
        'standard deviation that follows from effort.noise, effort.velocity_noise, '
        'effort.model_error and unexplained.*',
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
    sigmas: float = parameter(
        5.0,
        'Standard deviations that are a contact, where false_alarms_per_hour is 0',
        minimum=0.1,
    )
    false_alarms_per_hour: float = parameter(
        0.0,
        'How often free motion may be taken for a contact: sigmas follow from it. As true as '
        'deviations are: calibrate first. 0: sigmas counts',
        minimum=0.0,
        maximum=1e5,
    )
    velocity: tuple[float, ...] = parameter(
        (),
        'Added to both thresholds per speed of the joint, for what friction and model leave '
        'unexplained in motion. Empty: 0 where unexplained.* is given, else 1 % of the effort '
        'limit of each joint, 0.5 where it has none',
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
        maximum=LONGEST,
    )
    release: float = parameter(
        0.05,
        'A contact ends when no threshold is exceeded this long',
        unit='s',
        minimum=0.0,
        maximum=LONGEST,
    )


@dataclass(frozen=True)
class FeetSettings:
    """Feet of a robot with root_joint floating, reported on ~/foot_contacts."""

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
class TareSettings:
    """Settings of taring, which sets the present external torques to zero."""

    window: float = parameter(1.0, 'Time that is averaged', unit='s', minimum=0.01, maximum=LONGEST)
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
class AdaptationSettings:
    """Adaptation of dry friction to a slow drift, e.g. of temperature, in free motion."""

    enabled: bool = parameter(
        False, 'Change friction.coulomb of each joint slowly, within bounds; false undoes it'
    )
    time_constant: float = parameter(
        60.0,
        'Motion of a joint, both ways, after which 59 % of a step of its friction are taken up',
        unit='s',
        minimum=5.0,
        maximum=1e5,
    )
    bound: tuple[float, ...] = parameter(
        (),
        'Largest change, and so the largest push that may be taken for friction. One value, or one '
        'per joint. Empty: half of friction.coulomb of each joint',
        unit='Nm or N',
        minimum=0.0,
    )
    speed: float = parameter(
        0.05,
        'A slower joint tells nothing; at least three times friction.velocity counts',
        unit='rad/s or m/s',
        minimum=0.0,
    )
    margin: float = parameter(
        1.0,
        'Nothing is learned so long after the last state in which a threshold was exceeded or a '
        'contact or latched collision was told',
        unit='s',
        minimum=0.1,
        maximum=LONGEST,
    )


@dataclass(frozen=True)
class ContactSettings:
    """All contact estimator settings of one robot."""

    frames: tuple[str, ...] = parameter(
        (),
        'Contact frames; several are contacts at one time. Empty: the end of the longest chain',
    )
    effort: ContactEffortSettings = field(default_factory=ContactEffortSettings)
    friction: LoadedFrictionSettings = field(default_factory=LoadedFrictionSettings)
    unexplained: UnexplainedSettings = field(default_factory=UnexplainedSettings)
    plausibility: PlausibilitySettings = field(default_factory=PlausibilitySettings)
    observer: ObserverSettings = field(default_factory=ObserverSettings)
    wrench: WrenchSettings = field(default_factory=WrenchSettings)
    thresholds: ThresholdSettings = field(default_factory=ThresholdSettings)
    feet: FeetSettings = field(default_factory=FeetSettings)
    tare: TareSettings = field(default_factory=TareSettings)
    adaptation: AdaptationSettings = field(default_factory=AdaptationSettings)
