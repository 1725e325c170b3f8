# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writes kernels as one C99 file and its header."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import trace
from dynamics_ros.kernels.source.c import c_function
from dynamics_ros.model import Model
from dynamics_ros.multibody.definitions import define
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
    prefix = _identifier(robot.name) if prefix is None else prefix
    if not re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', prefix):
        raise InvalidArgumentError('prefix', repr(prefix), 'an identifier of C')
    texts = [kernels] if isinstance(kernels, str) else list(kernels)
    if not texts:
        raise InvalidArgumentError('kernels', 'none', 'at least one')
    functions = _functions(robot.model, texts, prefix, casadi)
    writer = f'dynamics_ros {_version()}'
    target = Path(folder)
    code, declarations = (target / f'{prefix}_kernels.{suffix}' for suffix in ('c', 'h'))
    try:
        target.mkdir(parents=True, exist_ok=True)
        _write(declarations, header(robot, functions, prefix, writer))
        _write(code, source(robot, functions, prefix, writer))
    except OSError as error:
        problem = f'{str(folder)!r}: {error.strerror}'
        raise InvalidArgumentError('folder', problem, 'a folder that can be written') from error
    return code, declarations


def _functions(model: Model, texts: Sequence[str], prefix: str, casadi: bool) -> list[Function]:
    """The kernels, each once, in the order in which they are named."""
    functions: dict[str, Function] = {}
    for key in dict.fromkeys(key_of(text, model) for text in texts):
        name = '_'.join([prefix, *map(_part, key)])
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


def _identifier(name: str) -> str:
    part = _part(name)
    return part if part and not part[0].isdigit() else f'robot_{part}'


def _part(text: str) -> str:
    """A text as a part of an identifier."""
    return re.sub('[^A-Za-z0-9_]', '_', text)


def _version() -> str:
    try:
        return version('dynamics_ros')
    except PackageNotFoundError:
        return '(not installed)'


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
