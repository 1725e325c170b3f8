# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint torques as HTML bars relative to their limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

GRAVITY_COLOR, EXTERNAL_COLOR, EXCEEDED_COLOR = '#3b82c4', '#e08a1e', '#d03a3a'

NAME_STYLE = 'overflow:hidden;text-overflow:ellipsis'
TABLE_STYLE = (
    'width:100%;table-layout:fixed;font-size:0.75em;border-collapse:collapse;white-space:nowrap'
)


class Bar(NamedTuple):
    """Torque of a joint, and the limit of its magnitude [Nm, N if prismatic]."""

    value: float
    limit: float


def bars(joints: Sequence[str], gravity: Mapping[str, Bar], external: Mapping[str, Bar]) -> str:
    """HTML table of joint torques, in which the length of a bar is the torque over its limit.

    Args:
        joints: joint names, in the order of the rows.
        gravity: gravity torque of each joint, with its effort limit.
        external: external torque of each joint, with its contact threshold; without any, the
            column is left out.
    """
    columns = {'gravity': gravity, **({'external': external} if external else {})}
    head = ''.join(f'<td colspan="2" style="text-align:right">{name}</td>' for name in columns)
    lines = [f'<tr style="opacity:0.7"><td></td>{head}</tr>']
    for joint in joints:
        cells = _cell(gravity.get(joint), GRAVITY_COLOR)
        cells += _cell(external.get(joint), EXTERNAL_COLOR) if external else ''
        name = escape(joint)
        lines.append(f'<tr><td title="{name}" style="{NAME_STYLE}">{name}</td>{cells}</tr>')
    # Fixed, so that in a narrow panel names are cut and not bars.
    widths = f'<col style="width:{15 if external else 35}%"><col style="width:21%">' * len(columns)
    units = 'Nm, N if prismatic; bars end at the effort limit'
    units += ' and the contact threshold' if external else ''
    return (
        f'<div style="padding:0 0.9em"><table style="{TABLE_STYLE}"><colgroup><col>{widths}'
        f'</colgroup>{"".join(lines)}</table>'
        f'<div style="font-size:0.7em;opacity:0.7;padding-bottom:0.4em">{units}</div></div>'
    )


def _cell(bar: Bar | None, color: str) -> str:
    """Two table cells: a bar from the middle, and the number beside it."""
    if bar is None or not math.isfinite(bar.value):
        return '<td></td><td style="text-align:right">-</td>'
    limited = math.isfinite(bar.limit) and bar.limit > 0.0
    share = min(abs(bar.value) / bar.limit, 1.0) if limited else 0.0
    color = EXCEEDED_COLOR if limited and abs(bar.value) > bar.limit else color
    side = 'left' if bar.value >= 0.0 else 'right'
    hint = f'limit {bar.limit:.4g}' if limited else 'no limit'
    return (
        f'<td style="padding:1px 0 1px 6px" title="{hint}"><div style="position:relative;'
        'height:0.9em;background:rgba(128,128,128,0.22)"><div style="position:absolute;top:0;'
        'bottom:0;left:50%;border-left:1px solid rgba(128,128,128,0.7)"></div>'
        f'<div style="position:absolute;top:0;bottom:0;{side}:50%;width:{50.0 * share:.1f}%;'
        f'background:{color}"></div></div></td><td style="text-align:right;'
        f'font-variant-numeric:tabular-nums;padding-left:4px">{four_digits(bar.value)}</td>'
    )


def four_digits(value: float) -> str:
    """A number with four significant digits, and not more than three decimals."""
    size = abs(value)
    decimals = 3 if size < 10.0 else 2 if size < 100.0 else 1 if size < 1000.0 else 0
    # Adding zero makes a negative zero positive.
    return f'{round(value, decimals) + 0.0:.{decimals}f}'
