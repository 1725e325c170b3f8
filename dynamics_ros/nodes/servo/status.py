# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a servo says it is doing, and what slows or halts it."""

from __future__ import annotations

from rclpy.node import Node

from dynamics_ros.inverse_kinematics.differential import ServoStep
from dynamics_ros.nodes.app.managed import FINALIZED, INACTIVE, UNCONFIGURED
from dynamics_ros.nodes.commanding.targets import TwistTarget
from dynamics_ros.nodes.output.status import Status

STOPPING, PAUSED, READY = 'stopping', 'paused', 'waiting for a command'

AT_LARGEST_SPEED = ' at the largest speed, which is below what it asks for'

FINE = (STOPPING, READY, PAUSED, UNCONFIGURED, INACTIVE, FINALIZED)
"""What it may say beside that it follows something, without being in trouble."""


class ServoStatus(Status):
    """The topic ~/status of a servo."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, 'servo')

    def tell_step(self, text: str, robot: str, lifecycle: str, step: ServoStep | None) -> None:
        """Say what it is doing, if that is due.

        Args:
            text: in words.
            robot: its name; '' without one.
            lifecycle: state of the managed node.
            step: of the motion that goes on; None where none does.
        """
        if not self.is_due(text):
            return
        # What slows it down comes after a semicolon.
        fine = text in FINE or (text.startswith('following') and '; ' not in text)
        values = {'lifecycle': lifecycle} | ({} if step is None else _values(step))
        self.tell(text, fine, robot, values)


def following(target: str, step: ServoStep) -> str:
    """That it follows a target, and what slows it down."""
    notes = []
    if step.near_singularity:
        notes.append('near a singularity')
    stuck = sorted(name for name, kind in step.at_limit.items() if kind == 'position')
    if stuck:
        notes.append(f'at the limit of {", ".join(stuck)}')
    # Of a pose its distance makes the speed, which is often more than is let pass.
    scaled = step.scaled < 1.0 and target == TwistTarget.name
    doing = f'following {target}' + (AT_LARGEST_SPEED if scaled else '')
    return '; '.join([doing, *notes])


def _values(step: ServoStep) -> dict[str, str]:
    return {
        'speed': f'{step.speed:.3f}',
        'condition number': f'{step.condition:.1f}',
        'near singularity': str(step.near_singularity).lower(),
        'at limit': ', '.join(f'{name}: {kind}' for name, kind in step.at_limit.items()),
    }
