# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles, and the shapes of links and obstacles as geometries of coal."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.model.collision_geometry import Shape
from dynamics_ros.model.mesh_file import read_mesh
from dynamics_ros.multibody.arguments import rigid_pose

Array = NDArray[np.float64]

SIZES = {
    'box': 'three edges',
    'sphere': 'a radius',
    'cylinder': 'a radius and a length',
    'capsule': 'a radius and the length of its cylindrical part',
}
"""Meaning of the numbers of each kind of obstacle that is not a mesh [m]."""

_NUMBERS = {'box': 3, 'sphere': 1, 'cylinder': 2, 'capsule': 2}

LARGEST = 1e4
"""Largest coordinate or size of an obstacle [m]; the search for distances is exact to about 1e-6 of
the size."""

THICKNESS = 1e-4
"""Thickness that a flat mesh gets, because its convex hull has no volume [m]."""


def coal() -> Any:
    """Return the module coal.

    Raises:
        ModelError: it is not installed.
    """
    try:
        return import_module('coal')
    except ImportError:
        reason = 'need the Python package coal (pip install coal, or dynamics_ros[collision])'
        raise ModelError('collisions', reason) from None


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A body around the robot, or one that a link carries.

    Attributes:
        kind: 'box', 'sphere', 'cylinder' or 'capsule', centred at the pose with its axis along z;
            or 'mesh', of which the convex hull counts.
        size: [m]: three edges; a radius; a radius and a length, for a capsule that of its
            cylindrical part. Empty for a mesh.
        pose: (4, 4) pose in ``frame``, or (position, quaternion x y z w).
        frame: link that carries it; '' is the root frame of the robot.
        mesh: path of a mesh file, or triangles (n, 3, 3) [m]; None for other kinds.
        touching: links that it may touch, such as the fingers that hold it.
    """

    kind: str
    size: Sequence[float] = ()
    pose: ArrayLike | None = None
    frame: str = ''
    mesh: str | os.PathLike[str] | ArrayLike | None = None
    touching: Sequence[str] = ()

    def shape(self, name: str) -> Shape:
        """Return the checked shape; the pose of its triangles is in ``frame``.

        Args:
            name: name of the obstacle in error messages.

        Raises:
            InvalidArgumentError: kind, size, pose or mesh is wrong.
            ModelError: the mesh file cannot be read.
        """
        where = f'obstacle {name!r}'
        if self.kind not in (*SIZES, 'mesh'):
            raise InvalidArgumentError(where, f'kind {self.kind!r}', f'one of {(*SIZES, "mesh")}')
        pose = np.eye(4) if self.pose is None else np.array(rigid_pose(where, self.pose))
        if np.abs(pose[:3, 3]).max() > LARGEST:
            raise InvalidArgumentError(where, 'its position is too far', f'below {LARGEST:g} m')
        if self.kind == 'mesh':
            return Shape('mesh', (), pose, _moved(self._triangles(where), pose))
        size = np.atleast_1d(np.asarray(self.size, dtype=float))
        within = (size > 0.0) & (size <= LARGEST)
        if size.shape != (_NUMBERS[self.kind],) or not within.all():
            expected = f'{SIZES[self.kind]}, positive and at most {LARGEST:g} m'
            raise InvalidArgumentError(where, f'size {self.size!r}', expected)
        return Shape(self.kind, tuple(size.tolist()), pose, np.empty((0, 3, 3)))

    def _triangles(self, where: str) -> Array:
        if isinstance(self.mesh, (str, os.PathLike)):
            return read_mesh(Path(self.mesh))
        triangles = np.asarray([] if self.mesh is None else self.mesh, dtype=float)
        shaped = triangles.ndim == 3 and triangles.shape[1:] == (3, 3) and len(triangles)
        if not shaped or not np.abs(triangles).max() <= LARGEST:
            expected = f'a file, or finite triangles (n, 3, 3) within {LARGEST:g} m'
            raise InvalidArgumentError(where, f'mesh of shape {triangles.shape}', expected)
        return triangles


def _moved(triangles: Array, pose: Array) -> Array:
    moved: Array = triangles @ pose[:3, :3].T + pose[:3, 3]
    return moved


class Body:
    """A convex shape of coal with its bounding sphere.

    Attributes:
        link: name of the link or of the obstacle.
        geometry: of coal.
        pose: (4, 4) pose in the frame that carries it.
        centre: (3) centre of the bounding sphere in that frame [m].
        radius: of the bounding sphere [m].
    """

    geometry: Any

    def __init__(self, link: str, shape: Shape) -> None:
        """Make the geometry of a shape.

        Raises:
            ModelError: coal is not installed, or a mesh has no convex hull.
        """
        library, size = coal(), shape.size
        self.link, self.pose, self.centre = link, shape.pose, shape.pose[:3, 3]
        if shape.kind == 'box':
            self.geometry, self.radius = library.Box(*size), 0.5 * float(np.linalg.norm(size))
        elif shape.kind == 'sphere':
            self.geometry, self.radius = library.Sphere(*size), size[0]
        elif shape.kind == 'cylinder':
            self.geometry, self.radius = library.Cylinder(*size), math.hypot(size[0], 0.5 * size[1])
        elif shape.kind == 'capsule':
            self.geometry, self.radius = library.Capsule(*size), size[0] + 0.5 * size[1]
        else:
            points = np.unique(shape.triangles.reshape(-1, 3), axis=0)
            self.centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
            self.pose = np.eye(4)
            self.pose[:3, 3] = self.centre
            corners, faces = _convex_hull(link, points - self.centre)
            self.radius = float(np.linalg.norm(corners, axis=1).max())
            vertices, triangles = library.StdVec_Vec3s(), library.StdVec_Triangle()
            for corner in corners:
                vertices.append(corner)
            for face in faces.tolist():
                triangles.append(library.Triangle(*face))
            self.geometry = library.Convex(vertices, triangles)


def _convex_hull(link: str, points: Array) -> tuple[Array, NDArray[np.intp]]:
    """Corners (k, 3) of the convex hull of points, and its faces (n, 3).

    The corners of a face are counterclockwise as seen from outside. A flat mesh gets a thickness.

    Raises:
        ModelError: the points have no convex hull.
    """
    thick = THICKNESS * (np.array([*np.ndindex(2, 2, 2)]) - 0.5)
    for cloud in (points, (points[:, None] + thick).reshape(-1, 3)):
        with suppress(scipy.spatial.QhullError):
            hull = scipy.spatial.ConvexHull(cloud)
            break
    else:
        raise ModelError(f'mesh of {link!r}', 'has no convex hull')
    a, b, c = cloud[hull.simplices].transpose(1, 0, 2)
    inward = np.einsum('ij,ij->i', np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces = np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)
    used, faces = np.unique(faces, return_inverse=True)
    return cloud[used], faces.reshape(-1, 3)
