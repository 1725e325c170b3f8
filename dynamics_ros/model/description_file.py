# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading of a robot description from a URDF file or a xacro file."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Mapping
from pathlib import Path

from dynamics_ros.errors import InvalidArgumentError, ModelError, meant
from dynamics_ros.files import read_file

from .doubts import LOG
from .hardened_xml import is_text, quoted, quoted_path
from .mesh_file import package_folders
from .xacro_private import packages_found_by

_ENCODING = re.compile(rb'\s*<\?xml[^>]*\sencoding\s*=\s*["\']([\w.:-]+)["\']')
"""Encoding of a file, as its XML declaration names it."""

_SLOW_ENCODINGS = ('idna', 'punycode')
"""Encodings of names of hosts, whose decoding takes longer than linear time."""


def description_text(
    source: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None
) -> str:
    """Return a source that is XML text, which begins with '<' after blanks, or the text of a file.

    Args:
        source: text, or the path of a file as of ``read_description_file``.
        xacro_arguments: values of the xacro file's ``<xacro:arg>``.

    Raises:
        ModelError: the file cannot be read or expanded.
        InvalidArgumentError: the source is neither text nor a path, or arguments come with text.
    """
    if not isinstance(source, (str, os.PathLike)):
        expected = 'the path of a URDF, xacro, MJCF or SDF file, or its text'
        raise InvalidArgumentError('source', f'a {type(source).__name__}', expected)
    text = os.fspath(source)
    if is_text(source):
        if xacro_arguments:
            expected = 'the path of a xacro file'
            raise InvalidArgumentError('xacro_arguments', 'given with text', expected)
        return text
    if text.isidentifier() and not os.path.exists(text):
        hint = f'robot_descriptions may have it: from_name({quoted(text)})'
        reason = f'there is no such file; {hint}'
        raise ModelError(f'file {quoted_path(text)}', reason)
    return read_description_file(source, xacro_arguments)


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
    text, file = os.fspath(path), Path(os.path.expanduser(path))
    where = f'file {quoted_path(file)}'
    if text.lstrip().startswith('<'):
        raise ModelError('file', f'{quoted(text)} is XML; give the path of its file')
    if '://' in text:
        reason = 'addresses are for meshes: give the path of the file'
        raise ModelError(f'file {quoted(text)}', reason)
    if file.suffix == '.xacro':
        return expanded_xacro(file, xacro_arguments or {})
    if xacro_arguments:
        raise ModelError(where, 'takes no xacro arguments: it is no .xacro file')
    try:
        content = read_file(file)
        text = content.decode(_encoding(content))
    except OSError as error:
        raise ModelError(where, unreadable(file, error)) from error
    except (LookupError, ValueError) as error:
        cure = '' if type(error) is ValueError else '; save it as XML in UTF-8'  # a wrong path
        raise ModelError(where, f'cannot be read: {error}{cure}') from error
    # A parser would mistake such text for a file name.
    if (first := text.lstrip('\ufeff \t\r\n')[:1]) != '<':
        raise ModelError(where, 'is no URDF: XML begins with "<"' if first else 'is empty')
    return text


def _encoding(content: bytes) -> str:
    """Return the encoding of a file, by its byte order mark or its XML declaration, else UTF-8.

    Raises:
        LookupError: there is none of that name.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return 'utf-16'
    declared = _ENCODING.match(content)
    name = codecs.lookup(declared[1].decode('ascii')).name if declared else 'utf-8'
    if name in _SLOW_ENCODINGS:
        raise LookupError(f'unknown encoding: {name}')
    return name


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
            return str(package_folders(package, Path(path).parent)[0])
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
