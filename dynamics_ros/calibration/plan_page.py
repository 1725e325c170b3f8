# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drawing of a planned excitation as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification.excitation.fourier import Excitation
from dynamics_ros.recordings.page import as_svg, figure, page, table
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]


def plan_page(robot: Robot, excitation: Excitation, sentences: Sequence[str]) -> str:
    """Returns the page.

    Args:
        robot: robot that moves.
        excitation: its planned motion.
        sentences: facts about the motion.
    """
    parts = [f'<h1>Planned motion of {escape(robot.name)}</h1>']
    parts += [f'<p>{escape(sentence)}</p>' for sentence in sentences]
    parts += [_picture(robot, excitation), '<h2>Expected deviations</h2>', _deviations(excitation)]
    return page('Planned motion', parts)


def _picture(robot: Robot, excitation: Excitation) -> str:
    """Returns a plot of positions, velocities and torques over time; '' without matplotlib."""
    drawn = figure(11.0, 8.0)
    if drawn is None:
        return ''
    q, v, a = excitation.q, excitation.v, excitation.a
    torque = robot.inverse_dynamics(q, v, a)
    limits = (
        (robot.lower_limits, robot.upper_limits),
        (-robot.velocity_limits, robot.velocity_limits),
        (-robot.effort_limits, robot.effort_limits),
    )
    words = ('position [rad, m]', 'velocity / limit', 'torque / limit')
    axes = drawn.subplots(3, 1, sharex=True)
    for axis, word, values, (low, high) in zip(axes, words, (q, v, torque), limits, strict=True):
        shown = values if axis is axes[0] else _shares(values, high)
        for joint, name in enumerate(robot.joint_names):
            (line,) = axis.plot(excitation.time, shown[:, joint], linewidth=0.9, label=name)
            if axis is axes[0]:
                near = (low[joint], high[joint])
                for limit in near:
                    if np.isfinite(limit) and abs(limit) < 2.0 * np.pi:
                        axis.axhline(limit, color=line.get_color(), linewidth=0.5, linestyle=':')
        axis.set_ylabel(word)
        axis.grid(alpha=0.3)
    axes[0].legend(loc='lower right', bbox_to_anchor=(1.0, 1.0), ncols=4, fontsize='small')
    axes[-1].set_xlabel('time [s]')
    return as_svg(drawn, 'positions, velocities and torques of the motion over time')


def _shares(values: Array, limits: Array) -> Array:
    """(n, nv) values over their limits; over their own largest value where there is no limit."""
    largest = np.maximum(np.abs(values).max(axis=0), 1e-12)
    found: Array = values / np.where(np.isfinite(limits) & (limits > 0.0), limits, largest)
    return found


def _deviations(excitation: Excitation) -> str:
    """Returns the table of base parameters with their expected standard deviations."""
    rows = [
        [escape(name), f'{value:.4g}', f'{deviation:.2g}']
        for name, value, deviation in zip(
            excitation.names, excitation.values, excitation.deviations, strict=True
        )
    ]
    return table(['combination', 'described value', 'expected deviation'], rows)
