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

_LONGEST = 80
"""Characters of a path in a message."""

_HEADER = 84
_FACET = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])


def read_mesh(path: Path) -> Array:
    """Return the triangles (n, 3, 3) of a file: triangle, corner, coordinate [unit of the file].

    Raises:
        ModelError: the file cannot be read, or is in a format that needs trimesh.
    """
    where = f'mesh {_shown(path)}'
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


def _shown(path: Path) -> str:
    """Return the end of a path, which tells files apart."""
    text = str(path)
    return quoted(text if len(text) <= _LONGEST else '...' + text[-_LONGEST + 3 :])


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
        raise ModelError(where, _needs(path, 'trimesh')) from None
    try:
        return np.asarray(trimesh.load(path, force='mesh').triangles, dtype=np.float64)
    except Exception as error:  # each format raises its own errors
        if 'pip install pycollada' in str(error):
            raise ModelError(where, _needs(path, 'pycollada')) from None
        raise ModelError(where, f'trimesh cannot read it: {error}') from error


def _needs(path: Path, package: str) -> str:
    form = path.suffix or 'this format'
    return f'reading {form} needs the Python package {package} (pip install {package})'


def resolve_mesh(uri: str, base: Path | None = None) -> Path:
    """Return the file that a description's ``filename`` refers to.

    Args:
        uri: ``package://name/path``, ``file://path`` or a path.
        base: folder of the description, from which relative paths start; None for the working
            folder, and to search packages in the environment alone.

    Returns:
        A path of an existing file. Packages are searched as ``share/name`` in AMENT_PREFIX_PATH
        and CMAKE_PREFIX_PATH, as ``name`` in ROS_PACKAGE_PATH, and in the folders above the
        description, as in a workspace that is not built.

    Raises:
        ModelError: there is no such file.
    """
    where = f'mesh {quoted(uri)}'
    if not uri.startswith(PACKAGE):
        path = (base or Path()) / uri.removeprefix(FILE)
        if path.is_file():
            return path
        raise ModelError(
            where, 'not found' if path.is_absolute() else f'not found in {base or "."}'
        )
    package, _, rest = uri.removeprefix(PACKAGE).partition('/')
    folders = [*_installed_packages(package), *_packages_above(package, base)]
    for folder in folders:
        if (folder / rest).is_file():
            return folder / rest
    there = [folder for folder in folders if folder.is_dir()]
    if there:
        raise ModelError(where, f'not found in the package {quoted(package)} at {_shown(there[0])}')
    raise ModelError(
        where,
        f'not found; source the workspace that has the package {quoted(package)}: it is not in '
        'AMENT_PREFIX_PATH or ROS_PACKAGE_PATH' + (', nor above the file' if base else ''),
    )


def _installed_packages(package: str) -> list[Path]:
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


def _packages_above(package: str, base: Path | None) -> list[Path]:
    """Folders with the name of a package that contain a description, or lie beside such a folder.

    A name of several parts is no package.
    """
    if base is None or package in ('', '.', '..'):
        return []
    above = [base.absolute(), *base.absolute().parents]
    return [folder for folder in above if folder.name == package] + [
        folder / package for folder in above
    ]
