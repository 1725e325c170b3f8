# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals on recordings of real arms, compared with figaroh and plain least squares.

The recordings are not part of this repository; `--recordings` is their folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.identification_arms import SUITE, figure
from benchmarks.peers import peer_python
from benchmarks.records import Goal, Record
from benchmarks.robots import robots_folder
from dynamics_ros.calibration.recorded import Subject, read_subject
from dynamics_ros.identification import Identified, JointSamples, identify
from dynamics_ros.identification.equations import Chunk, Filtered
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.joint_states.samples import joined

Array = NDArray[np.float64]

PLAIN, FIGAROH = 'least squares', 'figaroh'


@dataclass(frozen=True)
class Split:
    """A recording for training, and one for testing.

    Attributes:
        robot: robot name.
        description: path of the URDF in the folder of robots.
        train, test: files; if they are equal, the recording is divided.
        goal: largest residual relative to the efforts [%].
    """

    robot: str
    description: str
    train: str
    test: str
    goal: float


PANDA, UR10 = 'panda/panda_exciting_trajectory.db3', 'ur10/ur10_exciting_trajectory.db3'
SPLITS = (
    Split('panda', 'panda_description/urdf/panda.urdf', PANDA, PANDA, 1.8),
    Split('ur10', 'ur_description/urdf/ur10_robot.urdf', UR10, UR10, 6.0),
    Split('ur3', 'ur_description/urdf/ur3_robot.urdf', 'ur3/id1.bag', 'ur3/id2.bag', 10.5),
)
SHARE = 0.7


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Residuals of each recording, in total and by joint, and the time, compared with the peers."""
    for split, subject, train, test in divided(options):
        yield from _measured(split, subject, train, test, options)


def divided(
    options: argparse.Namespace,
) -> Iterator[tuple[Split, Subject, JointSamples, JointSamples]]:
    """Each recording that is there, with its robot, and its parts for training and for testing."""
    for split in SPLITS:
        if options.robot not in split.robot:
            continue
        files = list(dict.fromkeys((split.train, split.test)))
        absent = [f for f in files if not (options.recordings / f).exists()]
        if absent:
            print(f'{split.robot} is left out: there is no {options.recordings / absent[0]}')
            continue
        subject = read_subject(
            str(robots_folder() / split.description), [options.recordings / f for f in files]
        )
        whole, other = subject.recordings[0], subject.recordings[-1]
        if len(files) > 1:
            yield split, subject, whole, other
        else:
            yield split, subject, whole.between(0.0, SHARE), whole.between(SHARE, 1.0)


def _measured(
    split: Split,
    subject: Subject,
    train: JointSamples,
    test: JointSamples,
    options: argparse.Namespace,
) -> Iterator[Record]:
    identify(subject.robot, [train])  # The kernels of a machine are compiled once.
    begin = time.perf_counter()
    identified = identify(subject.robot, [train])
    seconds = time.perf_counter() - begin
    ours, parts = identified.evaluate(test), list(identified.maker.filtered(test))
    case = 'id1, tested on id2' if split.train != split.test else '70 %, tested on 30 %'
    rms = {PLAIN: _least_squares_rms(identified, train, test)}
    theirs = _figaroh(subject, identified, train, parts) if FIGAROH in options.peers else None
    if theirs is not None:
        efforts = np.split(theirs[0], np.cumsum([len(part.q) for part in parts])[:-1])
        modelled = [part.narrow(own) for part, own in zip(parts, efforts, strict=True)]
        rms[FIGAROH] = _rms(ours.measured - np.concatenate(modelled))
    size = float(np.sqrt((ours.measured**2).sum(axis=1).mean()))
    own = 100.0 * float(np.linalg.norm(ours.rms)) / size
    yield figure(f'{case}: left over', split.robot, own, '%', split.goal)
    for peer, left in rms.items():
        beside = 100.0 * float(np.linalg.norm(left)) / size
        yield Record(SUITE, f'{case}: left over', split.robot, own, '%', peer, beside)
    if theirs is None:
        return
    worst = int(np.argmax(ours.rms / rms[FIGAROH]))
    both = float(ours.rms[worst]), float(rms[FIGAROH][worst])
    name = f'worst joint, number {worst + 1}'
    yield Record(SUITE, name, split.robot, both[0], 'Nm', FIGAROH, both[1], Goal(1.1))
    yield Record(SUITE, 'time', split.robot, seconds, 's', FIGAROH, theirs[1], Goal(0.2))


def _rms(left: Array) -> Array:
    found: Array = np.sqrt((left**2).mean(axis=0))
    return found


def _least_squares_rms(identified: Identified, train: JointSamples, test: JointSamples) -> Array:
    """(nv) RMS residuals of least squares weighted by joint, with the simplest friction."""
    maker = replace(identified.maker, load=None)
    # Viscous friction, offset, and dry friction that does not depend on the speed.
    T = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], *2 * [[0.0, 0.0, 1.0]], [0.0] * 3])
    b, nv = len(maker.base), identified.robot.nv

    def system(samples: JointSamples) -> tuple[Array, Array]:
        rows = joined(Chunk, maker.chunks(samples))
        Y, friction = rows.inertial.transpose(1, 0, 2), (rows.friction @ T).transpose(1, 0, 2)
        A = np.zeros((*Y.shape[:2], b + nv * T.shape[1]))
        A[..., :b] = Y
        for joint in range(nv):
            own = slice(b + joint * T.shape[1], b + (joint + 1) * T.shape[1])
            A[joint, :, own] = friction[joint]
        return A, rows.effort.T

    A, y = system(train)
    weights = np.ones((nv, 1))
    for _ in range(3):
        rows = (A * weights[..., np.newaxis]).reshape(-1, A.shape[-1])
        x, *_ = np.linalg.lstsq(rows, (y * weights).ravel(), rcond=None)
        weights = 1.0 / np.sqrt(((y - A @ x) ** 2).mean(axis=1, keepdims=True))
    A, y = system(test)
    return _rms((y - A @ x).T)


def _figaroh(
    subject: Subject, identified: Identified, train: JointSamples, parts: list[Filtered]
) -> tuple[Array, float] | None:
    """figaroh's efforts (n, nv) for the test states, and its time [s]; None without figaroh.

    figaroh accepts one stretch with one period, so it gets the longest stretch, with our signs.
    """
    python = peer_python(FIGAROH)
    if python is None:
        return None
    longest = max(regular_stretches(train), key=len)
    locked = sorted(set(_movable(subject)) - set(identified.robot.joint_names))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / 'in.npz', Path(folder) / 'out.npz'
        np.savez(
            source,
            urdf=subject.text,
            locked=np.array(locked, dtype=str),
            joints=np.array(identified.robot.joint_names),
            timestamps=longest.time,
            positions=longest.position,
            torques=longest.effort * identified.maker.scale,
            cutoff=identified.maker.cutoff,
            rate=1.0 / longest.period,
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in 'qva'},
        )
        script = Path(__file__).with_name('identification_peer.py')
        environment = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
        done = subprocess.run(
            [str(python), str(script), str(source), str(target)],
            capture_output=True,
            text=True,
            env=environment,
        )
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ['no message'])[-1]
            print(f'{FIGAROH} stopped on {subject.robot.name}: {last}')
            return None
        with np.load(target) as found:
            return found['predicted'], float(found['seconds'])


def _movable(subject: Subject) -> list[str]:
    joints = ElementTree.fromstring(subject.text).findall('joint')
    return [str(joint.get('name')) for joint in joints if joint.get('type') != 'fixed']
