# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Findings about recordings and a fit, as sentences for the user."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .equations import Equations
from .evaluation import Identified
from .fit import UNEXPLAINED, Fit
from .joint_states.joint_matching import named
from .joint_states.samples import UnusableRecordingError

Array = NDArray[np.float64]
STILL = 0.01
"""Range of positions below which a joint counts as not moved [rad]."""

LARGE_RESIDUAL = 0.1
"""Unexplained share of the efforts from which it is reported."""


def resting(result: Identified) -> list[str]:
    """A sentence on joints that do not move.

    Raises:
        UnusableRecordingError: no joint moves.
    """
    names = named(result.robot, ~result.moved)
    if not result.moved.any():
        raise UnusableRecordingError('no joint moves in the recording; record a motion of all')
    if not names:
        return []
    return [
        f'{names} did not move: friction and rotor inertia there are not known and stay '
        'as described, and the other joints determine the masses; motion of each of them both '
        'ways, slow and fast, would show its friction'
    ]


def constant_efforts(result: Identified) -> list[str]:
    """A sentence on moving joints with constant effort.

    Raises:
        UnusableRecordingError: there are such joints and masses are identified, which would be
            wrong; or all moving joints are such joints.
    """
    varying = np.max([np.ptp(one.effort, axis=0) for one in result.stretches], axis=0) > 0.0
    constant = result.moved & ~varying
    if not constant.any():
        return []
    listed = f'the efforts of {named(result.robot, constant)} never change while these joints move'
    if (constant == result.moved).all():
        raise UnusableRecordingError(
            f'{listed}: the driver does not report them (a joint_state_broadcaster needs the state '
            'interface "effort")'
        )
    if not result.held:
        raise UnusableRecordingError(
            f'{listed}: the driver does not report them, so that masses would be wrong; if they '
            'carry nothing, such as fingers, leave them out (--lock NAME=POSITION)'
        )
    return [f'{listed}: the driver may not report them']


def usual_share(fit: Fit, equations: Equations) -> float:
    """Unexplained share of the efforts, without blocks of reduced weight."""
    efforts = equations.rows[..., -1]
    size = np.sqrt((efforts**2).sum() / equations.counts.sum())
    return float(np.sqrt((fit.sigma**2).mean()) / max(size, 1e-12))


def much_left_over(result: Identified) -> list[str]:
    """A sentence if the residual is larger than usual for robots with gears."""
    share = usual_share(result.fit, result.equations)
    if share < LARGE_RESIDUAL:
        return []
    return [
        f'{100.0 * share:.0f} % of the efforts are unexplained, where 1 to 10 % are usual for '
        'robots with gears; check mounting (--gravity), joint order, units, payload and stamps'
    ]


def unexplained_times(result: Identified) -> list[str]:
    """Sentences on blocks that the model does not explain, such as pushes."""
    far, found = result.fit.departures > UNEXPLAINED, []
    for block in np.flatnonzero(far.any(axis=0)):
        names = named(result.robot, far[:, block])
        found.append(f'{result.fit.begins[block]:.1f} s ({names})')
    if not found:
        return []
    times = ', '.join(found[:5])
    more = f' and {len(found) - 5} more' if len(found) > 5 else ''
    return [
        f'efforts at {times}{more} are not those of free motion, such as a push or a contact: '
        'these times count little'
    ]
