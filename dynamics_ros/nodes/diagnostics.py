# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topic /diagnostics as in REP 107: one line on why a node is silent, and detailed values."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from dynamics_ros.estimation.samples.robot_state import describe_not_finite, describe_stale
from dynamics_ros.nodes.context import Component, RobotContext
from dynamics_ros.nodes.outputs import RELIABLE
from dynamics_ros.nodes.reporting import steady_timer
from dynamics_ros.reasons import KEY, Explanation, Reason, reason_of
from dynamics_ros.wire.conversions import diagnostic_status, header

PERIOD = 1.0
"""Period of the reports [s]; a change is reported at once."""

AGAIN = 60.0
"""Time for which a warning about outputs is not logged again for the same cause and joint [s]."""

START_TIME = 5.0
"""Time within which processes that are started together usually discover each other [s]."""

LOGGED = frozenset(
    {
        Reason.CHANGE_REFUSED,
        Reason.POSITION_NOT_FINITE,
        Reason.POSITIONS_BEYOND_LIMITS,
    }
)
"""Reasons that are logged where they are detected."""

SILENCE_TIMEOUT = 1.0
"""Time without joint states after which they count as stopped [s]."""


class Diagnostics:
    """Diagnostics of a component, published periodically and at once when the message changes."""

    def __init__(self, context: RobotContext, component: Component[Any]) -> None:
        self._context = context
        self._component = component
        self._node: Any = component.node
        self._publisher = component.node.create_publisher(DiagnosticArray, '/diagnostics', RELIABLE)
        self._last_summary: tuple[bytes, Explanation] | None = None
        self._logged: set[tuple[bytes, str, str]] = set()
        self._again: dict[tuple[bytes, str, str], float] = {}
        self._refused = 0
        self._waiting_since = math.inf
        context.on_change.append(self.report_change)

    def report_change(self) -> None:
        """Report now if the level or the message has changed."""
        summary = self._summary()
        if summary != self._last_summary:
            self._report(summary)

    def report(self) -> None:
        """Publish a report, and log its message once."""
        if self._context.components[0] is self._component:
            self._context.inputs.update_statistics()
        summary = self._summary()
        self._report(summary)
        self._log(summary)
        self._refused = self._refused_total()

    def _report(self, summary: tuple[bytes, Explanation]) -> None:
        level, message = summary
        namespace = self._node.get_namespace().strip('/')
        name = f'{namespace}/{self._node.get_name()}' if namespace else self._node.get_name()
        robot = self._context.robot.name if self._context.robot else ''
        values = {KEY: message.reason.value} | self._values()
        status = diagnostic_status(level, f'{name}: outputs', message, robot, values)
        self._last_summary = summary
        stamp = self._context.now()
        self._publisher.publish(DiagnosticArray(header=header(stamp), status=[status]))

    def _log(self, summary: tuple[bytes, Explanation]) -> None:
        """Log a message once, and not yet while inputs are expected to arrive at start.

        A message is known by its cause and joints, without figures. A warning about outputs that
        comes and goes is not logged again for ``AGAIN``.
        """
        level, message = summary
        if self._still_starting() or message.reason in LOGGED:
            return
        keys, now = {(level, *key) for key in message.keys}, time.monotonic()
        if keys <= self._logged:
            return
        if level == DiagnosticStatus.WARN and not self._component.unavailable_reason:
            if all(now < self._again.get(key, -math.inf) for key in keys):
                return
            self._again |= dict.fromkeys(keys, now + AGAIN)
        log = self._node.get_logger()
        (log.info if level == DiagnosticStatus.OK else log.warning)(message)
        self._logged = keys

    def _still_starting(self) -> bool:
        """Whether a missing input may still arrive, as at every start."""
        inputs, changes = self._context.inputs, self._context.changes
        waiting = inputs.state is None and not (changes.refusal or self._component.problem)
        now = time.monotonic()
        if not waiting:
            self._waiting_since = math.inf
            return False
        self._waiting_since = min(self._waiting_since, now)
        return changes.building or now - self._waiting_since < START_TIME

    def _refused_total(self) -> int:
        buffer = self._context.buffer
        return sum(buffer.refused.values()) if buffer else 0

    def _summary(self) -> tuple[bytes, Explanation]:
        level, prefix, problem = self._problem()
        return level, Explanation(reason_of(problem), prefix, problem)

    def _problem(self) -> tuple[bytes, str, str]:
        """Return the level, the beginning of the message, and the explanation; '' without one."""
        error, warn = DiagnosticStatus.ERROR, DiagnosticStatus.WARN
        silent, publishing = 'silent: ', 'publishing; '
        context, component = self._context, self._component
        inputs, changes, buffer = context.inputs, context.changes, context.buffer
        refusal = Explanation(Reason.CHANGE_REFUSED, changes.refusal)
        if context.robot is None or buffer is None:
            if changes.building:
                being_built = 'the robot is being made ready'
                return warn, silent, Explanation(Reason.PREPARING, being_built)
            if refusal:
                return error, silent, refusal
            source = inputs.describe_publishers('robot_description')
            text = f'waiting for robot_description: {source}'
            return warn, silent, Explanation(Reason.WAITING_FOR_DESCRIPTION, text)
        if inputs.immobile:
            return warn, silent, inputs.waiting_for()
        if component.problem:
            return error, silent, Explanation(Reason.ROBOT_UNSUITABLE, component.problem)
        if inputs.state is None:
            return warn, silent, inputs.waiting_for()
        if inputs.age() > SILENCE_TIMEOUT:
            return error, silent, inputs.describe_stopped()
        prefix = silent if component.unavailable_reason else publishing
        not_finite = describe_not_finite(buffer.not_finite)
        if implausible := not_finite or inputs.doubts.positions:
            # Other problems are consequences of this one.
            return warn, prefix, implausible
        if component.unavailable_reason:
            return warn, silent, component.unavailable_reason
        if missing := [output.topic for output in self._node.outputs if output.missing]:
            text = f'but not {"; ".join(missing)}'
            return error, 'publishing, ', Explanation(Reason.OUTPUT_MISSING, text)
        if refusal:
            return error, '', refusal
        if self._refused_total() > self._refused:
            refused = Explanation(Reason.MESSAGES_REFUSED, 'some messages were refused')
            return warn, publishing, refused
        if problem := describe_stale(inputs.state) or component.warning:
            return warn, publishing, problem
        if component.uses_masses and context.robot.model.doubt:
            masses = Explanation(Reason.MASSES_MISSING, context.robot.model.doubt)
            return warn, publishing, masses
        return DiagnosticStatus.OK, 'publishing to subscribers', ''

    def _values(self) -> dict[str, str]:
        context, inputs = self._context, self._context.inputs
        lost, age = inputs.incoming.lost(), inputs.age()
        values = {
            'joint_states rate [Hz]': f'{inputs.rate:.1f}',
            'joint_states age [s]': 'never' if math.isinf(age) else f'{age:.3f}',
            'joint_states not answered, newer ones waited': str(inputs.incoming.superseded),
            'joint_states lost on the way': 'unknown' if lost is None else str(lost),
        }
        if context.built is not None:
            values |= context.built.details()
        buffer = context.buffer
        if buffer is not None:
            values['missing joints'] = ', '.join(buffer.missing())
            if buffer.passive is not None and not buffer.missing():
                values['joints computed from loops'] = ', '.join(buffer.passive.names)
            values['joints not finite'] = ', '.join(buffer.not_finite)
            values['joint_states late: dropped'] = str(buffer.timeline.dropped)
            values['clock of joint_states'] = buffer.timeline.describe_jumps()
            values |= _counts('refused', buffer.refused)
            values |= _counts('ignored joint', buffer.unknown_names)
        if inputs.state is not None:
            values['stale joints'] = ', '.join(inputs.state.stale)
        if context.changes.refusal:
            values['refused change'] = context.changes.refusal
        counts = {**context.faults.counts, **self._component.faults.counts}
        values |= {key: str(count) for key, count in counts.items()}
        for output in self._node.outputs:
            if output.missing:
                values[f'{output.topic} is missing'] = output.missing
                continue
            values[f'{output.topic} published'] = str(output.published)
        return values | self._component.details()


def _counts(what: str, counts: Mapping[str, int]) -> dict[str, str]:
    return {f'{what}: {name}': str(count) for name, count in counts.items()}


def start_reports(node: Node, reports: Sequence[Diagnostics]) -> None:
    """Publish each report once per ``PERIOD``, evenly spaced so as not to delay joint states."""
    turn = cycle(reports)
    # A steady timer, so that diagnostics continue while a simulated clock is stopped.
    steady_timer(node, PERIOD / len(reports), lambda: next(turn).report())
