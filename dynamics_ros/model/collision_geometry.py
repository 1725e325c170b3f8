# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Collision surfaces of links as triangles in link frames.

Boxes, cylinders and spheres are triangulated to within a hundredth of their radius; meshes are read
by ``mesh_file``. Unreadable shapes are skipped and reported, because a robot works without them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError

from .description import Origin
from .hardened_xml import Element, read_xml
from .mesh_file import read_mesh, resolve_mesh
from .urdf import read_origin

Array = NDArray[np.float64]

SEGMENTS = 32
"""Corners of the polygon that approximates a circle."""


@dataclass(frozen=True, eq=False)
class CollisionGeometry:
    """Collision shapes of a robot's links.

    Attributes:
        triangles: link name to (n, 3, 3) corners in the link frame [m], without links that have no
            shape. Corners are counterclockwise as seen from outside.
        problems: shapes that could not be read, each with the reason.
        unread: links that have such a shape.
    """

    triangles: dict[str, Array]
    problems: tuple[str, ...]
    unread: tuple[str, ...] = ()


def read_collision_geometry(
    source: str | os.PathLike[str], folder: Path | None = None
) -> CollisionGeometry:
    """Read the collision shapes of a robot description.

    Args:
        source: URDF XML text, or the path of a file, to which relative mesh paths refer.
        folder: folder to which they refer in text, such as that of a xacro file.

    Raises:
        ModelError: the description is not XML, or the file cannot be read.
    """
    document, base = read_document(source, folder)
    found: dict[str, Array] = {}
    problems: list[str] = []
    unread: list[str] = []
    for link in document.children('link'):
        parts, shapes = [], list(link.children('collision'))
        for collision in shapes:
            try:
                parts.append(surface(collision, base))
            except ModelError as error:
                problems.append(str(error))
        if len(parts) < len(shapes):
            unread.append(link.name())
        if parts:
            found[link.name()] = np.concatenate(parts)
    return CollisionGeometry(found, tuple(problems), tuple(unread))


def read_document(
    source: str | os.PathLike[str], folder: Path | None = None
) -> tuple[Element, Path | None]:
    """Return the XML of a description, and the folder of relative mesh paths.

    Args:
        source: URDF XML text, or the path of a file.
        folder: that folder for text.

    Raises:
        ModelError: the description is not XML, or the file cannot be read.
    """
    if isinstance(source, str) and source.lstrip('\ufeff \t\r\n')[:1] in ('<', ''):
        return read_xml(source), folder
    try:
        return read_xml(Path(source).read_bytes()), Path(source).parent
    except OSError as error:
        raise ModelError(f'file {str(source)!r}', f'cannot be read: {error.strerror}') from error


def surface(element: Element, base: Path | None) -> Array:
    """Return the triangles (n, 3, 3) of a ``collision`` or ``visual`` in the link frame [m].

    Raises:
        ModelError: the shape is malformed, unknown, or its mesh cannot be read.
    """
    return _placed(_shape(element.required_child('geometry'), base), read_origin(element))


def _shape(geometry: Element, base: Path | None) -> Array:
    readers: dict[str, Callable[[Element], Array]] = {
        'box': _box,
        'cylinder': _cylinder,
        'sphere': _sphere,
        'mesh': lambda mesh: _mesh(mesh, base),
    }
    for tag, reader in readers.items():
        element = geometry.child(tag)
        if element is not None:
            return reader(element)
    geometry.refuse(f'has none of {", ".join(readers)}')


def _mesh(element: Element, base: Path | None) -> Array:
    scale = np.array(element.numbers('scale', 3) if element.has('scale') else (1.0, 1.0, 1.0))
    triangles = read_mesh(resolve_mesh(element.text('filename'), base)) * scale
    # A mirrored mesh has reversed corner order.
    return triangles[:, ::-1] if np.prod(scale) < 0.0 else triangles


def _box(element: Element) -> Array:
    half = 0.5 * np.array(
        [_positive(element, 'size', value) for value in element.numbers('size', 3)]
    )
    faces = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = np.roll(np.eye(3), axis, axis=1)[1:]
            center = sign * np.roll(np.eye(3), axis, axis=1)[0]
            ring = [center - u - sign * v, center + u - sign * v, center + u + sign * v]
            faces += [ring, [ring[2], center - u + sign * v, ring[0]]]
    return np.array(faces) * half


def _cylinder(element: Element) -> Array:
    radius = _positive(element, 'radius', element.number('radius'))
    half = 0.5 * _positive(element, 'length', element.number('length'))
    profile = np.array([[0.0, -half], [radius, -half], [radius, half], [0.0, half]])
    return _revolved(profile)


def _sphere(element: Element) -> Array:
    radius = _positive(element, 'radius', element.number('radius'))
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, SEGMENTS // 2 + 1)
    return _revolved(radius * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def _revolved(profile: Array) -> Array:
    """Return the surface of revolution about z of a profile of (radius, height), bottom first."""
    angles = np.linspace(0.0, 2.0 * np.pi, SEGMENTS, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(SEGMENTS)], axis=1)
    rings = profile[:, :1, np.newaxis] * circle
    rings[..., 2] = profile[:, 1:]
    low, high = rings[:-1], rings[1:]
    next_low, next_high = np.roll(low, -1, axis=1), np.roll(high, -1, axis=1)
    halves = [np.stack([low, next_low, next_high], 2), np.stack([low, next_high, high], 2)]
    triangles = np.concatenate(halves).reshape(-1, 3, 3)
    # At the axis, one triangle of each quadrangle is degenerate.
    doubled = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    sizes = np.linalg.norm(doubled, axis=1)
    return triangles[sizes > 1e-9 * sizes.max()]


def _positive(element: Element, attribute: str, value: float) -> float:
    if value <= 0.0:
        element.refuse(f'{attribute} {value:g} is not positive')
    return value


def _placed(triangles: Array, origin: Origin) -> Array:
    placed: Array = triangles @ np.array(origin.rotation).T + np.array(origin.translation)
    return placed
