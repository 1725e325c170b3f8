# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Computes the figures of a round from node outputs and ground truth, in small steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .client import Client, Contact, Wrench
from .continuity import Continuity
from .report import MAX_DETECTION_TIME, MIN_RATE, POSE_TOLERANCE, PUSH_TOLERANCE, Report
from .subject import Subject
from .tracks import Track, pose_error

Array = NDArray[np.float64]
Item = TypeVar('Item')

_BEFORE = 400_000_000  # ns before the push in which no contact may be reported
_SETTLED = 0.4  # share of the push after which it is in steady state
_EDGE = 50_000_000  # ns excluded at the end of the push
_MIN_SAMPLES = 10
_MAX_POSES = 1000
_MAX_SAMPLES = 50  # largest number of samples whose true value takes a millisecond or more


class Measures:
    """Fills a report with figures.

    Args:
        report: the report.
        client: the received messages.
        subject: the robot.
        tick: called after each small step, so that the display continues meanwhile.
        first: first stamp of the round [ns].
    """

    def __init__(
        self,
        report: Report,
        client: Client,
        subject: Subject,
        tick: Callable[[], None] = lambda: None,
        first: int = 0,
    ) -> None:
        self._report, self._client, self._subject = report, client, subject
        self._tick, self._first = tick, first

    def rate(self, messages: int, seconds: float) -> None:
        """Rate of joint states, from their number and a time [s]."""
        rate = messages / seconds if seconds > 0.0 else 0.0
        self._report.joint_state_rate_hz = rate
        if rate < MIN_RATE:
            self._report.came_late('joint states', f'only {rate:.0f} a second')

    def poses(self) -> None:
        """Error of the published poses, relative to those of the simulator."""
        report, client = self._report, self._client
        matched = client.pose.matched(client.true_pose, self._first, most=_MAX_POSES)
        errors = [pose_error(A, B) for _, A, B in self._with_ticks(matched)]
        report.pose_samples = len(errors)
        if not self._has_enough_samples(
            'pose of the tool', len(errors), client.pose, client.true_pose
        ):
            return
        report.pose_error_m, report.pose_error_rad = (float(e) for e in np.max(errors, axis=0))
        report.require(
            max(report.pose_error_m, report.pose_error_rad) <= POSE_TOLERANCE,
            f'the pose is off by {report.pose_error_m:.1e} m, {report.pose_error_rad:.1e} rad',
        )

    def gravity(self) -> None:
        """Error of the published gravity torques, by the gradient of the potential energy."""
        report, client = self._report, self._client
        matched = client.gravity.matched(client.joint_states, self._first, most=_MAX_SAMPLES)
        truth, errors = [], []
        for _, tau, state in self._with_ticks(matched):
            true = self._subject.reference.gravity_torques(state.q)
            truth.append(true)
            errors.append(tau - true)
        report.gravity_samples = len(errors)
        if not self._has_enough_samples(
            'gravity torques', len(errors), client.gravity, client.joint_states
        ):
            return
        report.gravity_torque_error_nm = float(np.max(np.abs(errors)))
        report.require_torque('gravity torques', report.gravity_torque_error_nm, np.array(truth))

    def push(self, quiet: int, duration: float) -> None:
        """Detection and estimate of a push after the stamp ``quiet`` [ns], of a duration [s]."""
        report, client = self._report, self._client
        pushed, calm = [], quiet
        for t, wrench in self._with_ticks(client.true_wrench.items(quiet)):
            if np.any(wrench.values):
                pushed.append(t)
            elif not pushed:
                calm = t
        if not pushed:
            seen = client.true_wrench.newest - quiet >= duration * 1e9
            if seen and self._has_full_rate(client.true_wrench, quiet):
                report.require(False, 'the simulator did not push')
            else:
                report.came_late('push', 'the simulator is behind')
            return
        # The push began after ``calm``: its first messages may have been missed.
        began = pushed[0]
        end = min(began + round(duration * 1e9), pushed[-1])
        steady = began + round(_SETTLED * duration * 1e9)
        # Outputs of one state are published together, but each can be lost on the way. All are
        # taken now: tracks drop the oldest messages meanwhile.
        wrenches = client.wrench.stamps(quiet - 2 * _BEFORE, end)
        contacts = list(self._with_ticks(client.contact.items(quiet - 2 * _BEFORE, end)))
        self._force(Continuity(wrenches), steady, end - _EDGE)
        continuity = Continuity([t for t, _ in contacts] or wrenches)
        contacts = [(t, contact) for t, contact in contacts if t >= quiet - _BEFORE]
        self._detection(continuity, contacts, calm, began)
        links = [contact.link for t, contact in contacts if steady <= t <= end - _EDGE]
        report.contact_link = links[-1] if links else ''

    def _detection(
        self, continuity: Continuity, contacts: list[tuple[int, Contact]], calm: int, began: int
    ) -> None:
        report, reported, missed = self._report, None, False
        early = 0
        latest = began + round(MAX_DETECTION_TIME * 1e6)
        for t, contact in contacts:
            if t >= began and contact.touched:
                reported = t
                break
            if continuity.settled(t):
                early += t <= calm and contact.touched
                missed |= t > latest
        report.require(not early, f'{early} messages tell of a contact before the push')
        if reported is not None:
            report.push_detected_after_ms = (reported - began) * 1e-6
            how = f'the push was detected only after {report.push_detected_after_ms:.0f} ms'
            if report.push_detected_after_ms <= MAX_DETECTION_TIME:
                return
        else:
            how = 'the push was not detected'
        if missed or continuity.settled(latest):
            report.require(False, how)
        else:
            report.came_late('contact', f'{how}, joint states were missed')

    def _force(self, continuity: Continuity, first: int, last: int) -> None:
        report, client, subject = self._report, self._client, self._subject
        poses = dict(self._with_ticks(client.true_pose.items(first, last)))
        matched = self._with_ticks(client.wrench.matched(client.true_wrench, first, last))
        samples = [
            (t, wrench_in_root(true, poses[t], subject), wrench_in_root(found, poses[t], subject))
            for t, found, true in matched
            if t in poses
        ]
        if not subject.observable:
            states = dict(self._with_ticks(client.joint_states.items(first, last)))
            samples = [sample for sample in samples if sample[0] in states]
        report.push_samples = len(samples)
        if not self._has_enough_samples(
            'push', len(samples), client.wrench, client.true_wrench, first, last
        ):
            return
        times = [t for t, *_ in samples]
        true, found = (np.array([sample[side] for sample in samples]) for side in (1, 2))
        report.push_true = true[:, :3].mean(axis=0).tolist()
        report.push_estimated = found[:, :3].mean(axis=0).tolist()
        report.push_true_n = float(np.linalg.norm(report.push_true))
        report.push_estimated_n = float(np.linalg.norm(report.push_estimated))
        if subject.observable:
            true, found = true[:, :3], found[:, :3]
        else:
            # Several wrenches have the same joint torques, so the torques are compared.
            report.push_compared = 'joint torques'
            J = [
                subject.reference.jacobian(states[t].q, subject.tool)
                for t in self._with_ticks(times)
            ]
            true, found = (np.einsum('tij,ti->tj', J, wrenches) for wrenches in (true, found))
        sizes = np.linalg.norm(true, axis=1)
        if not sizes.all():
            report.require(False, f'no force at {report.tool} can be felt in the joints')
            return
        errors = np.linalg.norm(found - true, axis=1) / sizes * 100.0
        if np.median(errors) >= PUSH_TOLERANCE:
            settled = [continuity.settled(t) for t in times]
            if sum(settled) < _MIN_SAMPLES:
                report.came_late('push', f'off by {np.median(errors):.1f} %, states were missed')
                return
            errors = errors[settled]
        report.push_error_percent = float(np.median(errors))
        report.push_error_max_percent = float(errors.max())
        report.require(
            report.push_error_percent < PUSH_TOLERANCE,
            f'the estimated push is off by {report.push_error_percent:.1f} % '
            f'({report.push_compared})',
        )

    def _has_enough_samples(
        self,
        what: str,
        samples: int,
        ours: Track[Any],
        truth: Track[Any],
        first: int | None = None,
        last: int | None = None,
    ) -> bool:
        """Whether there are enough samples; otherwise note a failure, or a slow machine."""
        if samples >= _MIN_SAMPLES:
            return True
        first = self._first if first is None else first
        how = f'{samples} samples with the stamp of a true one, too few to compare'
        if self._has_full_rate(ours, first, last) and self._has_full_rate(truth, first, last):
            self._report.require(False, f'{what}: {how}')
        else:
            self._report.came_late(what, how)
        return False

    def _has_full_rate(self, track: Track[Any], first: int, last: int | None = None) -> bool:
        """Whether messages of a topic arrived at ``MIN_RATE`` or more."""
        stamps = track.stamps(first, last)
        states = self._client.joint_states.stamps(first, last)
        seconds = (states[-1] - states[0]) * 1e-9 if states else 0.0
        return len(stamps) > _MIN_SAMPLES and len(stamps) >= MIN_RATE * seconds

    def _with_ticks(self, items: Iterable[Item]) -> Iterator[Item]:
        """Iterate over items, with a tick after each."""
        for item in items:
            yield item
            self._tick()


def wrench_in_root(wrench: Wrench, tool: Array, subject: Subject) -> Array:
    """Wrench (6) about the tool's origin in root axes.

    Args:
        wrench: wrench in the axes of the tool or of the root frame.
        tool: pose (4, 4) of the tool in the root frame.
        subject: the robot.
    """
    if wrench.frame_id != subject.tool:
        return wrench.values
    R = tool[:3, :3]
    return np.concatenate([R @ wrench.values[:3], R @ wrench.values[3:]])
