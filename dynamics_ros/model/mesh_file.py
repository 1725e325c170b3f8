# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading of mesh triangles: binary and text STL here, other formats through trimesh."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError

from .hardened_xml import quoted

Array = NDArray[np.float64]

MAXIMUM_MESH_SIZE = 100_000_000
"""Size limit of a mesh file [bytes]; a collision mesh is far smaller."""

PACKAGE = 'package://'
FILE = 'file://'

_HEADER = 84
_FACET = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])


def read_mesh(path: Path) -> Array:
    """Return the triangles (n, 3, 3) of a file: triangle, corner, coordinate [unit of the file].

    Raises:
        ModelError: the file cannot be read, or is in a format that needs trimesh.
    """
    where = f'mesh {quoted(str(path))}'
    try:
        if path.stat().st_size > MAXIMUM_MESH_SIZE:
            raise ModelError(where, f'larger than {MAXIMUM_MESH_SIZE // 1_000_000} MB')
        content = path.read_bytes() if path.suffix.lower() == '.stl' else None
    except OSError as error:
        raise ModelError(where, f'cannot be read: {error.strerror}') from error
    triangles = _by_trimesh(path, where) if content is None else _stl(content, where)
    if not len(triangles):
        raise ModelError(where, 'has no triangle')
    if not np.isfinite(triangles).all():
        raise ModelError(where, 'has a corner that is not finite')
    return triangles


def _stl(content: bytes, where: str) -> Array:
    # Some binary files begin with the keyword of the text form; their size distinguishes them.
    if len(content) >= _HEADER:
        count = int.from_bytes(content[80:_HEADER], 'little')
        if len(content) == _HEADER + count * _FACET.itemsize:
            facets = np.frombuffer(content, _FACET, count, _HEADER)
            return facets['corners'].astype(np.float64)
    if not content.lstrip().startswith(b'solid'):
        raise ModelError(where, 'is neither binary STL of the size it states nor STL text')
    words = content.split()
    corners = [words[i + 1 : i + 4] for i, word in enumerate(words) if word == b'vertex']
    try:
        return np.array(corners, dtype=np.float64).reshape(-1, 3, 3)
    except ValueError:
        raise ModelError(where, 'is STL text with a facet that is not three corners') from None


def _by_trimesh(path: Path, where: str) -> Array:
    try:
        trimesh = import_module('trimesh')
    except ImportError:
        raise ModelError(
            where, f'reading {path.suffix or "this format"} needs the Python package trimesh'
        ) from None
    try:
        return np.asarray(trimesh.load(path, force='mesh').triangles, dtype=np.float64)
    except Exception as error:  # each format raises its own errors
        raise ModelError(where, f'trimesh cannot read it: {error}') from error


def resolve_mesh(uri: str, base: Path | None = None) -> Path:
    """Return the file that a description's ``filename`` refers to.

    Args:
        uri: ``package://name/path``, ``file://path`` or a path.
        base: folder of relative paths; None for the working folder.

    Returns:
        A path of an existing file. Packages are searched as ``share/name`` in AMENT_PREFIX_PATH
        and CMAKE_PREFIX_PATH and as ``name`` in ROS_PACKAGE_PATH.

    Raises:
        ModelError: there is no such file; names the searched places.
    """
    if uri.startswith(PACKAGE):
        package, _, rest = uri.removeprefix(PACKAGE).partition('/')
        candidates = [folder / rest for folder in _package_folders(package)]
    else:
        candidates = [(base or Path()) / uri.removeprefix(FILE)]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = ', '.join(quoted(str(candidate)) for candidate in candidates[:4]) or (
        'no folder: AMENT_PREFIX_PATH and ROS_PACKAGE_PATH are empty'
    )
    raise ModelError(f'mesh {quoted(uri)}', f'not found; looked at {looked}')


def _package_folders(package: str) -> list[Path]:
    folders = []
    for variable, below in (
        ('AMENT_PREFIX_PATH', 'share'),
        ('CMAKE_PREFIX_PATH', 'share'),
        ('ROS_PACKAGE_PATH', ''),
    ):
        for entry in os.environ.get(variable, '').split(os.pathsep):
            if entry:
                folders.append(Path(entry) / below / package)
    return list(dict.fromkeys(folders))
