# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques from the observer of contact_node in recordings, and contacts in them.

A momentum observer responds at once, and passes almost K M(q) times the noise of velocities: with
differences of encoder steps of 1e-4 rad at 500 Hz this is 1.5 Nm per kg m^2, more than most
contacts. With a filter of third order it has the same delay 1/K and a tenth of the noise, but
responds slowly at first. That one is used if the momentum observer is too noisy, with a lower gain
if necessary: its noise grows as K^2.5.

Residuals of a friction and mass model depend on the state: at the same position, velocity and load
of a joint, they are about the same again. The torques of a push are not repeated, and they appear
in several joints at once, while the friction of different joints is independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import ROWS, STANDS_AFTER
from dynamics_ros.estimation import OBSERVERS, EffortModel, TorqueObserver
from dynamics_ros.estimation.observers import GAIN, MomentumObserver, ThirdOrderMomentumObserver
from dynamics_ros.estimation.uncertainty.thresholds import by_effort_limit
from dynamics_ros.estimation.uncertainty.unexplained import slow_speeds
from dynamics_ros.identification import JointSamples, UnusableRecordingError
from dynamics_ros.identification.joint_states.clock import Stretch, regular_stretches
from dynamics_ros.identification.joint_states.noise import SampleNoise
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MAX_NOISE = 0.004
"""Largest standard deviation of noise over the effort limit: five of them are a tenth of the torque
of a collision."""

GAIN_RATIO, MIN_GAIN, GAINS = 0.8, 10.0, 11
"""Ratio of consecutive candidate gains; lowest gain [1/s]; number of candidates."""

POSTURES = 50


@dataclass(frozen=True)
class ObserverChoice:
    """Kind and gain of an observer of external torques.

    Attributes:
        kind: as ``observer.kind`` of contact_node.
        gain: K [1/s].
    """

    kind: str = MomentumObserver.kind
    gain: float = GAIN

    def made(
        self, robot: Robot, model: EffortModel, noise: SampleNoise, max_gap: float
    ) -> TorqueObserver:
        """Create the observer; ``max_gap`` is its largest gap between samples [s]."""
        return OBSERVERS[self.kind](
            robot,
            self.gain,
            effort_model=model,
            max_gap=max_gap,
            velocity_differenced=noise.differenced,
            velocity_cutoff=noise.cutoff,
        )


def chosen_observer(
    robot: Robot, noise: SampleNoise, q: Array, period: float, left_over: Array | float
) -> ObserverChoice:
    """The default observer of contact_node, or one of third order if velocities are too noisy.

    Args:
        robot: the robot.
        noise: noise of its samples.
        q: (n, nq) recorded configurations.
        period: sampling period [s].
        left_over: RMS residual of the model, number or (nv); smaller noise is accepted [Nm or N].
    """
    of_velocities = replace(noise, effort=np.full(robot.nv, 1e-9))
    most = np.maximum(by_effort_limit(robot, MAX_NOISE), left_over)
    q = q[:: max(1, len(q) // POSTURES)]

    def quiet(choice: ObserverChoice) -> bool:
        observer = choice.made(robot, EffortModel.ideal(robot), noise, 1.0)
        variance = of_velocities.of_torques(robot, observer, q, period).mean(axis=0)
        return bool(np.all(variance <= most**2))

    gains = [max(GAIN * GAIN_RATIO**k, MIN_GAIN) for k in range(GAINS)]
    choices = [
        ObserverChoice(),
        *(ObserverChoice(ThirdOrderMomentumObserver.kind, x) for x in gains),
    ]
    return next((one for one in choices if quiet(one)), choices[-1])


SETTLED = 5.0
"""Settling time of the observer in time constants."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """External torques in free motion, one row per time constant of the observer.

    Attributes:
        torque: (n, nv) external torques [Nm or N].
        q, v, load: (n, nv) positions, velocities, and joint torques without friction.
        reversal: (n, nv) share of a reversal, from 0 to 1.
        noise: (n, nv) variances of the torques due to noise of the samples.
        standing: (n, nv) whether joints are at rest.
        time: (n) time since the first stamp of the first recording [s].
    """

    torque: Array
    q: Array
    v: Array
    load: Array
    reversal: Array
    noise: Array
    standing: NDArray[np.bool_]
    time: Array

    @classmethod
    def joined(cls, parts: Sequence[Residuals]) -> Residuals:
        """Residuals of several parts, one after another."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))

    def without(self, rows: NDArray[np.bool_]) -> Residuals:
        """All rows except the selected ones (n)."""
        return Residuals(*(getattr(self, field.name)[~rows] for field in fields(self)))

    @property
    def second(self) -> NDArray[np.int64]:
        """(n) index of the second to which a row belongs."""
        return np.floor(self.time).astype(np.int64)


def residuals_of(
    robot: Robot,
    model: EffortModel,
    recordings: Sequence[JointSamples],
    choice: ObserverChoice,
    noise: SampleNoise,
) -> Residuals:
    """Run the observer of contact_node over recordings.

    Args:
        robot, model, recordings: as in ``learn_unexplained``.
        choice: kind and gain of the observer.
        noise: noise of the samples.

    Raises:
        UnusableRecordingError: the recordings are too short for the observer to settle.
    """
    parts, begin = [], 0.0
    for samples in recordings:
        stretches = regular_stretches(samples)
        for one in stretches:
            observer = choice.made(robot, model, noise, 10.0 * one.period)
            parts.append(_residuals_of_stretch(observer, noise, one, begin - stretches[0].start))
        begin += np.ceil(samples.duration) + 1.0
    parts = [part for part in parts if len(part.torque)]
    if not parts:
        raise UnusableRecordingError('less than a second without a gap: no residual to learn from')
    return Residuals.joined(parts)


def _residuals_of_stretch(
    observer: TorqueObserver, noise: SampleNoise, stretch: Stretch, shift: float
) -> Residuals:
    """Run an observer over a stretch; ``shift`` is added to its times [s]."""
    robot, model, gain = observer.robot, observer.effort_model, float(observer.gain[0])
    kernel = robot.kernel('unexplained_torque')
    for one in (robot.kernel('observer_step', observer.kind, 'instant'), kernel):
        one.wait()
    v = stretch.velocity
    if v is None:
        v = np.diff(stretch.position, axis=0, prepend=stretch.position[:1]) / stretch.period
    rows, nothing = np.zeros((len(ROWS), robot.nv)), np.zeros(robot.nv)
    rows[ROWS.index('slow')] = slow_speeds(robot, noise.velocity)
    memory = np.stack([v[0], np.ones(robot.nv), nothing, v[0]])
    torque, turning, still = np.zeros((3, *v.shape))
    for k, (q, one, effort) in enumerate(zip(stretch.position, v, stretch.effort, strict=True)):
        torque[k] = observer.update(round(k * stretch.period * 1e9), q, one, effort)
        *_, memory = kernel.call(one, nothing, memory, stretch.period, rows, nothing)
        turning[k], still[k] = memory[1], memory[2]
    first = round(SETTLED / gain / stretch.period)
    taken = slice(first, None, max(1, round(1.0 / (gain * stretch.period))))
    time: Array = shift + stretch.start + np.arange(len(v), dtype=np.float64) * stretch.period
    # The external torque is not part of the load.
    load = model.scale * stretch.effort + model.offset + torque
    standing = still[taken] >= STANDS_AFTER
    q = stretch.position[taken]
    return Residuals(
        *(torque[taken], q, v[taken], load[taken], turning[taken]),
        *(noise.of_torques(robot, observer, q, stretch.period), standing, time[taken]),
    )


WINDOW = 0.2
"""Duration of a window over which torques are averaged [s]."""

MIN_SEPARATION = 1.0
"""Least time between two windows whose states are compared [s]."""

NEIGHBOURS = 7
"""Number of windows with the most similar states, which are compared."""

MIN_WINDOWS = 25
"""Least number of windows in motion for a joint to be used."""

MAX_WINDOWS = 1500
"""Largest number of compared windows; the first ones of longer recordings."""

MAX_REVERSAL = 0.2
"""Mean share of a reversal from which a window is not used."""

MAX_DEVIATIONS = 12.0
"""Largest contribution of a joint, in standard deviations: one joint alone does not make a
contact."""

CONTACT_DEVIATIONS = 6.0
"""RMS over joints, in standard deviations, from which a window is a contact."""

MIN_RELATIVE_DEVIATION = 0.01
"""Least standard deviation of a residual, over the standard deviation of the torque."""

MERGE_TIME, MAX_NAMED = 0.5, 3
"""Largest time between windows of one contact [s]; number of contacts in a message."""

FORCE_DURATION, MAX_RESIDUAL_RATIO, SIGNIFICANT = 5.0, 0.75, 5.0
"""Duration for which a force is assumed constant [s]; largest ratio of the residuals with and
without the force; least ratio of the force to its standard deviation."""

GAUSSIAN = 1.4826
"""Ratio of the standard deviation to the median absolute deviation of a normal distribution."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A time interval with a contact.

    Attributes:
        begin, end: times since the first stamp [s].
        joints: (nv) whether a joint has a torque of the contact.
    """

    begin: float
    end: float
    joints: NDArray[np.bool_]


def contacts_in(found: Residuals) -> tuple[Contact, ...]:
    """Contacts in a recording that should be free motion.

    Torques of windows are compared with those at other times in similar states.
    """
    index, time = _windows(found)

    def mean(values: Array) -> Array:
        return _window_means(values, index)

    # Friction differs between reversals.
    moving = (mean(found.standing.astype(np.float64)) == 0.0) & (
        mean(found.reversal) < MAX_REVERSAL
    )
    torque = mean(found.torque)
    states = np.stack([mean(x) for x in (found.q, found.v, found.load)], axis=-1)
    off = np.zeros_like(torque)
    for j in range(torque.shape[1]):
        rows = np.flatnonzero(moving[:, j])
        if len(rows) >= MIN_WINDOWS:
            off[rows, j] = _normalised_differences(time[rows], states[rows, j], torque[rows, j])
    size = np.sqrt((np.minimum(np.abs(off), MAX_DEVIATIONS) ** 2).mean(axis=1))
    far = np.flatnonzero(size > CONTACT_DEVIATIONS)
    parts = np.split(far, np.flatnonzero(np.diff(time[far]) > MERGE_TIME) + 1) if len(far) else []
    return tuple(
        Contact(
            float(time[part[0]]),
            float(time[part[-1]]) + WINDOW,
            np.asarray((np.abs(off[part]) > CONTACT_DEVIATIONS).any(axis=0)),
        )
        for part in parts
    )


def _windows(found: Residuals) -> tuple[NDArray[np.int64], Array]:
    """(n) window index of each row, and (w) start times of the windows [s]."""
    number = np.floor(found.time / WINDOW).astype(np.int64)
    kept, index = np.unique(number, return_inverse=True)
    return index, WINDOW * kept[:MAX_WINDOWS].astype(np.float64)


def _window_means(values: Array, index: NDArray[np.int64]) -> Array:
    """(w, nv) means of rows (n, nv) over windows."""
    sums = np.stack([np.bincount(index, column) for column in values.T], axis=1)
    found: Array = sums / np.bincount(index)[:, np.newaxis]
    return found[:MAX_WINDOWS]


def _normalised_differences(time: Array, states: Array, torque: Array) -> Array:
    """(n) difference from the median torque of the most similar states (n, 3), in deviations."""
    scaled = states / np.maximum(states.std(axis=0), 1e-9)
    distance = ((scaled[:, np.newaxis] - scaled) ** 2).sum(axis=-1)
    distance[np.abs(time[:, np.newaxis] - time) < MIN_SEPARATION] = np.inf
    nearest = np.argsort(distance, axis=1)[:, :NEIGHBOURS]
    beyond = torque - np.median(torque[nearest], axis=1)
    usual = max(GAUSSIAN * np.median(np.abs(beyond)), np.quantile(np.abs(beyond), 0.9) / 1.645)
    found: Array = beyond / max(usual, MIN_RELATIVE_DEVIATION * float(torque.std()), 1e-9)
    return found


def rows_of(contacts: Sequence[Contact], found: Residuals) -> NDArray[np.bool_]:
    """(n) whether rows are within a contact, or within ``WINDOW`` of one."""
    rows = np.zeros(len(found.time), dtype=bool)
    for one in contacts:
        rows |= (found.time > one.begin - WINDOW) & (found.time < one.end + WINDOW)
    return rows


def named(contacts: Sequence[Contact], joint_names: Sequence[str]) -> str:
    """Start times and joints of contacts, as text."""
    texts = []
    for one in contacts[:MAX_NAMED]:
        joints = ', '.join(n for n, feels in zip(joint_names, one.joints, strict=True) if feels)
        texts.append(f'{one.begin:.1f} s ({joints})')
    more = f' and {len(contacts) - MAX_NAMED} more' if len(contacts) > MAX_NAMED else ''
    return ', '.join(texts) + more


def lasting_force(robot: Robot, found: Residuals, speed: Array) -> Array | None:
    """A force on the last link that explains a large part of the residual, beyond friction.

    Torques of a force depend on the posture, those of friction and offsets do not. The force may
    change every ``FORCE_DURATION`` seconds. Wrong masses and a payload have similar torques, so the
    result is only reported.

    Args:
        robot: the robot.
        found: residuals of one recording.
        speed: (nv) speed at which dry friction reaches 76 % [rad/s or m/s].

    Returns:
        Mean force (3) of the intervals with a force above the median, in root axes [N]; None if
        there is no such force.
    """
    index, time = _windows(found)
    q, v, torque = (_window_means(x, index) for x in (found.q, found.v, found.torque))
    still = _window_means(found.standing.astype(np.float64), index) > 0.0
    if len(time) < MIN_WINDOWS:
        return None
    nv, count = robot.nv, int((time[-1] - time[0]) / FORCE_DURATION) + 1
    J = robot.jacobian(q, robot.body_names[-1])[:, :3]
    part = np.minimum(((time - time[0]) / FORCE_DURATION).astype(np.int64), count - 1)
    # A joint that moves for a moment is fitted exactly, and would outweigh all others.
    used = (~still).sum(axis=0) >= MIN_WINDOWS
    if not used.any():
        return None
    A = np.zeros((nv, len(time), 3 * count + 3 * nv))
    for k in range(3):
        A[:, np.arange(len(time)), 3 * part + k] = J[:, k].T
    for j in range(nv):
        own = slice(3 * (count + j), 3 * (count + j + 1))
        A[j, :, own] = np.column_stack([np.ones(len(v)), v[:, j], np.tanh(v[:, j] / speed[j])])
    weights, y = (~still & used).T.astype(np.float64), torque.T
    alone, _, _ = _weighted_least_squares(A[..., 3 * count :], y, weights)
    left, x, deviation = _weighted_least_squares(A, y, weights)
    forces, open_ = x[: 3 * count].reshape(-1, 3), deviation[: 3 * count].reshape(-1, 3)
    sizes = np.linalg.norm(forces, axis=1)
    sure = sizes > SIGNIFICANT * np.linalg.norm(open_, axis=1)
    if np.exp(np.mean(np.log(left[used] / alone[used]))) > MAX_RESIDUAL_RATIO or not sure.any():
        return None
    found_force: Array = forces[sure & (sizes >= np.median(sizes[sure]))].mean(axis=0)
    return found_force


def _weighted_least_squares(A: Array, y: Array, weights: Array) -> tuple[Array, Array, Array]:
    """RMS residuals (nv) of least squares weighted by joint, unknowns, and their deviations."""
    count = np.maximum(weights.sum(axis=1), 1.0)
    left = np.sqrt((weights * y**2).sum(axis=1) / count) + 1e-9
    for _ in range(4):
        scale = weights / left[:, np.newaxis]
        rows = (A * scale[..., np.newaxis]).reshape(-1, A.shape[-1])
        H = rows.T @ rows + 1e-6 * np.eye(A.shape[-1])
        x = np.linalg.solve(H, rows.T @ (y * scale).ravel())
        left = np.sqrt((weights * (y - A @ x) ** 2).sum(axis=1) / count) + 1e-9
    return left, x, np.sqrt(np.diag(np.linalg.inv(H)))
