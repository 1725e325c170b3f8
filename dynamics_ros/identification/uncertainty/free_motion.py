# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What free motion tells of drives and sensors while masses are as described.

For a robot that runs and keeps its description: noise in motion, offsets of efforts, friction. What
``identify`` says of a recording and goes on with is a reason to refuse here, for the result is put
in force at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.identification import (
    Identified,
    JointSamples,
    UnusableRecordingError,
    for_robot,
    identify,
)
from dynamics_ros.identification.evaluation import evaluate
from dynamics_ros.identification.joint_states.plausibility import odd_velocities
from dynamics_ros.identification.robust_weights import UNEXPLAINED
from dynamics_ros.robot import Robot

from .contacts import named
from .learn import Learned, learn_unexplained

Array = NDArray[np.float64]

USUAL = 0.75
"""Share of the seconds that are taken to be free: pushes are fewer; a joint may rest for longer."""

NAMED = 3
"""Times that are told."""


@dataclass(frozen=True, eq=False)
class Drives:
    """What free motion tells.

    Attributes:
        identified: of efforts as torques; its scale is 1.
        learned: what they leave unexplained, by motion.
        left_over_before: (nv) RMS of the torques that the model before leaves unexplained.
    """

    identified: Identified
    learned: Learned
    left_over_before: Array

    def deviations(self, name: str) -> Array:
        """(nv) standard deviations of 'offset', 'viscous' or 'coulomb'."""
        told = {one.name: one.deviation for one in self.identified.parameters}
        joints = self.identified.robot.joint_names
        return np.array([told[f'{name} {joint}'] for joint in joints])


def identify_drives(robot: Robot, samples: JointSamples, model: EffortModel) -> Drives:
    """Friction, offsets, rotors and noise of a robot whose masses are as described.

    Args:
        robot: fixed base, joints of one coordinate.
        samples: of its joints, efforts as reported.
        model: what these meant so far; its scale is taken to be right.

    Raises:
        UnusableRecordingError: nothing moves, a push or contact, efforts in other units.
        NotThisRobotError: friction does not explain the efforts, or gravity acts along another
            direction.
    """
    own, _ = for_robot(samples, robot)
    wrong = odd_velocities(samples)
    if wrong:
        raise UnusableRecordingError(
            f'velocities are not the change of positions; they are so many times it: {wrong}'
        )
    torques = model.scale * own.effort
    if not model.includes_gravity:
        torques = torques + robot.gravity(own.position)
    own = replace(own, effort=torques)
    found = identify(robot, [own], held=True)
    scale = found.effort_model.scale
    if (scale != 1.0).any():
        odd = [f'{n} {x:.3g}' for n, x in zip(robot.joint_names, scale, strict=True) if x != 1.0]
        raise UnusableRecordingError(
            'efforts are in other units than effort.scale says, or count the other way round; they '
            f'would have to be multiplied by about: {", ".join(odd)}'
        )
    pushes = _pushes(found)
    if pushes:
        raise UnusableRecordingError(
            f'efforts after {pushes} are not those of free motion, such as a push or a contact: '
            'repeat the motion with nothing near the robot'
        )
    learned = learn_unexplained(
        robot,
        found.effort_model,
        [own],
        of_fit=found.torque_deviation,
        largest_of_fit=found.largest_torque_deviation,
        effort_noise=found.effort_noise,
        velocity_noise=found.velocity_noise,
        velocity_differenced=found.velocity_differenced,
        left_over=found.model_error,
    )
    if learned.contacts:
        raise UnusableRecordingError(
            f'efforts after {named(learned.contacts, robot.joint_names)} do not come back with the '
            'state, as those of a push or a contact: repeat the motion with nothing near the robot'
        )
    return Drives(found, learned, _left_over(found, own, model))


def _pushes(found: Identified) -> str:
    """When seconds are explained much worse than others, and which joints felt that; or ''."""
    fit = found.fit
    # A push of some seconds is much of half a minute: it would be part of a mean.
    moving = np.where((fit.departures > 0.0) & ~fit.standing, fit.departures, np.nan)
    some = np.isfinite(moving).any(axis=1)
    usual = np.ones((len(moving), 1))
    usual[some, 0] = np.nanquantile(moving[some], USUAL, axis=1)
    far = fit.departures > UNEXPLAINED * np.where(fit.standing, 1.0, usual)
    times = []
    for block in np.flatnonzero(far.any(axis=0)):
        names = [n for n, f in zip(found.robot.joint_names, far[:, block], strict=True) if f]
        times.append(f'{fit.begins[block]:.0f} s ({", ".join(names)})')
    more = f' and {len(times) - NAMED} more' if len(times) > NAMED else ''
    return ', '.join(times[:NAMED]) + more


def _left_over(found: Identified, samples: JointSamples, model: EffortModel) -> Array:
    """(nv) RMS of torques that bodies as described and a model of drives leave unexplained."""
    fit, layout = found.fit, found.fit.layout
    x = np.zeros(layout.count)
    x[: layout.bodies] = fit.x[: layout.bodies]
    x[layout.bodies : layout.inertial] = model.rotor_inertia
    v = samples.velocity
    if v is None:
        v = np.gradient(samples.position, samples.time, axis=0)
    # Efforts are torques already, and have what carries the weight.
    behind = model.with_values(scale=1.0, includes_gravity=True).joint_torque
    torques = replace(
        samples,
        effort=np.array([behind(u, one) for u, one in zip(samples.effort, v, strict=True)]),
    )
    return evaluate(found.maker, replace(fit, x=x), torques).rms
