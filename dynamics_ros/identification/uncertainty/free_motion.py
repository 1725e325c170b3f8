# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of friction, offsets and noise from free motion, with masses as described.

For a running robot that keeps its description. Findings that ``identify`` only reports are errors
here, because the result is applied at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales, unmeasured_friction
from dynamics_ros.identification import (
    Identified,
    JointSamples,
    UnusableRecordingError,
    for_robot,
    identify,
)
from dynamics_ros.identification.equations import MAX_BLOCKS, MIN_BLOCK_DURATION
from dynamics_ros.identification.evaluation import evaluate
from dynamics_ros.identification.findings import STILL
from dynamics_ros.identification.fit import UNEXPLAINED
from dynamics_ros.identification.joint_states.joint_matching import named, odd_velocities
from dynamics_ros.robot import Robot

from .learn import Learned, learn_unexplained

Array = NDArray[np.float64]


FREE_QUANTILE = 0.75
"""Quantile of the residuals of blocks that is taken for free motion: fewer contain pushes."""

SLOW = 0.1
"""Speed below which dry friction is not constant; the usual Stribeck velocity [rad/s]."""

FILTERED = 0.2
"""Time over which the filters of the equations spread a residual [s]."""

MAX_NAMED = 3
"""Number of times in a message."""


@dataclass(frozen=True, eq=False)
class Drives:
    """Result of an identification with masses as described.

    Attributes:
        identified: identification with efforts as torques; its scale is 1.
        learned: residuals of the model by motion.
        left_over_before: (nv) RMS residual of the previous effort model [Nm or N].
    """

    identified: Identified
    learned: Learned
    left_over_before: Array


def identify_drives(robot: Robot, samples: JointSamples, model: EffortModel) -> Drives:
    """Identify friction, offsets, rotors and noise of a robot with masses as described.

    Args:
        robot: robot with a fixed base and joints of one coordinate.
        samples: recording of its joints, efforts as reported.
        model: previous effort model; its scale is kept.

    Raises:
        UnusableRecordingError: nothing moves, there is a contact, or efforts are in other units.
        NotThisRobotError: friction does not explain the efforts, or gravity acts in another
            direction.
    """
    own, _ = for_robot(samples, robot)
    scales = dict(zip(robot.joint_names, motion_scales(robot), strict=True))
    wrong = odd_velocities(samples, np.array([scales.get(x, 1.0) for x in samples.joint_names]))
    if wrong:
        raise UnusableRecordingError(
            f'velocities are not the change of positions; they are so many times it: {wrong}'
        )
    own = with_torques(robot, model, own)
    found = identify(robot, [own], held=True)
    scale = found.effort_model.scale
    if (scale != 1.0).any():
        odd = [f'{n} {x:.3g}' for n, x in zip(robot.joint_names, scale, strict=True) if x != 1.0]
        raise UnusableRecordingError(
            'efforts are in other units than effort.scale says, or count the other way round; they '
            f'would have to be multiplied by about: {", ".join(odd)}'
        )
    pushes = _push_times(found, own)
    if pushes:
        raise UnusableRecordingError(
            f'efforts after {pushes} are not those of free motion, such as a push or a contact: '
            'repeat the motion with nothing near the robot'
        )
    learned = learn_unexplained(robot, found.effort_model, [own], found.accuracy)
    return Drives(found, learned, _rms_residual(found, own, model))


def with_torques(robot: Robot, model: EffortModel, samples: JointSamples) -> JointSamples:
    """Samples with the torques of the drives instead of the reported efforts."""
    torques = model.scale * samples.effort
    if not model.includes_gravity:
        torques = torques + robot.gravity(samples.position)
    return replace(samples, effort=torques)


def _push_times(found: Identified, samples: JointSamples) -> str:
    """Start times and joints of blocks with exceptionally large residuals, as text or ''.

    Friction near rest and at reversals depends on more than the speed (breakaway, elastic bristles
    before a joint slides), but does not exceed the dry friction of the joint. In blocks in which a
    joint is slow, its residual has to exceed that too.
    """
    fit = found.fit
    # A quantile, because a push of some seconds would change the mean.
    moving = np.where((fit.departures > 0.0) & ~fit.standing, fit.departures, np.nan)
    some, usual = np.isfinite(moving).any(axis=1), np.ones((len(moving), 1))
    usual[some, 0] = np.nanquantile(moving[some], FREE_QUANTILE, axis=1)
    dry, sigma = fit.dry_friction[:, np.newaxis], fit.sigma[:, np.newaxis]
    held = np.hypot(sigma, dry * fit.standing)
    free = UNEXPLAINED * np.where(fit.standing, held, usual * sigma)
    v = _velocities(samples) / motion_scales(found.robot)
    one_way = np.minimum(-v.min(axis=0), v.max(axis=0)) < MIN_SPEED
    bound = np.where(one_way, unmeasured_friction(found.robot, fit.dry_friction), fit.dry_friction)
    free = free + bound[:, np.newaxis] * _slow_blocks(found, samples)
    far, times = fit.departures * held > free, []
    for block in np.flatnonzero(far.any(axis=0)):
        times.append(f'{fit.begins[block]:.0f} s ({named(found.robot, far[:, block])})')
    more = f' and {len(times) - MAX_NAMED} more' if len(times) > MAX_NAMED else ''
    return ', '.join(times[:MAX_NAMED]) + more


def _slow_blocks(found: Identified, samples: JointSamples) -> NDArray[np.bool_]:
    """(nv, blocks) whether a joint is slow for a part of a block."""
    time, begins = samples.time - samples.time[0], found.fit.begins
    speed = np.abs(_velocities(samples)) / motion_scales(found.robot)
    length = max(MIN_BLOCK_DURATION, samples.duration / MAX_BLOCKS)
    firsts = np.searchsorted(time, begins - FILTERED)
    lasts = np.searchsorted(time, begins + length + FILTERED)
    slow = [speed[a:b].min(axis=0, initial=np.inf) for a, b in zip(firsts, lasts, strict=True)]
    return np.asarray(slow).T < SLOW


def _velocities(samples: JointSamples) -> Array:
    """(n, nv) velocities, differences of positions if none are given."""
    if samples.velocity is not None:
        return samples.velocity
    found: Array = np.gradient(samples.position, samples.time, axis=0)
    return found


def _rms_residual(found: Identified, samples: JointSamples, model: EffortModel) -> Array:
    """(nv) RMS residual of described bodies with an effort model [Nm or N]."""
    fit, x = found.fit, found.fit.x.copy()
    x[fit.layout.bodies : fit.layout.inertial] = model.rotor_inertia
    dry = model.coulomb, model.coulomb + model.stribeck
    friction = model.viscous, -model.offset, *dry, model.load_friction
    fit.layout.friction_of(x)[:] = np.stack(friction, axis=1)
    maker = replace(found.maker, friction_velocity=float(model.friction_velocity))
    return evaluate(maker, replace(fit, x=x), samples).rms


MIN_SPEED = 0.02
"""Least speed in a direction from which its dry friction can be identified [rad/s]."""

MAX_BYTES = 64_000_000
"""Size of the numbers of all samples, whose arrays take up to as much again: six minutes of seven
joints at 1 kHz [bytes]."""


class Recorder:
    """Stores samples; when its memory is full, every second one, then every fourth one, and so on.

    Attributes:
        count: number of received samples, including those dropped later.
    """

    def __init__(self, robot: Robot, source: str) -> None:
        """Create a recorder without samples.

        Args:
            robot: robot with a fixed base and joints of one coordinate.
            source: name of the recording in messages.
        """
        self._names, self._source, self._motion = robot.joint_names, source, motion_scales(robot)
        self._rows: list[Array] = []
        self._stamps: list[int] = []
        self.count, self._every, self._last = 0, 1, 0
        self._low, self._high = np.full((2, robot.nv), np.inf), np.full((2, robot.nv), -np.inf)

    def add(self, stamp: int, q: Array, v: Array, effort: Array) -> bool:
        """Add a sample if its stamp is later than the previous one, and return whether it is.

        Args:
            stamp: stamp [ns].
            q, v, effort: (nv) values in the joint order of the robot.
        """
        if self.count and stamp <= self._last:
            return False
        self._last = stamp
        self._low = np.minimum(self._low, (q, v))
        self._high = np.maximum(self._high, (q, v))
        self.count += 1
        if (self.count - 1) % self._every == 0:
            self._rows.append(np.array((q, v, effort)))
            self._stamps.append(stamp)
        if len(self._rows) * self._rows[0].nbytes > MAX_BYTES:
            del self._rows[1::2], self._stamps[1::2]
            self._every *= 2
        return True

    @property
    def duration(self) -> float:
        """Time from the first to the last stamp [s]."""
        return 1e-9 * (self._last - self._stamps[0]) if self._stamps else 0.0

    @property
    def samples(self) -> JointSamples:
        """A copy of the stored samples."""
        stamps = np.array(self._stamps)
        q, v, effort = np.array(self._rows).reshape(-1, 3, len(self._names)).swapaxes(0, 1)
        time = 1e-9 * (stamps - stamps[:1])
        return JointSamples(self._source, self._names, time, q, v, effort)

    @property
    def missing(self) -> tuple[str, ...]:
        """Motion that is still missing, one sentence for each joint."""
        if not self.count:
            return ('no joint states yet',)
        found = []
        # In radians, and for sliding joints in what corresponds to them.
        low_high = (self._low / self._motion).T, (self._high / self._motion).T
        for name, low, high in zip(self._names, *low_high, strict=True):
            if high[0] - low[0] < STILL:
                found.append(f'{name} has not moved')
            elif min(-low[1], high[1]) < MIN_SPEED:
                found.append(f'{name} has moved in one direction only')
        return tuple(found)
