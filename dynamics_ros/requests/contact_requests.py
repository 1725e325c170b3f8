# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Requests to contact_node, such as a tare, and its details for diagnostics."""

from __future__ import annotations

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation import ContactPipeline


def tare(pipeline: ContactPipeline) -> str:
    """Take the external torques for zero; return a description of the offset.

    Raises:
        DynamicsRosError: the robot moves, or something touches it.
    """
    indices, calibrated = pipeline.robot.joint_v_indices, pipeline.unexplained is not None
    result = pipeline.tare.take(pipeline.detector.contact_thresholds if calibrated else None)
    if not result.success:
        joints = [name for name, i in indices.items() if i == result.joint]
        raise DynamicsRosError(': '.join([*joints, result.message]))
    offset = ', '.join(f'{name} {pipeline.tare.offset[i]:.3f}' for name, i in indices.items())
    return f'taken for zero over {result.duration:.2f} s: {offset}'


def undo_tare(pipeline: ContactPipeline) -> str:
    """Restore the offset before the last tare.

    Raises:
        DynamicsRosError: there is none.
    """
    if not pipeline.tare.undo():
        raise DynamicsRosError('there is no tare to undo')
    return 'the offset before is in force again'


def reset(pipeline: ContactPipeline) -> str:
    """Restart the observer, and clear a latched collision."""
    pipeline.reset()
    return 'the observer starts anew; a collision is no longer latched; the tare stays'


def undo_adaptation(pipeline: ContactPipeline) -> str:
    """Return to the friction of the parameters.

    Raises:
        DynamicsRosError: friction is not adapted.
    """
    if pipeline.adaptation is None:
        raise DynamicsRosError('adaptation.enabled is false: friction is as the parameters say')
    pipeline.adaptation.undo()
    return 'friction is as the parameters say; adaptation begins anew'


REQUESTS = {
    'tare': tare,
    'undo_tare': undo_tare,
    'reset': reset,
    'undo_adaptation': undo_adaptation,
}
"""Requests by the names of their services."""


def details(pipeline: ContactPipeline) -> dict[str, str]:
    """Return counts of observer and filter, the tare, and findings on efforts and friction."""
    observer, check = pipeline.observer, pipeline.effort_check.report
    values = {f'refused: {what}': str(count) for what, count in pipeline.samples.refused.items()}
    values |= {f'observer: {event.value}': str(n) for event, n in observer.counts.items()}
    values |= {
        'observer: last start': observer.restart,
        'tare offset [Nm]': ' '.join(f'{value:.3f}' for value in pipeline.tare.offset),
        'efforts look': check.verdict.value if check else 'unknown: not yet at rest',
    }
    adaptation = pipeline.adaptation
    if adaptation is None:
        return values | {'friction adaptation': 'off: adaptation.enabled is false'}
    values['friction adaptation'] = 'on'
    for name, i in pipeline.robot.joint_v_indices.items():
        values[f'friction adaptation: {name}'] = (
            f'{adaptation.change[i]:+.3f} +- {adaptation.deviation[i]:.3f} of at most '
            f'{adaptation.bound[i]:.3f} Nm or N, {adaptation.reasons[i]}'
        )
    return values
