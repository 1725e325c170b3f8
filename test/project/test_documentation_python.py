# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Python in the documents runs as it stands, one block after the other."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from documents import Block, blocks

from benchmarks.robots import urdf_path
from dynamics_ros import Robot

ROOT = Path(__file__).parents[2]
ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'


def of_library():
    """What the text around the blocks calls by these names: an arm with a closed form."""
    source = urdf_path('ur5')
    robot = Robot.from_urdf(source)
    q = np.array([0.3, -1.2, 1.1, -0.4, 0.7, 0.1])
    X_0T = robot.forward_kinematics(q + 0.02, 'tool0')
    return {'source': source, 'q': q, 'near': q, 'q_liked': q, 'v': np.zeros(6), 'X_0T': X_0T}


def of_constraints():
    """A quadruped that stands."""
    robot = Robot.from_urdf(urdf_path('anymal'), 'floating')
    legs = np.tile([0.0, 0.6, -1.2], 4)
    return {
        'q': np.concatenate([robot.neutral()[:7], legs]),
        'v': np.zeros(robot.nv),
        'tau': np.zeros(robot.nv),
    }


def of_control():
    """An arm at rest."""
    return {'q': np.array([0.1, 0.5, -0.2, 1.1, 0.3, -0.4, 0.2]), 'v': np.zeros(7)}


def of_estimation():
    """An arm that holds still in one posture, then in others."""
    robot = Robot.from_urdf(ARM)
    samples = []
    for k, q in enumerate(np.random.default_rng(0).uniform(-1.0, 1.0, (6, robot.nq))):
        times = 10**9 * k + 10**6 * np.arange(1, 501)
        samples += [(int(t), q, np.zeros(robot.nv), robot.gravity(q)) for t in times]
    return {'samples': samples}


DOCUMENTS = {
    'docs/library.md': of_library,
    'docs/constraints.md': of_constraints,
    'docs/control.md': of_control,
    'docs/estimation.md': of_estimation,
    'docs/export.md': dict,
    'docs/kernels.md': dict,
    'docs/spatial.md': dict,
}


def runnable(path: Path) -> list[Block]:
    """Each block of Python that is no launch file."""
    return [block for block in blocks(path, 'python') if 'GroupAction' not in block.text]


def test_all_documents_with_python_are_run():
    with_python = {
        str(path.relative_to(ROOT)) for path in (ROOT / 'docs').glob('*.md') if runnable(path)
    }
    assert with_python == {*DOCUMENTS}


@pytest.mark.parametrize('document', DOCUMENTS)
def test_the_python_of_a_document_runs(document, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ARM, 'arm.urdf')
    shutil.copy(urdf_path('anymal'), 'anymal.urdf')
    names = DOCUMENTS[document]()
    for block in runnable(ROOT / document):
        # Pads the block, so that an error has the line of the document.
        exec(compile('\n' * (block.line - 1) + block.text, document, 'exec'), names)
