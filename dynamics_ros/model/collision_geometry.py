# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Collision and visual shapes of links as triangles in link frames.

Boxes, cylinders, capsules and spheres are triangulated to within a hundredth of their radius;
meshes are read by ``mesh_file``. Unreadable shapes are skipped and reported, because a robot works
without them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import ModelError

from .description_file import description_text
from .hardened_xml import Element, is_text, read_xml
from .mesh_file import read_mesh, resolve_mesh
from .urdf import read_origin

Array = NDArray[np.float64]
Color = tuple[float, float, float]

GREY = (0.7, 0.7, 0.7)
"""Default colour."""

SIZES = {
    'box': ('size',),
    'cylinder': ('radius', 'length'),
    'sphere': ('radius',),
    'capsule': ('radius', 'length'),
    'mesh': (),
}
"""Attributes with the size of each kind of shape."""

SEGMENTS = 32
"""Corners of the polygon that approximates a circle."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Collision shape of a link.

    Attributes:
        kind: 'box', 'cylinder', 'sphere', 'capsule' or 'mesh'.
        size: [m]: edges of a box; radius and length of a cylinder or capsule, of which the length
            is that of its cylindrical part; radius of a sphere; empty for a mesh.
        pose: (4, 4) pose in the link frame.
        triangles: (n, 3, 3) corners in the link frame [m].
    """

    kind: str
    size: tuple[float, ...]
    pose: Array
    triangles: Array


@dataclass(frozen=True, eq=False)
class CollisionGeometry:
    """Collision shapes of a robot's links.

    Attributes:
        shapes: link name to its shapes, without links that have no readable shape.
        problems: shapes that could not be read, each with the reason.
        unread: links that have such a shape.
    """

    shapes: dict[str, tuple[Shape, ...]]
    problems: tuple[str, ...]
    unread: tuple[str, ...]

    @computed_once
    def triangles(self) -> dict[str, Array]:
        """(n, 3, 3) corners by link, in the link frame [m], counterclockwise from outside."""
        return {
            link: np.concatenate([shape.triangles for shape in shapes])
            for link, shapes in self.shapes.items()
        }


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
    document, base = _document(source, folder)
    shapes: dict[str, tuple[Shape, ...]] = {}
    problems: list[str] = []
    unread: list[str] = []
    for link in document.children('link'):
        parts, elements = [], list(link.children('collision'))
        for collision in elements:
            try:
                parts.append(read_shape(collision, base))
            except ModelError as error:
                problems.append(str(error))
        if len(parts) < len(elements):
            unread.append(link.name())
        if parts:
            shapes[link.name()] = tuple(parts)
    return CollisionGeometry(shapes, tuple(problems), tuple(unread))


@dataclass(frozen=True, eq=False)
class Visual:
    """Visual shape of a link.

    Attributes:
        link: name of the link.
        triangles: (n, 3, 3) corners in the link frame [m].
        color: red, green and blue, 0 to 1.
    """

    link: str
    triangles: Array
    color: Color


def by_reason(problems: Iterable[str]) -> list[str]:
    """Return a sentence per reason why shapes are unreadable: the first one, number of others."""
    groups: dict[str, list[str]] = {}
    for problem in dict.fromkeys(problems):
        shape, _, reason = problem.partition(': ')
        groups.setdefault(reason, []).append(shape)
    return [
        f'{shapes[0]}{f" and {len(shapes) - 1} more" if shapes[1:] else ""}: {reason}'
        for reason, shapes in groups.items()
    ]


def read_visual_geometry(
    source: str | os.PathLike[str], folder: Path | None = None
) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
    """Read the visual shapes of links; a link with unreadable visuals gets its collision shapes.

    Args:
        source: URDF XML text, or the path of a file, to which relative mesh paths refer.
        folder: folder to which they refer in text, such as that of a xacro file.

    Returns:
        The shapes, and the unreadable ones, each with the reason.

    Raises:
        ModelError: the description is not XML, or the file cannot be read.
    """
    document, base = _document(source, folder)
    palette = {
        material.name(): _color(material, GREY) for material in document.children('material')
    }
    found: list[Visual] = []
    problems: list[str] = []
    for link in document.children('link'):
        for tag in ('visual', 'collision'):
            before = len(found)
            for element in link.children(tag):
                try:
                    triangles = read_shape(element, base).triangles
                    material = element.child('material')
                    named = GREY if material is None else palette.get(material.name(), GREY)
                    found.append(Visual(link.name(), triangles, _color(material, named)))
                except ModelError as error:
                    problems.append(str(error))
            if len(found) > before:
                break
    return tuple(found), tuple(problems)


def _document(source: str | os.PathLike[str], folder: Path | None) -> tuple[Element, Path | None]:
    """Return the root element of a description, and the folder of its relative paths."""
    document = read_xml(description_text(source))
    return document, folder if is_text(source) else Path(os.path.expanduser(source)).parent


def read_shape(element: Element, base: Path | None) -> Shape:
    """Return the shape of a ``collision`` or ``visual``.

    Raises:
        ModelError: the shape is malformed, unknown, or its mesh cannot be read.
    """
    geometry, origin = element.required_child('geometry'), read_origin(element)
    for kind in SIZES:
        shape = geometry.child(kind)
        if shape is not None:
            size = _size(kind, shape)
            triangles = _mesh(shape, base) if kind == 'mesh' else _primitive(kind, size)
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = origin.rotation, origin.translation
            return Shape(kind, size, pose, triangles @ pose[:3, :3].T + pose[:3, 3])
    geometry.refuse(f'has none of {", ".join(SIZES)}')


def _size(kind: str, shape: Element) -> tuple[float, ...]:
    size: list[float] = []
    for attribute in SIZES[kind]:
        size += shape.numbers(attribute, 3 if kind == 'box' else 1)
        for value in size:
            if value <= 0.0:
                shape.refuse(f'{attribute} {value:g} is not positive')
    return tuple(size)


def _mesh(element: Element, base: Path | None) -> Array:
    scale = np.array(element.numbers('scale', 3) if element.has('scale') else (1.0, 1.0, 1.0))
    triangles = read_mesh(resolve_mesh(element.text('filename'), base)) * scale
    # A mirrored mesh has reversed corner order.
    return triangles[:, ::-1] if np.prod(scale) < 0.0 else triangles


def _primitive(kind: str, size: tuple[float, ...]) -> Array:
    """Triangles (n, 3, 3) of a shape about the z axis that is not a mesh."""
    if kind == 'box':
        faces = []
        for axis in range(3):
            for sign in (-1.0, 1.0):
                center, u, v = np.roll(np.eye(3), axis, axis=1) * [[sign], [1.0], [sign]]
                ring = [center - u - v, center + u - v, center + u + v]
                faces += [ring, [ring[2], center - u + v, ring[0]]]
        return np.array(faces) * (0.5 * np.array(size))
    radius, up = size[0], np.array([0.0, 0.5 * sum(size[1:])])
    # A profile of (radius, height), bottom first: a capsule of length 0 is a sphere.
    profile = np.array([[0.0, 0.0], [radius, 0.0], [radius, 0.0], [0.0, 0.0]])
    if kind != 'cylinder':
        angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, SEGMENTS // 2 + 1)
        angles = np.insert(angles, SEGMENTS // 4, 0.0)
        profile = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    half = len(profile) // 2
    profile[:half] -= up
    profile[half:] += up
    turns = np.linspace(0.0, 2.0 * np.pi, SEGMENTS, endpoint=False)
    circle = np.stack([np.cos(turns), np.sin(turns), np.zeros(SEGMENTS)], axis=1)
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


def _color(material: Element | None, otherwise: Color) -> Color:
    color = None if material is None else material.child('color')
    if color is None:
        return otherwise
    red, green, blue, _ = color.numbers('rgba', 4)
    return red, green, blue
