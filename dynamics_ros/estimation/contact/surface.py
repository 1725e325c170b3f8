# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples the outer collision geometry of links as surface pieces."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_positive, finite_arrays

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MIN_DOUBLE_AREA = 1e-12
"""Twice the area below which a triangle is degenerate [m^2]."""

MAX_PIECES = 4000
"""Number of pieces of a link from which they become larger: those of a large robot would take
seconds."""

FINE = 0.5
"""Edge of the triangles that form a piece, over that of its cell."""

MIN_FACING = 0.8
"""Minimum cosine for a surface to face a direction; one of 26 directions always exceeds it."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Pieces of the outer surface of a link.

    Attributes:
        points: (n, 3) centers in the link frame [m].
        normals: (n, 3) outward unit normals.
        areas: (n) [m^2].
        size: extent of a piece around its center, as a standard deviation [m].
    """

    points: Array
    normals: Array
    areas: Array
    size: float


def sample_surfaces(
    geometry: Mapping[str, ArrayLike], resolution: float = 0.012
) -> dict[str, Surface]:
    """Divides the link geometry into surface pieces; takes about 0.1 s per link.

    Surfaces that other parts of the same link hide from every direction, such as the inner wall of
    a hollow link, cannot be touched and are left out.

    Args:
        geometry: triangle corners (n, 3, 3) of each link in its frame [m], from
            ``read_collision_geometry``.
        resolution: edge of the grid cells that form the pieces [m]; on links with more than
            ``MAX_PIECES`` of these, their edge is longer.

    Raises:
        InvalidArgumentError: a geometry has a wrong shape or no area, or the resolution is invalid.
    """
    check_positive('resolution', resolution)
    return {link: _sampled(link, corners, resolution) for link, corners in geometry.items()}


def _sampled(link: str, triangles: ArrayLike, resolution: float) -> Surface:
    corners = finite_arrays(f'geometry of {link!r}', triangles, (3, 3))
    if corners.ndim != 3 or not np.any(_areas(corners)[1]):
        raise InvalidArgumentError(f'geometry of {link!r}', 'no triangle', 'shape (n, 3, 3)')
    resolution = max(resolution, np.sqrt(_areas(corners)[1].sum() / MAX_PIECES))
    small = _cut(corners, FINE * resolution)
    normals, areas = _areas(small)
    used = areas > 0.0
    points, normals, areas = small[used].mean(axis=1), normals[used], areas[used]
    outside = _seen(points, normals, FINE * resolution)
    points, normals, areas = points[outside], normals[outside], areas[outside]
    groups = _groups(points, normals, resolution)
    total = np.bincount(groups, areas).astype(np.float64)
    middles, sums = (
        np.column_stack([np.bincount(groups, areas * column) for column in vectors.T])
        for vectors in (points, normals)
    )
    return Surface(
        points=middles / total[:, np.newaxis],
        normals=sums / np.linalg.norm(sums, axis=1, keepdims=True),
        areas=total,
        # Uniform distribution over a cell: edge length / sqrt(12).
        size=resolution / np.sqrt(12.0),
    )


def _areas(triangles: Array) -> tuple[Array, Array]:
    """Computes unit normals and areas; the normal of a degenerate triangle is not valid."""
    doubled = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(doubled, axis=1)
    return doubled / np.maximum(lengths, MIN_DOUBLE_AREA)[:, np.newaxis], np.where(
        lengths > MIN_DOUBLE_AREA, 0.5 * lengths, 0.0
    )


def _cut(triangles: Array, longest: float) -> Array:
    """Subdivides triangles until no edge is longer than ``longest``."""
    done = []
    while len(triangles):
        edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
        small = edges.max(axis=1) <= longest
        done.append(triangles[small])
        triangles, edges = triangles[~small], edges[~small]
        # Rotate the corners so that the longest edge comes first, then halve it.
        order = (np.argmax(edges, axis=1)[:, np.newaxis] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(triangles, order[..., np.newaxis], axis=1), 1, 0)
        middle = 0.5 * (a + b)
        triangles = np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
    return np.concatenate(done)


def _seen(points: Array, normals: Array, cell: float) -> NDArray[np.bool_]:
    """Returns a mask of the points that are outermost from at least one of 26 directions."""
    seen = np.zeros(len(points), dtype=bool)
    width = 0.5 * cell
    # Opposite directions have the same pixels: half of the 26 are enough.
    for axis in itertools.islice(itertools.product((-1.0, 0.0, 1.0), repeat=3), 13):
        direction = np.array(axis) / np.linalg.norm(axis)
        across = np.linalg.svd(direction[np.newaxis])[2][1:]
        pixel = _numbered(np.floor(across @ points.T / width))
        for outward in (direction, -direction):
            height = points @ outward
            highest = np.full(pixel.max() + 1, -np.inf)
            np.maximum.at(highest, pixel, height)
            facing = normals @ outward
            # The height of a sloped surface varies across a pixel.
            slope = np.sqrt(1.0 - np.minimum(facing, 1.0) ** 2) / np.maximum(facing, MIN_FACING)
            depth = width * (0.5 + np.sqrt(2.0) * slope)
            seen |= (facing > MIN_FACING) & (height > highest[pixel] - depth)
    return seen


def _groups(points: Array, normals: Array, cell: float) -> Indices:
    """Returns piece indices that group points by grid cell and normal direction."""
    side = np.argmax(np.abs(normals), axis=1)
    sign = np.take_along_axis(normals, side[:, np.newaxis], axis=1)[:, 0] > 0.0
    return _numbered(np.stack([*np.floor(points.T / cell), side, sign]))


def _numbered(columns: Array) -> Indices:
    """Returns an index from 0 for each distinct column of integers."""
    # Pack columns into single integers: NumPy sorts those far faster than columns.
    cells = (columns - columns.min(axis=1, keepdims=True)).astype(np.int64)
    keys = np.ravel_multi_index(tuple(cells), tuple(cells.max(axis=1) + 1))
    return np.unique(keys, return_inverse=True)[1].reshape(-1)
