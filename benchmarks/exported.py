# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exported C code compared with native C++ Pinocchio, in one program without Python.

Pinocchio is compiled from the headers of its wheel and Eigen's completely into the program, because
the libraries of the wheel are built for generic processors. Our code is that of ``export_kernels``.
Both are compiled with ``-O3 -march=native``. Calls alternate in slices of a millisecond; the median
counts.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.descriptions import bare
from benchmarks.peers import peer_folder
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.records import Goal, Record
from benchmarks.robots import Subject, urdf_path
from benchmarks.timing import Effort
from dynamics_ros import Robot, export_kernels

Array = NDArray[np.float64]

SUITE = 'dynamics'
PREFIX = 'ours'
SOURCE = Path(__file__).with_name('native_pinocchio.cpp')
FLAGS = ('-O3', '-march=native', '-DNDEBUG')
LISTS = (
    '-DBOOST_MPL_LIMIT_LIST_SIZE=30',
    '-DBOOST_MPL_LIMIT_VECTOR_SIZE=30',
    '-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS',
    '-DBOOST_FUSION_INVOKE_MAX_ARITY=12',
)
"""Definitions of Pinocchio's own CMake for its list of joint types."""

KERNELS = ('inverse_dynamics', 'mass_matrix', 'forward_dynamics')

AGREEMENT = 1e-9
"""Tolerance relative to the largest number of a result."""

GOAL = Goal(0.5)


def run(subjects: list[Subject], effort: Effort) -> Iterator[Record]:
    """Time each case on each robot; skipped without a compiler or Eigen."""
    if shutil.which('cc') is None or shutil.which('c++') is None:
        print('exported C is left out: it takes a C and a C++ compiler')
        return
    eigen = peer_folder('cmeel-eigen')
    if eigen is None:
        return
    packages = Path(sysconfig.get_path('purelib')) / 'cmeel.prefix' / 'include'
    headers = [f'-isystem{x}' for x in (packages, eigen / 'cmeel.prefix' / 'include' / 'eigen3')]
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / 'native_pinocchio'
        _run('c++', '-std=c++17', *FLAGS, *LISTS, *headers, SOURCE, '-o', program, '-ldl')
        for subject in subjects:
            yield from _timed(subject, effort, program, Path(name))


def _timed(subject: Subject, effort: Effort, program: Path, folder: Path) -> Iterator[Record]:
    text = bare(urdf_path(subject.name), subject.locked)
    robot = Robot.from_urdf(text, subject.root)
    peer = PinocchioPeer(text, robot)
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    v, a = rng.normal(size=(2, robot.nv))
    model, library = folder / 'model', folder / f'{subject.name}.so'
    model.write_text(_model(peer, subject.frame) + _state(peer, q, v, a))
    jacobian = f'jacobian:{subject.frame}:local_world_aligned'
    code, header = export_kernels(robot, [*KERNELS, jacobian], folder, PREFIX)
    name = f'{PREFIX}_{jacobian.replace(":", "_")}'
    assert f'{name}(' in header.read_text()
    renamed = f'-D{name}={PREFIX}_jacobian'
    _run('cc', '-std=gnu99', *FLAGS, '-shared', '-fPIC', renamed, code, '-o', library, '-lm')
    lines = _run(program, model, library, effort.repeats, effort.slice_seconds).splitlines()
    for told, ours, theirs in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        case, *seconds = told.split()
        _check(case, peer, np.array(ours.split(), float), np.array(theirs.split(), float))
        value, peer_value = (float(x) * 1e6 for x in seconds)
        what = f'exported {case}'
        yield Record(SUITE, what, subject.name, value, 'us', 'pinocchio C++', peer_value, GOAL)


def _check(case: str, peer: PinocchioPeer, ours: Array, theirs: Array) -> None:
    """Check that both agree; Pinocchio's matrices are column-major, M has only its upper half.

    Raises:
        AssertionError: they differ.
    """
    n = peer.model.nv
    if case == 'CRBA':
        upper = np.triu(theirs.reshape(n, n).T)
        theirs = peer.G.T @ (upper + np.triu(upper, 1).T) @ peer.G
    elif case == 'Jacobian':
        theirs = theirs.reshape(n, 6).T @ peer.G
    else:
        theirs = peer.G.T @ theirs
    error = np.abs(ours - theirs.ravel()).max() / np.abs(theirs).max()
    assert error <= AGREEMENT, f'{case}: {error}'


def _model(peer: PinocchioPeer, frame: str) -> str:
    """Pinocchio's model and the frame as text for ``native_pinocchio.cpp``."""
    model = peer.model
    lines = [_number_text(model.gravity.linear), str(model.njoints - 1)]
    for i in range(1, model.njoints):
        joint, inertia = model.joints[i], model.inertias[i]
        own = joint.extract()
        axis = _number_text(own.axis if 'Unaligned' in joint.shortname() else np.zeros(3))
        lines.append(f'{model.parents[i]} {joint.shortname()} {axis}')
        lines.append(_number_text(model.jointPlacements[i].homogeneous))
        lines.append(
            f'{inertia.mass!r} {_number_text(inertia.lever)} {_number_text(inertia.inertia)}'
        )
    tool = model.frames[peer.frame_id(frame)]
    lines.append(f'{tool.parentJoint} {_number_text(tool.placement.homogeneous)}')
    return '\n'.join(lines) + '\n'


def _state(peer: PinocchioPeer, q: Array, v: Array, a: Array) -> str:
    """The state in our coordinates, then in Pinocchio's, as text."""
    theirs = peer.configuration(q), peer.velocity(v), peer.velocity(a)
    return '\n'.join([f'{len(q)} {len(v)}', *map(_number_text, (q, v, a, *theirs))]) + '\n'


def _number_text(values: Array) -> str:
    return ' '.join(repr(float(x)) for x in np.ravel(values))


def _run(*command: Any) -> str:
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True, timeout=3600)
    if done.returncode != 0:
        raise RuntimeError(f'{command[0]} failed: {done.stderr[-2000:]}')
    return done.stdout
