# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint torques as HTML bars relative to their limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

GRAVITY_COLOR, EXTERNAL_COLOR, EXCEEDED_COLOR = '#3b82c4', '#e08a1e', '#d03a3a'


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
    lines = [
        f'<tr><td style="padding-right:6px;overflow:hidden;text-overflow:ellipsis;max-width:7.5em">'
        f'{escape(joint)}</td>{_cell(gravity.get(joint), GRAVITY_COLOR)}'
        f'{_cell(external.get(joint), EXTERNAL_COLOR) if external else ""}</tr>'
        for joint in joints
    ]
    second = '<td>external / contact threshold</td>' if external else ''
    head = f'<tr><td>Nm, N</td><td>gravity / effort limit</td>{second}</tr>'
    return (
        '<div style="padding:0 0.9em"><table style="width:100%;font-size:0.72em;'
        f'border-collapse:collapse;white-space:nowrap">{head}{"".join(lines)}</table></div>'
    )


def _cell(bar: Bar | None, color: str) -> str:
    if bar is None or not math.isfinite(bar.value):
        return '<td>-</td>'
    limited = math.isfinite(bar.limit) and bar.limit > 0.0
    share = min(abs(bar.value) / bar.limit, 1.0) if limited else 0.0
    color = EXCEEDED_COLOR if limited and abs(bar.value) > bar.limit else color
    side = 'left' if bar.value >= 0.0 else 'right'
    text = f'{round(bar.value, 3) + 0.0:.3g}' + (f' / {bar.limit:.4g}' if limited else '')
    return (
        '<td style="width:37%;padding:1px 4px"><div style="position:relative;height:1.35em;'
        'background:rgba(128,128,128,0.22)"><div style="position:absolute;top:0;bottom:0;left:50%;'
        'border-left:1px solid rgba(128,128,128,0.7)"></div><div style="position:absolute;top:0;'
        f'bottom:0;{side}:50%;width:{50.0 * share:.1f}%;background:{color}"></div>'
        f'<div style="position:absolute;left:3px;line-height:1.4em">{text}</div></div></td>'
    )
