# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bones for links without shapes, and which shapes are missing, as HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.model import Model
from dynamics_ros.model.collision_geometry import Visual

Array = NDArray[np.float64]

BONE_COLOR = (0.85, 0.6, 0.25)

THICKNESS, WAIST = 0.07, 0.2
"""Half width of a bone, and distance of its widest point from its start, over its length."""

SHORTEST = 1e-6
"""Shortest bone [m]; links at the same place have no bone between them."""

LONGEST_LINE = 90
"""Characters of a problem before the click that shows all of it."""

MAX_MISSING = 12
"""Missing shapes that are listed."""


def skeleton(model: Model, drawn: Collection[str]) -> tuple[Visual, ...]:
    """Return a bone from each link to each of its children, within bodies without shapes.

    Args:
        model: model of the robot.
        drawn: names of the links that have shapes.
    """
    with_shape = {frame.body for frame in model.frames if frame.name in drawn}
    frames = {frame.name: frame for frame in model.frames}
    bones = []
    for frame in model.frames:
        end = np.array([float(x) for x in frame.origin.translation])
        parent = frames.get(frame.parent)
        if parent and parent.body not in with_shape and np.linalg.norm(end) > SHORTEST:
            bones.append(Visual(parent.name, _bone(end), BONE_COLOR))
    return tuple(bones)


def _bone(end: Array) -> Array:
    """Triangles (8, 3, 3) of an octahedron from the origin to a point (3) [m]."""
    length = float(np.linalg.norm(end))
    across = np.cross(end, np.eye(3)[np.argmin(np.abs(end))])
    across *= THICKNESS * length / np.linalg.norm(across)
    sideways = np.cross(end, across) / length
    ring = WAIST * end + np.array([across, sideways, -across, -sideways])
    before = np.roll(ring, 1, axis=0)
    start, tip = np.zeros_like(ring), np.broadcast_to(end, ring.shape)
    halves = [np.stack(corners, axis=1) for corners in ((start, before, ring), (tip, ring, before))]
    return np.concatenate(halves)


def missing_shapes(missing: Sequence[str]) -> str:
    """HTML about shapes that could not be read: a line per reason, and which ones on a click."""
    shapes_of: dict[str, list[str]] = {}
    for problem in missing:
        shape, quote, reason = problem.partition("': ")
        shapes_of.setdefault(reason or problem, []).append(shape + quote[:1])
    lines = []
    for reason, shapes in shapes_of.items():
        number = f'{len(shapes)} shapes are' if len(shapes) > 1 else '1 shape is'
        more = f' and {len(shapes) - MAX_MISSING} more' if len(shapes) > MAX_MISSING else ''
        listed = ', '.join(shapes[:MAX_MISSING]) + more
        lines.append(details(listed, f'{number} missing: {reason}'))
    return ''.join(lines)


def details(text: str, head: str = '') -> str:
    """HTML of a text: its head, by default the first clause, and the whole text on a click."""
    if not head:
        head, _, rest = text.partition('; ')
        if len(head) <= LONGEST_LINE and not rest:
            return escape(head)
        if len(head) > LONGEST_LINE:
            head = head[:LONGEST_LINE].rsplit(' ', 1)[0] + ' ...'
    return (
        f'<details style="display:inline-block"><summary>{escape(head)}</summary>'
        f'{escape(text)}</details>'
    )
