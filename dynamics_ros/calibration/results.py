# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Results of a calibration as text, as JSON, and as a self-contained HTML page."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from dynamics_ros.command_line import Block
from dynamics_ros.identification import DriveGains, Evaluation, Identified, PayloadEstimate
from dynamics_ros.identification.uncertainty import Learned
from dynamics_ros.recordings.page import figure, page, table

EFFORT_MODEL = (
    *('scale', 'offset', 'rotor_inertia', 'viscous', 'coulomb', 'stribeck', 'load_friction'),
    *('friction_velocity', 'stribeck_velocity'),
)

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
        'model_error': identified.train.rms,
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
        'cutoff_hz': identified.maker.cutoff,
        'findings': sentences,
    }


def joint_rows(identified: Identified, tested: Evaluation | None) -> list[tuple[str, ...]]:
    """Table of the joints, with its head: residuals and friction."""
    model = identified.effort_model
    tests = ('on the test', '') if tested else ()
    rows: list[tuple[str, ...]]
    rows = [('joint', 'residual', '', *tests, 'viscous', 'Coulomb', 'offset')]
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
    total = f'all joints: the residual is {identified.train.percent_all:.2f} % of the efforts'
    if tested is not None:
        total += f', {tested.percent_all:.2f} % on recordings that were not used'
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


def payload_json(payload: PayloadEstimate, converted: bool) -> dict[str, Any]:
    """Returns the entry that ``--json`` adds for a payload; see ``payload_text``."""
    return {
        'payload': {
            'frame': payload.frame,
            'mass': payload.mass,
            'mass_standard_deviation': payload.mass_deviation,
            'center_of_mass': payload.center_of_mass.tolist(),
            'center_of_mass_standard_deviation': payload.center_of_mass_deviation.tolist(),
            'own_weight': payload.own_weight,
            'only_as_exact_as_described_masses': converted,
        }
    }


def payload_text(payload: PayloadEstimate, converted: bool = False) -> str:
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


MOVING = 0.005
"""Minimum speed of a joint for a plot of its friction [rad/s or m/s]."""

MAX_POINTS = 3000
"""Maximum number of points of a curve; more cannot be distinguished."""


def report(identified: Identified, tested: Evaluation | None, sentences: Sequence[str]) -> str:
    """Returns the page.

    Args:
        identified: result of the identification.
        tested: evaluation on recordings that were not used; None if there are none.
        sentences: findings as sentences.
    """
    parts = [f'<h1>Calibration of {escape(identified.robot.name)}</h1>']
    parts += [f'<p>{escape(sentence)}</p>' for sentence in sentences]
    head, *rows = [[escape(cell) for cell in row] for row in joint_rows(identified, tested)]
    parts.append(table(head, rows))
    shown, what = (identified.train, 'used') if tested is None else (tested, 'not used')
    parts.append(f'<p>The plots show the recordings that were {what} for the identification.</p>')
    for joint, name in enumerate(identified.robot.joint_names):
        parts.append(f'<h2>{escape(name)}</h2>{_picture(identified, shown, joint)}')
    parts += ['<h2>Parameters</h2>', _parameters(identified)]
    return page('Calibration', parts)


def _parameters(identified: Identified) -> str:
    rows = []
    for p in identified.parameters:
        state = '' if p.identifiable else ' class="unknown"'
        cells = (p.kind, f'{p.value:.4g}', f'{p.deviation:.2g}', escape(p.unit))
        inner = ''.join(f'<td>{cell}</td>' for cell in (escape(p.name), *cells))
        rows.append(f'<tr{state}>{inner}</tr>')
    header = ''.join(f'<th>{x}</th>' for x in ('name', 'kind', 'value', 'deviation', 'unit'))
    return (
        '<p>Grey parameters are not determined by the motion and stay near the description.</p>'
        f'<table><tr>{header}</tr>{"".join(rows)}</table>'
    )


def _picture(identified: Identified, shown: Evaluation, joint: int) -> str:
    """Returns a plot of effort over time and friction over velocity as HTML image."""
    drawn = figure(11.0, 3.4)
    if drawn is None:
        return ''
    step = slice(None, None, max(1, len(shown.time) // MAX_POINTS))
    cells = drawn.add_gridspec(2, 2, width_ratios=(2, 1), height_ratios=(2, 1))
    torque = drawn.add_subplot(cells[0, 0])
    left = drawn.add_subplot(cells[1, 0], sharex=torque)
    friction = drawn.add_subplot(cells[:, 1])
    t = shown.time[step]
    torque.plot(t, shown.measured[step, joint], color='#888', linewidth=1.6, label='measured')
    torque.plot(t, shown.modelled[step, joint], color='#c03030', linewidth=0.9, label='modelled')
    torque.set_ylabel('torque [Nm, N]')
    torque.tick_params(labelbottom=False)
    torque.legend(loc='lower right', bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize='small')
    left.plot(t, shown.residual[step, joint], color='#3060c0', linewidth=0.7)
    left.set_ylabel('residual')
    left.set_xlabel('time [s]')
    v = shown.v[step, joint]
    friction.plot(v, shown.friction[step, joint], '.', color='#888', markersize=2.0, label='data')
    if np.abs(v).max() > MOVING:
        curve = np.linspace(v.min(), v.max(), 400)
        model, loads = identified.effort_model, identified.fit.loads
        every = np.tile(curve[:, np.newaxis], len(loads))
        modelled = [model.friction_torque(v, loads)[joint] - model.offset[joint] for v in every]
        friction.plot(curve, modelled, color='#c03030', label='modelled')
    else:
        friction.set_title('did not move: its friction is unknown', fontsize='small')
    friction.locator_params(axis='x', nbins=5)
    friction.set_xlabel('velocity [rad/s, m/s]')
    friction.set_ylabel('friction [Nm, N]')
    for axis in (torque, left, friction):
        axis.grid(alpha=0.3)
    target = io.BytesIO()
    drawn.savefig(target, format='png', dpi=90)
    data = base64.b64encode(target.getvalue()).decode()
    return f'<img alt="torque and friction" src="data:image/png;base64,{data}">'
