# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run ends when one of its processes crashes, and all else is run; which process has what."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE
from sharing import NICENESS

pytest.importorskip('xdist')

TESTS = Path(__file__).parents[1]


TELLING = """
{words}
import os, pytest, time
@pytest.mark.parametrize('n', range(3))
def test_tells(n):
    with open('told', 'a') as file:
        print(__name__, os.environ['PYTEST_XDIST_WORKER'], os.nice(0), file=file)
    time.sleep(0.2)
"""


def suite(folder: Path, processes: int) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder."""
    command = [sys.executable, '-m', 'pytest', '-p', 'sharing', '-p', 'no:cacheprovider']
    return subprocess.run(
        [*command, '-n', str(processes)],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': f'{TESTS}:{os.environ.get("PYTHONPATH", "")}'},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.slow
def test_a_third_process_has_what_needs_no_nodes_and_is_in_nobody_s_way(tmp_path):
    kinds = {'moving': '# rclpy robot_simulator', 'nodes': '# rclpy', 'library': ''}
    for kind, words in kinds.items():
        for number in range(3):
            (tmp_path / f'test_{kind}_{number}.py').write_text(TELLING.format(words=words))
    (tmp_path / 'pytest.ini').write_text('[pytest]\nmarkers =\n    slow: slow\n')
    assert suite(tmp_path, 3).returncode == pytest.ExitCode.OK
    told = [line.split() for line in (tmp_path / 'told').read_text().splitlines()]
    assert len(told) == 27
    usual = os.nice(0)
    by: dict[str, set[tuple[str, int]]] = {}
    for file, worker, nice in told:
        by.setdefault(file.split('_')[1], set()).add((worker, int(nice)))
    foremost = {('gw0', usual), ('gw1', usual)}
    assert len(by['moving']) == 1 and by['moving'] <= foremost
    assert by['nodes'] <= foremost
    assert by['library'] - foremost == {('gw2', min(usual + NICENESS, 19))}


RENEWED = """
import pytest

made, ended, broken = [], [], []


@pytest.fixture(scope='module')
def node():
    made.append('node')
    yield len(made)
    ended.append('node')


@pytest.fixture(scope='module')
def client(node):
    assert not broken
    yield node
    ended.append('client')


@pytest.fixture
def arm(node):
    assert node != 3, 'the node does not answer'
    return node


def test_fails(arm):
    assert arm != 1


def test_has_another(arm):
    assert arm == 2


def test_fails_too(client):
    broken.append(True)
    assert ended != ['node']


def test_waits_once(arm):
    pass


def test_goes_on(arm):
    assert arm == 4 and ended == ['node', 'client', 'node', 'node']


def test_is_left(client):
    pass


def test_is_left_at_once(client):
    pass


def test_has_the_same(arm):
    assert arm == 4
"""


def test_a_failed_test_leaves_its_node_to_no_other(tmp_path):
    (tmp_path / 'test_it.py').write_text(RENEWED)
    (tmp_path / 'pytest.ini').write_text('[pytest]\n')
    command = [sys.executable, '-m', 'pytest', '-p', 'renewal', '-p', 'no:cacheprovider', '-v']
    environment = {**os.environ, 'PYTHONPATH': f'{TESTS}:{os.environ.get("PYTHONPATH", "")}'}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    found = [x.split()[1][0] for x in done.stdout.splitlines() if x.startswith('test_it.py::')]
    assert ''.join(found) == 'FPFEPEEP', done.stdout
