# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Results of a calibration as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dynamics_ros.command_line import Block
from dynamics_ros.identification import DriveGains, Evaluation, Identified, Payload
from dynamics_ros.identification.uncertainty import Learned

EFFORT_MODEL = (
    *('scale', 'offset', 'rotor_inertia', 'viscous', 'coulomb', 'stribeck', 'load_friction'),
    *('friction_velocity', 'stribeck_velocity'),
)

ACCURATE = 0.01
"""Ratio of the deviation of a mass to the mass up to which the mass is accurate."""

NOTED = 0.03
"""Difference of the weight of the robot from that of its description that is reported."""


def as_json(
    sentences: Sequence[str],
    identified: Identified,
    learned: Learned | None,
    tested: Evaluation | None,
) -> dict[str, Any]:
    """Returns the object that ``--json`` prints, without the elapsed time."""
    model, noise = identified.effort_model, identified.noise
    efforts = {
        **{name: getattr(model, name) for name in EFFORT_MODEL},
        'noise': noise.effort,
        'velocity_noise': noise.velocity,
        'velocity_differenced': noise.differenced,
        'velocity_cutoff': noise.cutoff,
        'model_error': identified.model_error,
    }
    unexplained = None if learned is None else vars(learned.unexplained)
    return {
        'joints': list(identified.robot.joint_names),
        'train': _errors(identified.train),
        'test': None if tested is None else _errors(tested),
        'parameters': [
            {
                'name': p.name,
                'kind': p.kind,
                'unit': p.unit,
                'value': float(p.value),
                'standard_deviation': float(p.deviation),
                'identifiable': p.identifiable,
            }
            for p in identified.parameters
        ],
        'effort': {name: np.asarray(values).tolist() for name, values in efforts.items()},
        'unexplained': unexplained and {name: x.tolist() for name, x in unexplained.items()},
        'consistent': identified.consistent,
        'cutoff_hz': identified.maker.filtering.narrow,
        'findings': sentences,
        'not_identifiable': list(identified.missing),
    }


def joint_rows(identified: Identified, tested: Evaluation | None) -> list[tuple[str, ...]]:
    """Table of the joints, with its head: residuals and friction."""
    model = identified.effort_model
    tests = ('on the test', '') if tested else ()
    rows: list[tuple[str, ...]]
    rows = [('joint', 'left over', '', *tests, 'viscous', 'Coulomb', 'offset')]
    for j, joint in enumerate(identified.robot.model.actuated):
        unit = 'N ' if joint.kind.slides[0] else 'Nm'
        errors = [
            cell
            for one in (identified.train, tested)
            if one is not None
            for cell in (f'{one.rms[j]:6.3f} {unit}', f'{one.percent[j]:5.1f} %')
        ]
        friction = [f'{x:7.3f}' for x in (model.viscous[j], model.coulomb[j])]
        friction = friction if identified.moved[j] else ['unknown'] * 2
        rows.append((joint.name, *errors, *friction, f'{model.offset[j]:6.3f}'))
    return rows


def result_blocks(
    sentences: Sequence[str], identified: Identified, tested: Evaluation | None
) -> Iterator[Block]:
    """Yield the result as text, with a table of the joints."""
    yield from sentences
    yield joint_rows(identified, tested)
    total = f'all joints: {identified.train.percent_all:.2f} % of the efforts are left over'
    if identified.train.standing.any():
        total += f' ({identified.train.percent_moving:.2f} % while they move)'
    if tested is not None:
        total += f', {tested.percent_all:.2f} % on recordings that were not used'
        if tested.standing.any():
            total += f' ({tested.percent_moving:.2f} %)'
    yield total
    base = [p for p in identified.parameters if p.kind == 'base']
    known = f'{sum(p.identifiable for p in base)} of {len(base)}'
    yield f'{known} combinations of masses and inertias are determined by the motion'


def _errors(evaluation: Evaluation) -> dict[str, Any]:
    return {
        'rms_nm': evaluation.rms.tolist(),
        'percent': evaluation.percent.tolist(),
        'percent_all': evaluation.percent_all,
    }


def payload_json(payload: Payload, converted: bool) -> dict[str, Any]:
    """Returns the entry that ``--json`` adds for a payload; see ``payload_text``."""
    return {
        'payload': {
            'frame': payload.frame,
            'mass': payload.mass,
            'mass_standard_deviation': payload.mass_deviation,
            'center_of_mass': payload.center_of_mass.tolist(),
            'center_of_mass_standard_deviation': payload.center_of_mass_deviation.tolist(),
            'swapped': payload.swapped,
            'own_weight': payload.own_weight,
            'only_as_exact_as_described_masses': converted,
        }
    }


def payload_text(payload: Payload, converted: bool = False) -> str:
    """Returns an identified payload as text.

    Args:
        payload: the payload.
        converted: whether efforts were converted to Nm by means of the described masses.
    """
    places = zip(payload.center_of_mass, payload.center_of_mass_deviation, strict=True)
    center = ', '.join(f'{1e3 * x:.1f} +- {1e3 * d:.1f}' for x, d in places)
    text = (
        f'payload at {payload.frame}: {payload.mass:.3f} +- {payload.mass_deviation:.3f} kg, '
        f'centre of mass at {center} mm.'
    )
    if payload.swapped:
        text += ' The last recording is the one without the payload.'
    if abs(payload.own_weight - 1.0) >= NOTED:
        text += (
            f' The robot itself weighs {payload.own_weight:.2f} times what its description '
            'says: if efforts are in another unit, the payload is off by as much, which the '
            'deviations include; --drive-gains finds the unit.'
        )
    if converted:
        text += (
            ' Efforts were not in Nm and were converted by the masses of the description: mass and '
            'centre of mass are only as exact as those masses, and the deviations do not include '
            'that error. A recording with a known load (--drive-gains) gives the conversion.'
        )
    if payload.mass_deviation > ACCURATE * payload.mass:
        text += (
            ' The mass would be determined more accurately by runs of the same motion (one plan), '
            'longer ones, or ones in which the joints that carry the payload move further.'
        )
    return text


def gains_json(gains: DriveGains, joints: Sequence[str]) -> dict[str, Any]:
    """Returns the entry that ``--json`` adds for drive gains."""
    known = zip(gains.deviation, gains.told, strict=True)
    return {
        'drive_gains': {
            'joints': list(joints),
            'gain': gains.gain.tolist(),
            'standard_deviation': [float(d) if told else None for d, told in known],
            'told': gains.told.tolist(),
        }
    }


def gains_text(gains: DriveGains, joints: Sequence[str]) -> str:
    """Returns drive gains as text, one line per joint."""
    lines = ['Nm per unit of effort, N for prismatic joints:']
    for name, gain, deviation, told in zip(
        joints, gains.gain, gains.deviation, gains.told, strict=True
    ):
        described = 'from the description: the load determines it poorly'
        known = f'+- {deviation:.2g}' if told else described
        lines.append(f'  {name:24} {gain:9.4g} {known}')
    return '\n'.join(lines)
