# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Export of kernels as a C99 file and its header; writing of exported files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dynamics_ros.algorithms.quantity import (
    DEFAULT_REFERENCE,
    DEFINITIONS,
    Definition,
    Key,
    Options,
    define,
)
from dynamics_ros.errors import InvalidArgumentError, closest
from dynamics_ros.files import NotWrittenError, write_files
from dynamics_ros.kernels import trace
from dynamics_ros.kernels.source import c_function
from dynamics_ros.model import Model
from dynamics_ros.robot import Robot

from .layout import Function, header, source


def export_kernels(
    robot: Robot,
    kernels: Iterable[str],
    folder: str | os.PathLike[str],
    prefix: str | None = None,
) -> tuple[Path, Path]:
    """Write kernels of a robot as C99 code that needs only math.h and also compiles as C++.

    The functions allocate no memory and have no state; the header documents arguments and results.

    Args:
        robot: the robot. Its gravity, payload and locked joints become constants, also those of an
            adjustable robot.
        kernels: names with options, such as ``'inverse_dynamics'``, ``'forward_kinematics:tool0'``
            or ``'jacobian:tool0:local'``.
        folder: folder of the files; it is created if it does not exist.
        prefix: prefix of the files and of all names in them; the robot's name by default.

    Returns:
        The paths of ``<prefix>_kernels.c`` and ``<prefix>_kernels.h``.

    Raises:
        InvalidArgumentError: there are no kernels, a kernel is unknown, options are wrong, the
            prefix is not a C identifier, or the folder cannot be written.
        UnknownFrameError: a frame does not exist.
        SingularError: a kernel inverts the mass matrix, and a joint moves nothing that has mass.
    """
    if not isinstance(robot, Robot):
        raise InvalidArgumentError('robot', f'a {type(robot).__name__}', 'a Robot')
    prefix = _identifier(robot.name) if prefix is None else prefix
    if not (isinstance(prefix, str) and re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', prefix)):
        raise InvalidArgumentError('prefix', repr(prefix), 'an identifier of C')
    texts = [kernels] if isinstance(kernels, str) or not isinstance(kernels, Iterable) else kernels
    texts = list(texts)
    if not all(isinstance(text, str) for text in texts):
        raise InvalidArgumentError('kernels', repr(kernels), 'a list of names of kernels')
    if not texts:
        raise InvalidArgumentError('kernels', 'none', 'at least one')
    keys = [key_of(text, robot.model) for text in texts]
    code, declarations = write_package(folder, kernel_files(robot, keys, prefix))
    return code, declarations


def kernel_files(robot: Robot, keys: Iterable[Key], prefix: str) -> dict[str, str]:
    """Texts of ``<prefix>_kernels.c`` and ``<prefix>_kernels.h``, by file name.

    Args:
        robot, prefix: as for ``export_kernels``.
        keys: keys of the kernels, in the order of their functions.

    Raises:
        InvalidArgumentError: two kernels would have the same name in C.
        SingularError: a kernel inverts the mass matrix, and a joint moves nothing that has mass.
    """
    functions = _functions(robot.model, keys, prefix)
    return {
        f'{prefix}_kernels.c': source(robot, functions, prefix, writer()),
        f'{prefix}_kernels.h': header(robot, functions, prefix, writer()),
    }


def write_package(folder: str | os.PathLike[str], texts: Mapping[str, str]) -> list[Path]:
    """Write all files of a folder or none; return their paths in the order of ``texts``.

    Args:
        folder: the folder; it is created if it does not exist.
        texts: contents by path relative to the folder.

    Raises:
        InvalidArgumentError: the folder cannot be written.
    """
    contents: dict[Path, str | bytes] = {Path(folder, name): text for name, text in texts.items()}
    try:
        write_files(contents)
    except NotWrittenError as error:
        raise InvalidArgumentError('folder', str(error), 'a folder that can be written') from error
    return list(contents)


def _functions(model: Model, keys: Iterable[Key], prefix: str) -> list[Function]:
    """Traces and C code of the kernels, without duplicates, in the order of the keys."""
    functions: dict[str, Function] = {}
    for key in dict.fromkeys(keys):
        name = function_name(prefix, key)
        if name in functions:
            problem = f'{":".join(functions[name].key)!r} and {":".join(key)!r}'
            expected = f'kernels with different names in C, not twice {name}'
            raise InvalidArgumentError('kernels', problem, expected)
        formula = define(model, key)
        traced = trace(formula.function, formula.inputs, name, ' '.join(key))
        functions[name] = Function(key, traced, c_function(traced))
    return list(functions.values())


def function_name(prefix: str, key: Key) -> str:
    """Name of the C function of a kernel."""
    return '_'.join([prefix, *map(_part, key)])


def _identifier(name: str) -> str:
    part = _part(name)
    return part if part and not part[0].isdigit() else f'robot_{part}'


def _part(text: str) -> str:
    """A text with all characters that are not allowed in an identifier replaced by ``_``."""
    return re.sub('[^A-Za-z0-9_]', '_', text)


def writer() -> str:
    """Name and version of this package, for the first line of written files."""
    try:
        return f'dynamics_ros {version("dynamics_ros")}'
    except PackageNotFoundError:
        return 'dynamics_ros (not installed)'


def catalogue() -> dict[str, Definition]:
    """Return what can be exported by name: methods of a robot, and control laws.

    Other quantities are parts of solvers and observers, whose state is in Python.
    """
    return {name: x for name, x in DEFINITIONS.items() if not x.internal or x.exported}


def usages() -> dict[str, str]:
    """Summary of each kernel, by its name with the syntax of its options."""
    return {name + x.options.value: x.summary for name, x in catalogue().items()}


def key_of(text: str, model: Model) -> Key:
    """Key of a kernel that is written as its name and options, separated by colons.

    Raises:
        InvalidArgumentError: the kernel does not exist, or its options are wrong.
        UnknownFrameError: a frame does not exist.
    """
    name, *options = text.split(':')
    known = catalogue()
    definition = known.get(name)
    if definition is None:
        close = [other + known[other].options.value for other in closest(name, known)]
        first = f'{", ".join(close)}, or another ' if close else ''
        raise InvalidArgumentError(
            'kernels',
            f'no kernel {name!r}',
            f'{first}one of {len(known)}, which `export_kernels --list` prints',
        )
    if definition.options is Options.FRAME_AND_REFERENCE and len(options) == 1:
        options.append(DEFAULT_REFERENCE)
    if definition.options is Options.CONSTRAINTS and not options:
        raise InvalidArgumentError('kernels', repr(text), name + definition.options.value)
    definition.formula(model, *options)
    return name, *options
