# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact pipeline: runs all contact estimators on a state; ``blocks`` does so on recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.reasons import Explanation, Names, Reason

from . import contact_estimators as estimators
from .contact.detector import NO_CONTACT, Compared, ContactDetector, ContactReport
from .contact_settings import ContactSettings
from .efforts import EffortCheck, EffortVerdict, EffortWatch
from .legged import FootContactEstimator
from .observers import IGNORED, MAX_GAP, RESTARTS, UPDATED, MomentumObserver
from .samples.robot_state import RobotState, describe_not_finite
from .samples.sample_filter import SampleFilter
from .tare import Tare
from .uncertainty.residual_watch import CHECK_EVERY, FrictionAdaptation, ResidualWatch
from .uncertainty.thresholds import (
    AT_REST,
    by_effort_limit,
    external_torque_noise,
    largest_momentum_noise,
    motion_scales,
    sigmas_for_rate,
)
from .wrench import WrenchEstimate, WrenchEstimator, moving

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

WAITING = 'the first joint state is held until the next one arrives'
FIRST_INTERVAL, SAME_INTERVAL = 1e-3, 0.2
"""Sample interval assumed until it has been measured [s]; relative change that is ignored."""

LACKING = 10**9
"""How long a joint counts as at rest after a state without its velocity [ns]."""

CHECK_PERIOD = 100_000_000
"""Time between two samples of the slow checks, of efforts, residuals and friction [ns]."""

NO_KERNEL = '{} are published once their kernel is compiled'


class ExternalTorques(NamedTuple):
    """External torques and contact at a state.

    Attributes:
        values: (nv) tared external torques.
        report: the contact state.
        deviation: (nv) deviation of the values without contact at this state, if calibrated.
    """

    values: Array
    report: ContactReport
    deviation: Array | None = None


class ContactPipeline:
    """Estimates external torque, contact state and wrenches from reported efforts.

    Attributes:
        frames: contact frames.
        joint_names: joints with one coordinate; joint_indices: their indices in v.
        estimator: wrench estimator.
        observer, tare, detector: stateful estimators; their state survives unrelated changes.
        feet: foot contact estimator; None if no feet are configured.
        samples: filter that rejects implausible states.
        estimated_state: state of the last estimate: the newest one unless it is held as doubtful.
        lacking: joints without velocity, with the stamp of their last state without it [ns].
        effort_watch: checks at every state whether efforts are still measured.
        effort_check: checks whether efforts match their configured meaning.
        adaptation: adaptation of dry friction in free motion; None if disabled.
        residuals: checks whether external torques in motion are as small as stated.
        uncertain_frames: contact frames moved by joints with larger residuals than stated.
        external: the last estimate; None if there is none.
        measures: whether the sample interval is measured as soon as the observer has settled.
        checked, next_check: stamps of the last and the next sample of the slow checks [ns].
        unavailable_reason: why the last state gave no estimate; empty if it gave one.
        warning: warning about the last estimate; empty if there is none.
    """

    def __init__(self, robot: Robot, values: ContactSettings, default_frame: str) -> None:
        """Creates the estimators; call ``compile`` before their first use.

        Raises:
            InvalidArgumentError, UnknownFrameError: a parameter does not fit the robot.
        """
        self.robot, self.values = robot, values
        self.frames = values.frames or (default_frame,)
        self.joint_names = tuple(robot.joint_v_indices)
        self.joint_indices = index_of([*robot.joint_v_indices.values()])
        self.unavailable_reason = self.warning = ''
        rows = self._rows = estimators.joint_settings(robot, values)
        noise: dict[str, Any] = {
            'effort_noise': rows['effort.noise'],
            'velocity_noise': rows['effort.velocity_noise'],
        }
        rate = values.thresholds.false_alarms_per_hour
        sigmas = sigmas_for_rate(rate, rows['observer.gain']) if rate else estimators.SIGMAS
        # Contact thresholds in standard deviations.
        self._sigmas = sigmas * np.maximum(rows['unexplained.tail'], 1.0)
        residuals = estimators.unexplained(rows, values)
        motion = motion_scales(robot)
        self.samples = SampleFilter(
            robot,
            **noise,
            effort_scale=rows['effort.scale'],
            motion=motion,
            max_gap=MAX_GAP,
        )
        self.estimated_state: RobotState | None = None
        model = estimators.effort_model(robot, values.effort, values.friction)
        gain, sampling = rows['observer.gain'], values.effort.sampling
        self.observer = MomentumObserver(robot, gain, effort_model=model, effort_sampling=sampling)
        self.lacking: dict[str, int] = {}
        self._before: RobotState | None = None  # of the last one, while velocities are missing
        self.adaptation: FrictionAdaptation | None = None
        if not estimators.adaptation_off(robot, values):
            share = values.adaptation.share
            self.adaptation = FrictionAdaptation(model.coulomb, model.stribeck, share)
        options = estimators.wrench_options(robot, values.wrench, self.frames)
        self.estimator = WrenchEstimator(robot, self.frames, **noise, **options)
        # The thresholds follow from the noise, which ``compile`` computes.
        self.detector = ContactDetector(
            *(robot, np.inf, np.inf),
            velocity_term=0.0 if residuals else by_effort_limit(robot, estimators.MOTION_ERROR),
            residuals=residuals,
            velocity_noise=noise['velocity_noise'],
        )
        self.feet: FootContactEstimator | None = None
        if values.feet.frames:
            friction = values.feet.friction
            self.feet = FootContactEstimator(robot, values.feet.frames, **noise, friction=friction)
        held = residuals.standing if residuals else None
        self.effort_check = EffortCheck(robot, model, friction=held)
        self.effort_watch = EffortWatch(robot, model, sampling)
        self.residuals = ResidualWatch(robot, model.speeds[0])
        self.checked = self.next_check = 0
        self.uncertain_frames: frozenset[str] = frozenset()
        self._at_rest = AT_REST * motion
        self.tare = Tare(robot.nv, max_velocity=self._at_rest)
        self._momentum_noise: Array | None = None
        self._interval, self._stated = FIRST_INTERVAL, np.full(robot.nv, np.inf)
        self.measures = False
        self.external: ExternalTorques | None = None

    def inherit(self, other: ContactPipeline) -> None:
        """Takes over the state of another pipeline where both estimate the same quantity."""
        if other.robot.model.joints and other.robot.joint_v_indices != self.robot.joint_v_indices:
            return
        ours, theirs = self.values, other.values
        self._interval, self.measures = other._interval, other.measures
        if self.samples.inherit(other.samples):
            self.estimated_state, self.external = other.estimated_state, other.external
        # Same tree only: the detector stores which link lies behind which joint.
        same_tree = self.robot.body_names == other.robot.body_names
        if same_tree and ours.thresholds == theirs.thresholds:
            self.detector.inherit(other.detector)
        if (ours.effort, ours.friction) == (theirs.effort, theirs.friction):
            self.residuals = other.residuals
            if self.robot is not other.robot:
                self.residuals.forget_friction()
            if ours.observer == theirs.observer:
                model, self.observer = self.observer.effort_model, other.observer
                self.lacking = other.lacking
                self.observer.change_robot(self.robot)
                self.observer.change_effort_model(model)
                if self.adaptation is not None and other.adaptation is not None:
                    self.adaptation.inherit(other.adaptation)
                    self._apply_friction()
            report = other.effort_check.report
            if report is not None and not report.advice:
                # The old report may be due to a payload that is known now.
                self.effort_check.report = report
        self.tare = other.tare
        self.tare.restart()
        self._update_noise()

    def update(self, state: RobotState) -> ExternalTorques | None:
        """Processes a state; returns None, with ``unavailable_reason``, if no estimate is possible.

        While a state is held as doubtful, the previous estimate remains valid.
        """
        self.warning = ''
        before, self.unavailable_reason = self.unavailable_reason, self._problem(state)
        if self.unavailable_reason:
            self.tare.restart()
            return None
        merged = state.ages is not None
        accepted = self.samples.take(state, merged=merged, consistent=self._explains)
        for sample in accepted:
            self.estimated_state, self.external = sample, self._estimate(sample)
        if self.samples.problem:
            self.unavailable_reason, self.external = self.samples.problem, None
            self.tare.restart()
        elif not accepted and self.external is None:
            self.unavailable_reason = before or WAITING
        self.update_warning(state.time)
        return self.external

    def _problem(self, state: RobotState) -> str:
        """Returns why a state does not allow an estimate; empty if it does."""
        if state.effort_missing:
            text = f'no effort of {", ".join(state.effort_missing)}'
            return Explanation(Reason.EFFORT_MISSING, text)
        if not state.time:
            text = 'joint_states carry no stamp, which the observer needs'
            return Explanation(Reason.STAMP_MISSING, text)
        if state.overdue is None:
            return ''
        overdue = state.overdue & (np.abs(state.v) > self._at_rest)
        if not overdue.any():
            return ''
        names = [name for name, i in self.robot.joint_v_indices.items() if overdue[i]]
        if any(name in state.not_finite for name in names):
            return describe_not_finite(state.not_finite)
        listed = Names(tuple(names), ', '.join(names) or 'the base')
        return Explanation(Reason.JOINTS_STALE, 'no news of joints that were moving: ', listed)

    def _estimate(self, state: RobotState) -> ExternalTorques | None:
        """Estimates external torques from a plausible state; None if that is impossible."""
        self.unavailable_reason = self.warning = ''
        q, v, effort, time = state.q, state.v, state.effort, state.time
        watch, runs, measured = self.effort_watch, self.samples.effort_runs, v
        if state.velocity_missing or self.lacking:
            measured, v = self._without_velocity(state)
        checks = self.checks_are_due(time)
        if watch.contradicts(q, v, effort, runs):
            self._reject_efforts()
            return None
        if checks:
            self.effort_check.add(time, q, v, effort)
        compared = self._compare(self.observer.update(time, q, measured, effort), state, v)
        if compared is None:
            return None
        if compared.excess > 0.0:
            thresholds = self.detector.constants[0] + compared.added
            if watch.stands_still(v, compared.values, thresholds, runs):
                self._reject_efforts()
                return None
        report = self.detector.take(time, compared)
        if checks and not self.lacking and not state.stale:
            self.check_residuals(time, v, compared, report)
        return ExternalTorques(compared.values, report, compared.deviation)

    def _without_velocity(self, state: RobotState) -> tuple[Array, Array]:
        """Returns velocities with zeros for the observer, and others from the state before."""
        before, self._before = self._before, state
        seen = self.lacking | dict.fromkeys(state.velocity_missing, state.time)
        lacking = {x: at for x, at in seen.items() if 0 <= state.time - at < LACKING}
        changed, self.lacking = lacking.keys() != self.lacking.keys(), lacking
        if changed:
            # The momentum of joints without velocity is not part of the balance; of those that
            # report one now and then neither, since each change is a start anew.
            self.observer.reset()
        if not lacking:
            self._before = None
            return state.v, state.v
        names = [name for name in self.joint_names if name in lacking]
        measured, v = state.v.copy(), state.v.copy()
        measured[[self.robot.joint_v_indices[name] for name in names]] = 0.0
        missing = [self.robot.joint_v_indices[name] for name in state.velocity_missing]
        v[missing] = 0.0
        if before is not None and state.time > before.time:
            change = self.robot.difference(before.q, state.q)
            v[missing] = change[missing] / ((state.time - before.time) * 1e-9)
        text = 'joints without velocity count as at rest; not valid while they move: '
        if len(names) == len(self.joint_names):
            text = 'by gravity alone, not valid in motion: no velocity of '
        self.warning = Explanation(Reason.VELOCITY_MISSING, text + ', '.join(names))
        return measured, v

    def _explains(self, *states: RobotState) -> bool:
        """Whether the second of two states is explained better with the first one."""
        lacking = [self.robot.joint_v_indices[name] for name in self.lacking]
        kept = ~np.isin(np.arange(self.robot.nv), lacking)
        return self.observer.explains(*(x._replace(v=x.v * kept) for x in states))

    def _compare(self, raw: Array, state: RobotState, v: Array) -> Compared | None:
        """Compares the observer's output ``raw`` with the thresholds."""
        observer, event = self.observer, self.observer.event
        if event in RESTARTS:
            self.tare.restart()
            self.samples.restart(state)
            self.measures = True
            self.detector.stamp = -1
        if not observer.settled:
            why = 'the observer has not settled since: '
            self.unavailable_reason = Explanation(Reason.OTHER, why, observer.restart)
            return None
        if event is UPDATED or event not in IGNORED:
            if self.measures:
                self._measure_interval(observer.interval)
            self.tare.add(state.time, raw, v)
        ignored, load = state.stale_mask if state.stale else None, self.load(state.effort, raw)
        return self.detector.compare(state.time, raw - self.tare.offset, ignored, v, load)

    def load(self, effort: Array, raw: Array) -> Array | None:
        """Returns the torque (..., nv) that the joints carry in the model; None if not needed."""
        model = self.observer.effort_model
        if not self.detector.calibrated:
            return None
        # An external push is not part of the load.
        return np.asarray(model.scale * effort + model.offset + raw)

    def checks_are_due(self, stamp: int) -> bool:
        """Whether the slow checks are due at a state [ns], once per ``CHECK_PERIOD``."""
        if self.checked <= stamp < self.next_check:
            return False
        self.checked, self.next_check = stamp, stamp + CHECK_PERIOD
        return True

    def check_residuals(
        self, stamp: int, v: Array, compared: Compared, report: ContactReport
    ) -> None:
        """Adds a sample to the comparison of torques with their stated deviation."""
        if self.observer.event in IGNORED:
            return
        values, stated, deviation = compared.values, self._stated, compared.deviation
        raw = friction = values + self.tare.offset
        adaptation = self.adaptation
        if adaptation is not None:
            speeds = self.observer.effort_model.speeds[0]
            friction = raw - adaptation.change * np.tanh(v / speeds)
            if report.state is not NO_CONTACT or compared.excess > 0.0:
                adaptation.suspect(stamp, raw)
            if adaptation.suspected(stamp):
                friction = np.full_like(raw, np.nan)
        if deviation is not None:
            # Scaled to the deviation that is stated at rest.
            known = np.isfinite(stated) & (deviation > 0.0)
            values = values * np.divide(stated, deviation, np.ones_like(values), where=known)
        above = np.zeros_like(raw)
        if not self.values.thresholds.contact:
            # Given thresholds are those of a user, and stay.
            threshold = self.detector.constants[0] + compared.added
            above = np.abs(compared.values) - threshold + self.residuals.increase
        self.residuals.add(values + self.tare.offset, v, above, friction)

    def _apply_friction(self) -> None:
        """Passes the adapted dry friction to the observer."""
        if self.adaptation is not None:
            model = self.observer.effort_model.with_values(coulomb=self.adaptation.coulomb)
            self.observer.change_effort_model(model)

    def _reject_efforts(self) -> None:
        """Reports why efforts are invalid; the observer restarts once they are valid again."""
        self.unavailable_reason = self.effort_watch.reason
        self.observer.reset()
        self.tare.restart()

    def wrenches(
        self, state: RobotState, external: Array, deviation: Array | None = None
    ) -> tuple[WrenchEstimate, ...]:
        """Estimates the wrench at each contact frame, excluding stale joints.

        Empty until the kernel is compiled: plain Python is too slow for the joint state rate.

        Args:
            state: the robot state.
            external: (nv) external torques.
            deviation: (nv) their deviation without contact; None uses that of the last state.
        """
        if not self.wrenches_ready():
            return ()
        return self.estimator.estimate(state.q, external, *self.noise_at(state, deviation))

    def wrenches_ready(self) -> bool:
        """Whether the wrench kernel is compiled; otherwise ``warning`` says so."""
        if not self.estimator.ready:
            self.warning = self.warning or NO_KERNEL.format('wrenches')
        return self.estimator.ready

    def noise_at(
        self, state: RobotState, deviation: Array | None = None
    ) -> tuple[NDArray[np.bool_] | None, Array | None]:
        """Returns the mask of ignored joints and the deviation beyond the stated one at rest."""
        excess = self.detector.beyond_rest(deviation)
        if self.uncertain_frames:
            more = self.residuals.excess
            excess = more if excess is None else np.hypot(excess, more)
        return state.stale_mask if state.stale else None, excess

    def reset(self) -> None:
        """Clears a latched collision and restarts the observer; the tare stays."""
        self.observer.reset()
        self.samples.restart()
        self._before = self.external = None
        self.lacking = {}
        self.detector.reset()
        self.tare.restart()

    def compile(self, *, wait: bool = False) -> None:
        """Compiles the kernels; unless ``wait`` is set, a large one may finish later."""
        self.robot.kernel('gravity')
        self.estimator.compile(wait=wait)
        if self.feet is not None:
            self.feet.compile(wait=wait)
            self.robot.kernel('torque_on_bodies')
        self._update_noise()

    @property
    def torque_deviations(self) -> Array:
        """(nv) deviation of external torques without contact at rest; inf if a joint is unused."""
        return np.asarray((self.detector.constants[0] - self.residuals.increase) / self._sigmas)

    def _measure_interval(self, interval: float) -> None:
        """Updates noise and thresholds if the sample interval is another one [s]."""
        self.measures = False
        if interval > 0.0 and abs(interval / self._interval - 1.0) > SAME_INTERVAL:
            self._interval = interval
            self._update_noise()

    def _update_noise(self) -> None:
        """Updates noise levels and thresholds of the estimators for the sample interval."""
        rows, residuals, given = self._rows, self.residuals, self.values.thresholds
        if self._momentum_noise is None:
            velocity_noise = rows['effort.velocity_noise']
            self._momentum_noise = largest_momentum_noise(self.robot, velocity_noise)
        gains = self.observer.noise_gains(self._interval)
        own, self._stated = (
            external_torque_noise(gains, rows['effort.noise'], momentum, rows['effort.model_error'])
            for momentum in (0.0 * self._momentum_noise, self._momentum_noise)
        )
        self.estimator.change_noise(own, gains.momentum)
        if self.feet is not None:
            self.feet.change_noise(own, gains.momentum)
        contact, collision = rows['thresholds.contact'], rows['thresholds.collision']
        if not given.contact:
            contact = self._sigmas * self._stated
        raised = contact + residuals.increase
        if not given.collision:
            # What is no contact is no collision either.
            collision = np.maximum.reduce([collision, 2.0 * contact, raised])
        self.detector.change_thresholds(raised, collision)
        self.detector.change_noise(self._stated, self._sigmas)
        self.uncertain_frames = frozenset(
            frame for frame in self.frames if residuals.excess[moving(self.robot, (frame,))].any()
        )

    def update_warning(self, stamp: int) -> None:
        """Judges residuals and adapts friction if that is due, and composes ``warning``."""
        residuals = self.residuals
        if residuals.fresh >= CHECK_EVERY:
            if residuals.judge(self.tare.offset, self._stated):
                self._update_noise()
            if self.adaptation is not None:
                self.adaptation.update(stamp, residuals.excess_friction())
                self._apply_friction()
        report = self.effort_check.report
        if not self.warning:
            if report is not None and report.advice:
                zeros = report.verdict is EffortVerdict.ZEROS
                reason = Reason.EFFORTS_INVALID if zeros else Reason.EFFORTS_UNEXPECTED
                self.warning = Explanation(reason, report.advice)
            elif refused := self.samples.recent(stamp):
                self.warning = Explanation(Reason.OTHER, 'refused: ', refused)
            elif self.feet is not None and not self.feet.ready:
                self.warning = NO_KERNEL.format('foot contacts')
        if residuals.advice:
            self.warning = Explanation.joined((self.warning, residuals.advice))


def index_of(places: Sequence[int]) -> Any:
    """Returns an array index for these entries: a slice, which needs no copy, if possible."""
    first = places[0] if places else 0
    in_a_row = list(places) == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if in_a_row else np.array(places, dtype=np.intp)
