# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading of a robot description from a URDF file or a xacro file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dynamics_ros.errors import ModelError, meant
from dynamics_ros.files import read_file

from .doubts import LOG
from .hardened_xml import quoted, refuse_address
from .mesh_file import package_folder
from .xacro_private import packages_found_by


def read_description_file(
    path: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None
) -> str:
    """Return the URDF text of a file.

    Args:
        path: a URDF file, or a xacro file if its name ends in ``.xacro``; ``~`` is the home folder.
        xacro_arguments: values of the xacro file's ``<xacro:arg>``.

    Raises:
        ModelError: the file cannot be read or expanded.
    """
    if os.fspath(path).lstrip().startswith('<'):
        raise ModelError('file', f'{quoted(os.fspath(path))} is XML; give the path of its file')
    refuse_address(os.fspath(path))
    file = Path(os.path.expanduser(path))
    if file.suffix == '.xacro':
        return expanded_xacro(file, xacro_arguments or {})
    if xacro_arguments:
        raise ModelError(f'file {str(file)!r}', 'takes no xacro arguments: it is no .xacro file')
    try:
        text = read_file(file).decode()
    except OSError as error:
        raise ModelError(f'file {str(file)!r}', unreadable(file, error)) from error
    except UnicodeDecodeError as error:
        reason = f'cannot be read: {error}; save it as XML in UTF-8'
        raise ModelError(f'file {str(file)!r}', reason) from error
    # A parser would mistake such text for a file name.
    if (first := text.lstrip('\ufeff \t\r\n')[:1]) != '<':
        reason = 'is no URDF: XML begins with "<"' if first else 'is empty'
        raise ModelError(f'file {str(file)!r}', reason)
    return text


def unreadable(file: Path, error: OSError) -> str:
    """Returns why a file cannot be read, and which other file of its folder may be meant."""
    folder = Path(os.path.expanduser(file)).absolute().parent
    if not isinstance(error, FileNotFoundError):
        return f'cannot be read: {error.strerror}'
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return f'cannot be read: {error.strerror}; there is no folder {str(folder)!r}'
    return f'cannot be read: {error.strerror} in {str(folder)!r}{meant(file.name, names)}'


def expanded_xacro(path: str | os.PathLike[str], arguments: Mapping[str, object]) -> str:
    """Return the URDF text of a xacro file; the expansion runs expressions in the file.

    Packages in ``$(find package)`` are searched as those of meshes are, also if they are not built.

    Args:
        path: path of the file.
        arguments: values of its ``<xacro:arg>`` by name.

    Raises:
        ModelError: the file or the package xacro is missing, or xacro refuses the file.
    """
    try:
        import xacro
    except ImportError:
        reason = 'is xacro, and the package xacro is not installed (pip install xacro)'
        raise ModelError(f'file {os.fspath(path)!r}', reason) from None
    try:
        read_file(path)
    except OSError as error:
        raise ModelError(f'file {os.fspath(path)!r}', unreadable(Path(path), error)) from None
    mappings = _Arguments({name: str(value) for name, value in arguments.items()})
    missing: list[ModelError] = []

    def find(package: str) -> str:
        try:
            return str(package_folder(package, Path(path).parent))
        except ModelError as error:
            missing.append(error)
            raise

    try:
        with packages_found_by(find):
            text = str(xacro.process_file(os.fspath(path), mappings=mappings).toxml())
    except Exception as error:
        if missing:
            raise ModelError(f'file {os.fspath(path)!r}', str(missing[-1])) from None
        # Expressions in the file may raise any exception.
        problem = f'xacro cannot expand it: {type(error).__name__}: {error}'
        raise ModelError(f'file {os.fspath(path)!r}', problem) from error
    for name in arguments.keys() - mappings.asked if mappings.asked else ():
        LOG.warning(
            'file %r: no xacro:arg %r is evaluated; its value is not used%s',
            os.fspath(path),
            name,
            meant(name, mappings.asked),
        )
    return text


class _Arguments(dict[str, str]):
    """Arguments for xacro, which ignores those that its file does not declare.

    Attributes:
        asked: the names that xacro has looked up; empty if it works on a copy.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)
