# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimates of recorded states: blocks of ordinary ones in few calls, the others one by one.

A state is ordinary if nothing has to be decided before it is estimated: it departs from nothing,
comes in time, and its efforts are surely measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.kernels.program import in_turn

from .contact.detector import Compared, ContactReport
from .contact_pipeline import CHECK_PERIOD, Array, ContactPipeline, ExternalTorques
from .samples.robot_state import RobotState
from .samples.sample_filter import RUN_ROWS
from .uncertainty.residual_watch import CHECK_EVERY

BLOCK, SINGLE = 256, 16
"""Largest and smallest number of states in a block. After one that is not ordinary as many as the
latter are estimated one by one: others often follow it."""


class Estimates(NamedTuple):
    """External torques and contact at consecutive states.

    Attributes:
        states: the n states.
        values: (n, nv) tared external torques.
        reports: contact state at each state.
        deviation: (n, nv) deviation of the values without contact, if calibrated.
        thresholds: (n, nv) contact thresholds.
    """

    states: RobotState
    values: Array
    reports: Sequence[ContactReport]
    deviation: Array | None
    thresholds: Array

    def row(self, i: int) -> ExternalTorques:
        """Returns the estimates of one state."""
        deviation = None if self.deviation is None else self.deviation[i]
        return ExternalTorques(self.values[i], self.reports[i], deviation)


def estimates_of(
    pipeline: ContactPipeline, states: RobotState, *, latches: bool = True
) -> Iterator[tuple[int, Estimates | None]]:
    """Processes consecutive states with the same results as repeated calls of ``update``.

    Args:
        pipeline: the estimators.
        states: the states.
        latches: whether a collision lasts until a reset; otherwise it ends with the contact.

    Yields:
        The number of states processed since the last yield and their estimates; None if no estimate
        is possible, with ``unavailable_reason`` set.
    """
    begin = one_by_one = 0
    while begin < states.size:
        block = None
        if begin >= one_by_one and states.size - begin >= SINGLE:
            block = _ordinary(pipeline, states.part(begin, begin + BLOCK), latches)
        if block is not None:
            begin += block.states.size
            yield block.states.size, block
            continue
        if begin >= one_by_one:
            one_by_one = begin + SINGLE
        if not latches and pipeline.detector.report.collision_latched:
            pipeline.detector.reset()
        external = pipeline.update(states.row(begin))
        begin += 1
        state = pipeline.estimated_state
        if external is None or state is None:
            yield 1, None
            continue
        values, report, deviation = external
        yield (
            1,
            Estimates(
                state.batch(),
                values[np.newaxis],
                [report],
                None if deviation is None else deviation[np.newaxis],
                pipeline.detector.thresholds[:1],
            ),
        )


def _ordinary(pipeline: ContactPipeline, states: RobotState, latches: bool) -> Estimates | None:
    """Estimates the ordinary states at the beginning of several; None if there are none."""
    samples, observer, detector = pipeline.samples, pipeline.observer, pipeline.detector
    last, watch = samples.stamp, pipeline.effort_watch
    partial = states.effort_missing or states.velocity_missing or states.stale or pipeline.lacking
    if partial or states.ages is not None or watch.reason or pipeline.unavailable_reason:
        return None
    if samples.waiting or pipeline.measures or not observer.steady:
        return None
    if last is None or not last == observer.stamp == detector.stamp:
        return None
    steps = np.diff(states.time, prepend=last)
    # A judgement of the residuals may change thresholds and friction.
    checks = CHECK_EVERY - pipeline.residuals.fresh - 1
    due = max(int(states.time[0]), pipeline.next_check) + checks * CHECK_PERIOD
    count = int(states.time.searchsorted(due)) + 1
    count = _first((steps <= 0) | (steps > samples.max_gap) | (states.time == 0), count)
    count = observer.cadence.even(states.time[:count])
    if not count or states.time[0] < pipeline.checked:
        return None
    _, q, v, effort, *_ = states.part(0, count)
    intervals = steps[:count] * 1e-9
    _, _, excess, memories = in_turn(
        samples.kernel, q, v, effort, samples.memory, intervals, samples.settings
    )
    runs = memories[:, RUN_ROWS]
    count = _first((excess > 0.0) | watch.suspicious(v, effort, runs), count)
    if not count:
        return None
    q, v, effort, intervals = q[:count], v[:count], effort[:count], intervals[:count]
    raw, torque_memories = in_turn(
        observer.kernel, q, v, effort, observer.memory, intervals, observer.settings
    )
    load = pipeline.load(effort, raw)
    values = raw - pipeline.tare.offset
    unloaded = np.zeros_like(v) if load is None else load
    inputs = values, v, unloaded, detector.memory, intervals, *detector.settings
    deviation, added, above, excess, motions = in_turn(detector.kernel, *inputs)
    times = states.time[:count]
    # The last copies are independent of the blocks, which are large.
    samples.memory, samples.stamp = memories[count - 1].copy(), int(times[-1])
    observer.go_on(times, torque_memories[count - 1].copy())
    for row in zip(times.tolist(), raw, v):
        pipeline.tare.add(*row)
    pipeline.warning = ''
    reports: list[ContactReport] = []
    while (i := len(reports)) < count:
        stamp, one = int(times[i]), deviation[i] if detector.calibrated else None
        if not latches and detector.report.collision_latched:
            detector.reset()
        compared = Compared(values[i], added[i], above[i], float(excess[i]), one)
        reports.append(detector.take(stamp, compared))
        if stamp >= pipeline.next_check and pipeline.checks_are_due(stamp):
            pipeline.effort_check.add(stamp, q[i], v[i], effort[i])
            pipeline.check_residuals(stamp, v[i], compared, reports[i])
        if detector.idle:
            # The report stays until a threshold is exceeded or a check is due.
            same = int(times.searchsorted(pipeline.next_check))
            same = i + 1 + _first(excess[i + 1 :] > 0.0, max(same - i - 1, 0))
            reports += [reports[i]] * (same - i - 1)
    detector.go_on(int(times[-1]), *(x[-1].copy() for x in (motions, added, deviation)))
    estimates = Estimates(
        states.part(0, count),
        values,
        reports,
        deviation if detector.calibrated else None,
        detector.constants[0] + added,
    )
    pipeline.estimated_state = states.row(count - 1)
    pipeline.external = estimates.row(count - 1)
    pipeline.update_warning(int(times[-1]))
    return estimates


def _first(marks: NDArray[np.bool_], count: int) -> int:
    """Returns the index of the first mark, at most ``count``."""
    return min(int(marks.argmax()) if marks.any() else len(marks), count)
