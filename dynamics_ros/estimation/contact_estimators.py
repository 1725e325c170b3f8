# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the contact estimators as their arguments, an entry per velocity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError

from .contact_settings import ContactSettings, EffortSettings, FrictionSettings, WrenchSettings
from .effort_model import EffortModel
from .uncertainty.thresholds import Unexplained, by_effort_limit

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


SHARES = {'effort.model_error': MODEL_ERROR, 'thresholds.collision': COLLISION}
"""Empty settings that are a share of the range of the efforts of each joint."""


def joint_settings(robot: Robot, values: ContactSettings) -> dict[str, Array]:
    """Returns the settings with an entry per joint as (nv), by dotted name, zero without a default.

    Raises:
        InvalidArgumentError: the number of entries does not fit the robot.
    """
    rows: dict[str, Array] = {}
    for group in ('effort', 'unexplained', 'observer', 'thresholds'):
        for name, given in vars(getattr(values, group)).items():
            key = f'{group}.{name}'
            if given == ():
                share = SHARES.get(key)
                rows[key] = by_effort_limit(robot, share) if share else np.zeros(robot.nv)
            elif isinstance(given, tuple):
                base = 1.0 if name == 'scale' else 0.0 if group == 'unexplained' else None
                rows[key] = per_velocity(robot, given, key, base)
    return rows


def unexplained(rows: Mapping[str, Array], values: ContactSettings) -> Unexplained | None:
    """Returns the residual torques in motion; None without a calibration."""
    given = values.unexplained
    if not any((given.speed, given.load, given.reversal, given.standing)):
        return None
    residuals = {name: rows[f'unexplained.{name}'] for name in vars(given)}
    return Unexplained(constant=np.zeros_like(rows['observer.gain']), **residuals)


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
    """Returns the arguments of ``WrenchEstimator`` that are settings.

    Raises:
        InvalidArgumentError, UnknownFrameError: a setting does not fit the robot or the frames.
    """
    points, axes = settings.reference_points, settings.expressed_in
    if len(points) not in (0, 3 * len(frames)):
        expected = f'{3 * len(frames)}: x y z for each of {len(frames)} frames'
        raise InvalidArgumentError('wrench.reference_points', f'{len(points)} numbers', expected)
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
