# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topic /diagnostics as in REP 107: one line on why a node is silent, and detailed values."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from itertools import cycle

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from dynamics_ros.nodes.output.outputs import RELIABLE
from dynamics_ros.nodes.output.plan import describe_stale
from dynamics_ros.nodes.reporting.clocks import steady_timer
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.wire.conversions import diagnostic_status, header

PERIOD = 1.0
"""Period of the reports [s]; a change is reported at once."""

JUMP_REPORT_TIME = 30.0
"""Time for which a clock that was set back is reported in the message [s]."""

CLOCK = 'clock of joint_states'
"""Key of the value about clock jumps."""

START_TIME = 5.0
"""Time within which processes that are started together usually discover each other [s]."""

GRAPH_PERIOD = 2.0
"""Period between two queries of the ROS graph for nodes of the same name [s]."""

SILENCE_TIMEOUT = 1.0
"""Time without joint states after which they count as stopped [s]."""


class Diagnostics:
    """Diagnostics of a component, published periodically and at once when the message changes."""

    def __init__(self, context: RobotContext, component: Component) -> None:
        self._context = context
        self._component = component
        self._node = component.node
        self._publisher = component.node.create_publisher(DiagnosticArray, '/diagnostics', RELIABLE)
        self._last_summary: tuple[bytes, str] | None = None
        self._logged: tuple[bytes, str] | None = None
        self._published: dict[str, int] = {}
        self._refused = 0
        self._jumps, self._last_jump = 0, -math.inf
        self._waiting_since = math.inf
        self._next_graph_check, self._duplicates = 0.0, ''
        context.on_change(self.report_change)

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

    def _report(self, summary: tuple[bytes, str]) -> None:
        level, message = summary
        namespace = self._node.get_namespace().strip('/')
        name = f'{namespace}/{self._node.get_name()}' if namespace else self._node.get_name()
        robot = self._context.robot.name if self._context.robot else ''
        status = diagnostic_status(level, f'{name}: outputs', message, robot, self._values())
        self._last_summary = summary
        stamp = self._context.now()
        self._publisher.publish(DiagnosticArray(header=header(stamp), status=[status]))

    def _log(self, summary: tuple[bytes, str]) -> None:
        """Log a message once, and not yet while inputs are expected to arrive at start."""
        level, message = summary
        if self._still_starting():
            return
        # Refusals and implausible joint states have already been logged elsewhere.
        known = self._context.changes.refusal, *self._context.inputs.doubts.problems
        if summary != self._logged and not any(text and text in message for text in known):
            # Two calls, because rclpy allows only one severity for each line of code.
            if level == DiagnosticStatus.OK:
                self._node.get_logger().info(message)
            else:
                self._node.get_logger().warning(message)
        self._logged = summary

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

    def _summary(self) -> tuple[bytes, str]:
        level, message = self._output_summary()
        duplicates = self._duplicate_names()
        if duplicates:
            level, message = max(level, DiagnosticStatus.WARN), f'{message}; {duplicates}'
        return level, message

    def _duplicate_names(self) -> str:
        """Return how many nodes have the name of this one, and so share its topics; '' if none.

        The text is at most ``GRAPH_PERIOD`` old.
        """
        now, node = time.monotonic(), self._node
        if now >= self._next_graph_check:
            self._next_graph_check = now + GRAPH_PERIOD
            own = node.get_name(), node.get_namespace()
            count = node.get_node_names_and_namespaces().count(own)
            name = node.get_fully_qualified_name()
            self._duplicates = f'{count} nodes are named {name}' if count > 1 else ''
        return self._duplicates

    def _output_summary(self) -> tuple[bytes, str]:
        context, component = self._context, self._component
        inputs, changes = context.inputs, context.changes
        if context.robot is None:
            if changes.building:
                return DiagnosticStatus.WARN, 'silent: the robot is being made ready'
            if changes.refusal:
                return DiagnosticStatus.ERROR, f'silent: {changes.refusal}'
            source = inputs.publishers.describe('robot_description')
            return DiagnosticStatus.WARN, f'silent: waiting for robot_description: {source}'
        if inputs.immobile:
            return DiagnosticStatus.WARN, f'silent: {inputs.waiting_for()}'
        if component.problem:
            return DiagnosticStatus.ERROR, f'silent: {component.problem}'
        if inputs.state is None:
            reason = inputs.waiting_for()
            if inputs.joint_states.count == 0 and self._refused_total():
                reason = f'{reason}; all joint_states so far were refused'
            return DiagnosticStatus.WARN, f'silent: {reason}'
        if inputs.joint_states.age() > SILENCE_TIMEOUT:
            return DiagnosticStatus.ERROR, f'silent: {inputs.describe_stopped()}'
        if implausible := inputs.doubts.positions or inputs.doubts.contradiction:
            # Other problems are consequences of this one.
            prefix = 'silent:' if component.silence else 'publishing;'
            return DiagnosticStatus.WARN, f'{prefix} {implausible}'
        if component.silence:
            return DiagnosticStatus.WARN, f'silent: {component.silence}'
        missing = [output.topic for output in component.outputs() if output.missing]
        if missing:
            return DiagnosticStatus.ERROR, f'publishing, but not {"; ".join(missing)}'
        if changes.refusal:
            return DiagnosticStatus.ERROR, changes.refusal
        if self._refused_total() > self._refused:
            return DiagnosticStatus.WARN, 'publishing; some messages were refused'
        if self._recently_jumped():
            assert context.buffer is not None, 'a clock jump requires a buffer'
            return DiagnosticStatus.WARN, f'publishing; {CLOCK} {context.buffer.timeline.jumps}'
        if inputs.state.stale:
            return DiagnosticStatus.WARN, f'publishing; {describe_stale(inputs.state)}'
        if caution := inputs.doubts.twists.missing or component.caution:
            return DiagnosticStatus.WARN, f'publishing; {caution}'
        if component.uses_masses and context.robot.model.doubt:
            return DiagnosticStatus.WARN, f'publishing; {context.robot.model.doubt}'
        return DiagnosticStatus.OK, 'publishing to whoever listens'

    def _recently_jumped(self) -> bool:
        """Whether the clock of joint states was set back within ``JUMP_REPORT_TIME``."""
        buffer, now = self._context.buffer, time.monotonic()
        jumps = buffer.timeline.jumps.count if buffer else 0
        if jumps != self._jumps:
            self._jumps, self._last_jump = jumps, now
        return now - self._last_jump < JUMP_REPORT_TIME

    def _values(self) -> dict[str, str]:
        context, inputs = self._context, self._context.inputs
        values = {
            'joint_states rate [Hz]': f'{inputs.rate:.1f}',
            'joint_states age [s]': _age(inputs.joint_states.age()),
            'joint_states before the robot was ready': str(inputs.without_robot),
            'joint_states not answered, newer ones waited': str(inputs.incoming.superseded),
            'joint_states lost on the way': str(inputs.incoming.lost()),
        }
        if context.built is not None:
            values |= context.built.details()
        buffer = context.buffer
        if buffer is not None:
            values['missing joints'] = ', '.join(buffer.missing())
            timeline = buffer.timeline
            values |= {
                'joint_states late: dropped': str(timeline.dropped),
                'joint_states late: merged': str(timeline.merged),
                'joint_states of publishers in turn, apart [s]': f'{timeline.spread:.4f}',
                CLOCK: str(timeline.jumps) if timeline.jumps.count else 'never set back',
            }
            values |= _counts('refused', buffer.refused)
            values |= _counts('ignored joint', buffer.unknown_names)
        if inputs.state is not None:
            values['stale joints'] = ', '.join(inputs.state.stale)
        if context.changes.refusal:
            values['refused change'] = context.changes.refusal
        values |= _counts('refused', getattr(self._node, 'ignored', {}))
        faults = {**context.faults.counts, **self._component.faults.counts}
        values |= _counts('unexpected errors', faults)
        for output in self._component.outputs():
            if output.missing:
                values[f'{output.topic} is missing'] = output.missing
                continue
            before = self._published.get(output.topic, 0)
            self._published[output.topic] = output.published
            values[f'{output.topic} published'] = (
                f'{output.published} (+{output.published - before})'
            )
            if output.skipped:
                values[f'{output.topic} not published for its rate'] = str(output.skipped)
        return values | self._component.details()


def _counts(what: str, counts: Mapping[str, int]) -> dict[str, str]:
    return {f'{what}: {name}': str(count) for name, count in counts.items()}


def start_reports(node: Node, reports: Sequence[Diagnostics]) -> None:
    """Publish each report once per ``PERIOD``, evenly spaced so as not to delay joint states."""
    turn = cycle(reports)
    # A steady timer, so that diagnostics continue while a simulated clock is stopped.
    steady_timer(node, PERIOD / len(reports), lambda: next(turn).report())


def _age(age: float) -> str:
    return 'never' if math.isinf(age) else f'{age:.3f}'
