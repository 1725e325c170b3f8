# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading of mesh triangles: binary and text STL here, other formats through trimesh."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError
from dynamics_ros.files import read_file

from .hardened_xml import quoted, quoted_path, read_xml

Array = NDArray[np.float64]

FORMATS = ('.stl', '.obj', '.dae', '.ply', '.off', '.glb', '.gltf')
"""Suffixes of files that are read; none is compressed, so a file is as large as its content."""

PACKAGE = 'package://'
FILE, HOST = 'file://', 'file://localhost'
MANIFEST = 'package.xml'

_HEADER = 84
_FACET = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])


def read_mesh(path: Path) -> Array:
    """Return the triangles (n, 3, 3) of a file: triangle, corner, coordinate.

    Coordinates are in metres for COLLADA, which states its unit, and else in the unit of the file.

    Raises:
        ModelError: the file cannot be read, or is in a format that needs trimesh.
    """
    where = f'mesh {quoted_path(path)}'
    try:
        content = read_file(path)
    except OSError as error:
        raise ModelError(where, f'cannot be read: {error.strerror}') from error
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ModelError(where, f'is in none of the formats {", ".join(FORMATS)}; convert it')
    triangles = _stl(content, where) if suffix == '.stl' else _by_trimesh(path, where)
    if suffix == '.dae':
        triangles = triangles * _collada_unit(content, where)
    if not len(triangles):
        raise ModelError(where, 'has no triangle')
    if not np.isfinite(triangles).all():
        raise ModelError(where, 'has a corner that is not finite')
    return triangles


def _collada_unit(content: bytes, where: str) -> float:
    """Return the unit of length of a COLLADA file [m], which trimesh does not apply."""
    try:
        asset = read_xml(content).first_child('asset')
        unit = asset and asset.first_child('unit')
        metres = unit.number('meter', 1.0) if unit else 1.0
    except ModelError as error:
        raise ModelError(where, str(error)) from None
    if metres <= 0.0:
        raise ModelError(where, f'its unit of {metres:g} m is not positive')
    return metres


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
        description, as in a workspace that is not built. ``%20`` in an address is a space, and
        ``~`` the home folder.

    Raises:
        ModelError: there is no such file, or it is outside its package.
    """
    where = f'mesh {quoted(uri)}'
    # Exporters write a space as %20.
    texts = dict.fromkeys((unquote(uri), uri) if '://' in uri else (uri,))
    if uri.startswith(PACKAGE):
        package = uri.removeprefix(PACKAGE).partition('/')[0]
        rests = (text.removeprefix(PACKAGE).partition('/')[2].lstrip('/') for text in texts)
        paths = [os.path.normpath(rest) for rest in rests]
        for path in paths:
            if path == '..' or path.startswith('../'):
                reason = f'leads out of the package {quoted(package)}; expected a path in it'
                raise ModelError(where, reason)
        folders = package_folders(package, base, where)
        problem = f'not found in the package {quoted(package)} at {quoted_path(folders[0])}'
    else:
        folders, problem = [base or Path()], f'not found in {base or "."}'
        files = (text.replace(HOST, FILE, 1).removeprefix(FILE) for text in texts)
        paths = [os.path.expanduser(file) for file in files]
        if Path(paths[-1]).is_absolute():
            problem = 'not found'
    for path in paths:
        for folder in folders:
            if os.path.isfile(folder / path):
                return folder / path
    raise ModelError(where, problem)


def package_folders(package: str, base: Path | None = None, where: str = '$(find)') -> list[Path]:
    """Return the existing folders of a package, those with a manifest first.

    They are installed ones, and folders above a description, by their own name or that in their
    manifest, and beside these.

    Args:
        package: name of the package.
        base: folder of the description, above which it is searched too; see ``resolve_mesh``.
        where: what names the package, for the error.

    Raises:
        ModelError: there is no such package.
    """
    folders = []
    for variable, below in (
        ('AMENT_PREFIX_PATH', 'share'),
        ('CMAKE_PREFIX_PATH', 'share'),
        ('ROS_PACKAGE_PATH', ''),
    ):
        entries = filter(None, os.environ.get(variable, '').split(os.pathsep))
        folders += [Path(entry) / below / package for entry in entries]
    if base is not None:
        above = [base.absolute(), *base.absolute().parents]
        folders += [folder for folder in above if package in (folder.name, _manifest_name(folder))]
        folders += [folder / package for folder in above]
    found = [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]
    if not found or package in ('', '.', '..') or '/' in package:
        reason = (
            f'not found; source the workspace that has the package {quoted(package)}: it is not '
            'in AMENT_PREFIX_PATH or ROS_PACKAGE_PATH' + (', nor above the file' if base else '')
        )
        raise ModelError(where, reason)
    return sorted(found, key=lambda folder: not os.path.isfile(folder / MANIFEST))


def _manifest_name(folder: Path) -> str:
    """Return the name in the manifest of a package; '' if the folder has none."""
    try:
        found = re.search(rb'<name>\s*([\w-]+)\s*</name>', read_file(folder / MANIFEST, 1_000_000))
    except OSError:
        return ''
    return found[1].decode() if found else ''
