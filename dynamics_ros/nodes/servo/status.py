"""What a servo says it is doing, and what slows or halts it."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from dynamics_ros.inverse_kinematics.differential import ServoStep
from dynamics_ros.nodes.app.managed import FINALIZED, INACTIVE, UNCONFIGURED
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.wire.conversions import diagnostic_status

PERIOD = 0.1
"""Seconds between two messages; a change is told at once."""

STOPPING, PAUSED, READY = 'stopping', 'paused', 'waiting for a command'

FINE = (STOPPING, READY, PAUSED, UNCONFIGURED, INACTIVE, FINALIZED)
"""What it may say beside that it follows something, without being in trouble."""


class ServoStatus:
    """The topic ~/status.

    Attributes:
        output: the topic.
        said: its last text.
    """

    def __init__(self, node: Node) -> None:
        self.output = Output(node, DiagnosticStatus, '~/status')
        self.said = ''
        self._name = f'{node.get_name()}: servo'
        self._time = 0.0

    def tell(self, text: str, robot: str, lifecycle: str, step: ServoStep | None) -> None:
        """Say what it is doing, if that is new or has not been said for ``PERIOD``.

        Args:
            text: in words.
            robot: its name; '' without one.
            lifecycle: state of the managed node.
            step: of the motion that goes on; None where none does.
        """
        now = time.monotonic()
        if text == self.said and now - self._time < PERIOD:
            return
        self.said, self._time = text, now
        # What slows it down comes after a semicolon.
        fine = text in FINE or (text.startswith('following') and '; ' not in text)
        values = {'lifecycle': lifecycle} | ({} if step is None else _values(step))
        level = DiagnosticStatus.OK if fine else DiagnosticStatus.WARN
        self.output.publish(diagnostic_status(level, self._name, text, robot, values))


def following(target: str, step: ServoStep) -> str:
    """That it follows a target, and what slows it down."""
    notes = []
    if step.near_singularity:
        notes.append('near a singularity')
    stuck = sorted(name for name, kind in step.at_limit.items() if kind == 'position')
    if stuck:
        notes.append(f'at the limit of {", ".join(stuck)}')
    return '; '.join([f'following {target}', *notes])


def _values(step: ServoStep) -> dict[str, str]:
    return {
        'speed': f'{step.speed:.3f}',
        'condition number': f'{step.condition:.1f}',
        'near singularity': str(step.near_singularity).lower(),
        'at limit': ', '.join(f'{name}: {kind}' for name, kind in step.at_limit.items()),
    }
