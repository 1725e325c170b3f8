# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the contact estimators as their arguments, an entry per velocity."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError

from .contact_settings import ContactSettings, EffortSettings, FrictionSettings, WrenchSettings
from .effort_model import EffortModel
from .uncertainty.thresholds import Unexplained, by_effort_limit, sigmas_for_rate

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MODEL_ERROR = 0.001
"""Default model error at rest as a share of the effort limit: residual after a tare, and resolution
of a torque sensor with that range."""

MOTION_ERROR = 0.01
"""Default threshold increase per rad/s as a share of the effort limit, about the size of
unidentified friction."""

SIGMAS = 5.0
"""Default contact threshold in standard deviations, which one sample in 1.7 million of normally
distributed noise exceeds."""

COLLISION = 0.2
"""Default collision threshold as a share of the effort limit."""


def setting(
    robot: Robot, values: ContactSettings, name: str, base: float | None = None, share: float = 0.0
) -> Array:
    """Expands a setting by its dotted name, see ``per_velocity``.

    An empty one is a share of the range of the efforts of each joint.
    """
    if given := attrgetter(name)(values):
        return per_velocity(robot, given, name, base)
    return by_effort_limit(robot, share) if share else np.zeros(robot.nv)


def model_error(robot: Robot, values: ContactSettings) -> Array:
    """Returns the deviation (nv) of the errors of the model at rest [Nm or N]."""
    return setting(robot, values, 'effort.model_error', share=MODEL_ERROR)


def thresholds_of(robot: Robot, values: ContactSettings, scatter: Array) -> tuple[Array, Array]:
    """Returns contact and collision thresholds (nv) for the given deviation without contact."""
    given = values.thresholds
    contact = contact_sigmas(robot, values) * scatter
    if given.contact:
        contact = setting(robot, values, 'thresholds.contact')
    collision = setting(robot, values, 'thresholds.collision', share=COLLISION)
    return contact, collision if given.collision else np.maximum(collision, 2.0 * contact)


def contact_sigmas(robot: Robot, values: ContactSettings) -> Array:
    """Returns the contact threshold (nv) in standard deviations."""
    sigmas, rate = SIGMAS, values.thresholds.false_alarms_per_hour
    if rate:
        sigmas = sigmas_for_rate(rate, setting(robot, values, 'observer.gain'))
    return sigmas * np.maximum(setting(robot, values, 'unexplained.tail'), 1.0)


def unexplained(robot: Robot, values: ContactSettings) -> Unexplained | None:
    """Returns the residual torques in motion; None without a calibration."""
    given = values.unexplained
    if not any((given.speed, given.load, given.reversal, given.standing)):
        return None
    names = 'speed', 'load', 'reversal', 'standing', 'tail'
    rows = {name: setting(robot, values, f'unexplained.{name}', base=0.0) for name in names}
    return Unexplained(constant=np.zeros(robot.nv), **rows)


def adaptation_off(robot: Robot, values: ContactSettings) -> str:
    """Returns why dry friction is not adapted; '' if it is."""
    if not values.adaptation.share:
        return 'adaptation.share is 0'
    return 'the base moves' if robot.model.root_joint_nv else ''


def effort_model(robot: Robot, effort: EffortSettings, friction: FrictionSettings) -> EffortModel:
    """Creates the effort model; empty settings of friction leave that of the description."""
    rows: dict[str, Array] = {}
    groups: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
        ('effort', effort, ('scale', 'offset', 'rotor_inertia')),
        ('friction', friction, ('viscous', 'coulomb', 'stribeck', 'load')),
    )
    for group, settings, names in groups:
        for name in names:
            if given := getattr(settings, name, ()):
                row = 'load_friction' if name == 'load' else name
                base = float(name == 'scale')
                rows[row] = per_velocity(robot, given, f'{group}.{name}', base)
    model = EffortModel.from_robot(
        robot, friction_velocity=friction.velocity, includes_gravity=effort.includes_gravity
    )
    return model.with_values(**rows)


def wrench_options(robot: Robot, settings: WrenchSettings, frames: Sequence[str]) -> dict[str, Any]:
    """Returns the arguments of ``WrenchEstimator`` that are settings."""
    points, axes = settings.reference_points, settings.expressed_in
    if len(points) not in (0, 3 * len(frames)):
        raise InvalidArgumentError(
            'wrench.reference_points',
            f'{len(points)} numbers',
            f'{3 * len(frames)}: x y z for each of {len(frames)} frames',
        )
    if axes and axes not in (*robot.frame_names, robot.root_frame):
        raise UnknownFrameError('wrench.expressed_in', axes, robot.frame_names)
    return {
        'expressed_in': axes or frames,
        'reference_points': np.reshape(points, (-1, 3)) if points else None,
        'force_only': settings.force_only,
    }


def per_velocity(
    robot: Robot, values: tuple[float, ...], name: str, base: float | None = None
) -> Array:
    """Expands one value for all joints, or one per joint in joint_names order, to (nv).

    Entries of a moving base, which has no joint name, get ``base``, or else the first value.
    """
    count = len(robot.joint_names)
    if len(values) == 1:
        values = values * count
    if len(values) != count:
        raise InvalidArgumentError(
            name, f'{len(values)} values', '1' if count == 1 else f'1 or {count}, one per joint'
        )
    result = np.full(robot.nv, values[0] if base is None and values else base or 0.0)
    for joint, value in zip(robot.model.actuated, values, strict=True):
        result[list(joint.v_indices)] = value
    return result
