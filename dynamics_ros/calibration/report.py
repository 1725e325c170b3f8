# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Report of a calibration as a self-contained HTML page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

import numpy as np

from dynamics_ros.identification import Evaluation, Identified
from dynamics_ros.identification.evaluation import friction_curve
from dynamics_ros.recordings.page import figure, page, table

from .results import joint_rows

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
    if identified.missing:
        parts.append('<h2>Motions that would determine the remaining parameters</h2><ul>')
        parts += [f'<li>{escape(sentence)}</li>' for sentence in identified.missing]
        parts.append('</ul>')
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
        usual = identified.fit.loads[joint]
        modelled = friction_curve(identified.effort_model, joint, curve, usual)
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
