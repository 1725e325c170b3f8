# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as one C99 file and its header, and how files are written."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import trace
from dynamics_ros.kernels.source.c import c_function
from dynamics_ros.model import Model
from dynamics_ros.multibody.definitions import Key, define
from dynamics_ros.robot import Robot

from .casadi_interface import interface, jacobian_of
from .catalogue import key_of
from .layout import Function, header, source


def export_kernels(
    robot: Robot,
    kernels: Iterable[str],
    folder: str | os.PathLike[str],
    prefix: str | None = None,
    casadi: bool = False,
) -> tuple[Path, Path]:
    """Write kernels of a robot as C99 that needs nothing but math.h, and compiles as C++ too.

    The functions allocate nothing and keep no state; the header says what each takes and returns.

    Args:
        robot: whose kernels; its gravity, payload and locked joints become constants, of an
            adjustable robot as well.
        kernels: names with their options, such as ``'inverse_dynamics'``,
            ``'forward_kinematics:tool0'`` or ``'jacobian:tool0:local'``.
        folder: where the files go; made if it is not there.
        prefix: of every name in the files and of the files themselves; the robot's name by default.
        casadi: whether the C file also has external functions of CasADi, with Jacobians.

    Returns:
        The paths of ``<prefix>_kernels.c`` and ``<prefix>_kernels.h``.

    Raises:
        InvalidArgumentError: no kernels, an unknown one, wrong options, a prefix that is no
            identifier of C, or a folder that cannot be written.
        UnknownFrameError: no such frame.
        SingularError: a joint moves nothing with mass, in a kernel that divides by it.
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
    code, declarations = write_files(folder, kernel_files(robot, keys, prefix, casadi))
    return code, declarations


def kernel_files(
    robot: Robot, keys: Iterable[Key], prefix: str, casadi: bool = False
) -> dict[str, str]:
    """The texts of ``<prefix>_kernels.c`` and ``<prefix>_kernels.h`` by their names.

    Args:
        robot, prefix, casadi: as of ``export_kernels``.
        keys: of the kernels, in the order of their functions.

    Raises:
        InvalidArgumentError: two kernels would have one name in C.
        SingularError: a joint moves nothing with mass, in a kernel that divides by it.
    """
    functions = _functions(robot.model, keys, prefix, casadi)
    return {
        f'{prefix}_kernels.c': source(robot, functions, prefix, writer()),
        f'{prefix}_kernels.h': header(robot, functions, prefix, writer()),
    }


def write_files(folder: str | os.PathLike[str], texts: Mapping[str, str]) -> list[Path]:
    """Write texts to a folder, each at once, and return their paths in the order of the texts.

    Args:
        folder: made if it is not there.
        texts: by their paths below it.

    Raises:
        InvalidArgumentError: a folder that cannot be written.
    """
    paths = [Path(folder, name) for name in texts]
    try:
        for path, text in zip(paths, texts.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, text)
    except OSError as error:
        problem = f'{str(folder)!r}: {error.strerror}'
        raise InvalidArgumentError('folder', problem, 'a folder that can be written') from error
    return paths


def _functions(model: Model, keys: Iterable[Key], prefix: str, casadi: bool) -> list[Function]:
    """The kernels, each once, in the order in which they are named."""
    functions: dict[str, Function] = {}
    for key in dict.fromkeys(keys):
        name = function_name(prefix, key)
        if name in functions:
            problem = f'{":".join(functions[name].key)!r} and {":".join(key)!r}'
            raise InvalidArgumentError('kernels', problem, f'names that differ, not twice {name}')
        formula = define(model, key)
        traced = trace(formula.function, formula.inputs, name, ' '.join(key))
        functions[name] = Function(key, traced, c_function(traced))
        if casadi:
            slopes = jacobian_of(traced, formula)
            functions[name] = functions[name]._replace(
                external=interface(traced, slopes), traces=[] if slopes is None else [slopes]
            )
    return list(functions.values())


def function_name(prefix: str, key: Key) -> str:
    """What the function of a kernel is called in C."""
    return '_'.join([prefix, *map(_part, key)])


def _identifier(name: str) -> str:
    part = _part(name)
    return part if part and not part[0].isdigit() else f'robot_{part}'


def _part(text: str) -> str:
    """A text as a part of an identifier."""
    return re.sub('[^A-Za-z0-9_]', '_', text)


def writer() -> str:
    """What has written a file, with its version."""
    try:
        return f'dynamics_ros {version("dynamics_ros")}'
    except PackageNotFoundError:
        return 'dynamics_ros (not installed)'


def _write(path: Path, text: str) -> None:
    """Replace a file at once: nobody sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with os.fdopen(handle, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
