# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plot of the estimates of a recording; needs matplotlib."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from dynamics_ros.estimation import ContactState

from .estimates import Summary

_log = logging.getLogger('dynamics_ros.recordings')

COLORS = {ContactState.CONTACT: '#f0c000', ContactState.COLLISION: '#d03030'}


def plot(summary: Summary, path: Path) -> bool:
    """Writes external torques, contact states and forces as a PNG file.

    Returns:
        False, with a warning, if matplotlib is not installed or there is nothing to plot.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        _log.warning('no plot: matplotlib is not installed')
        return False
    if not len(summary.times):
        _log.warning('no plot: nothing was estimated')
        return False
    t = summary.times
    rows = 1 + len(summary.forces)
    figure = Figure(figsize=(11.0, 3.2 * rows), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for name, column in zip(summary.joint_names, summary.torques.T, strict=True):
        axes[0].plot(t, column, linewidth=0.9, label=name)
    axes[0].set_ylabel('external torque [Nm, N]')
    for axis, (frame, forces) in zip(axes[1:], summary.forces.items(), strict=True):
        for letter, column in zip('xyz', forces.T, strict=True):
            axis.plot(t, column, linewidth=0.9, label=letter)
        axis.plot(t, np.linalg.norm(forces, axis=1), 'k:', linewidth=0.9, label='size')
        axis.set_ylabel(f'force at {frame} [N]')
    for axis in axes:
        for state, color in COLORS.items():
            axis.fill_between(
                t,
                0.0,
                1.0,
                where=summary.states == state,
                transform=axis.get_xaxis_transform(),
                color=color,
                alpha=0.25,
                linewidth=0.0,
                label=state.name.lower() if (summary.states == state).any() else None,
            )
        axis.grid(alpha=0.3)
        axis.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), fontsize='small')
    axes[-1].set_xlabel('time [s]')
    figure.savefig(path, dpi=110)
    return True
