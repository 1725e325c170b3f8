# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup names what a machine lacks, installs what is pinned, and no test makes it do so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from patience import PATIENCE
from test_packaging import EXECUTABLES

ROOT = Path(__file__).parents[2]


def check_machine(path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `scripts/setup --check` with nothing on PATH but one folder."""
    return subprocess.run(
        [ROOT / 'scripts' / 'setup', '--check'],
        env={'PATH': str(path), **variables},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def bare_machine(tmp_path):
    """A folder with links to all that scripts/setup needs of a machine that has no ROS 2."""
    if 'ROS_DISTRO' in os.environ:
        pytest.skip('this machine has a ROS 2 and need not be able to do without')
    for tool in ('bash', 'env', 'dirname', 'uname', 'cmake', 'make', 'g++'):
        target = next(
            folder / tool for folder in map(Path, os.get_exec_path()) if (folder / tool).exists()
        )
        (tmp_path / tool).symlink_to(target)
    (tmp_path / 'python3').symlink_to(Path(sys.base_prefix) / 'bin' / 'python3')
    return tmp_path


def test_setup_finds_nothing_missing_on_a_machine_that_has_all(bare_machine):
    answer = check_machine(bare_machine)
    assert (answer.returncode, answer.stderr) == (0, '')


@pytest.mark.parametrize(
    ('tool', 'package'),
    [('cmake', 'cmake'), ('make', 'make'), ('g++', 'g++'), ('python3', 'python3')],
)
def test_setup_names_what_is_missing_in_one_line(bare_machine, tool, package):
    (bare_machine / tool).unlink()
    answer = check_machine(bare_machine)
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert tool in line
    assert line.endswith(f'package {package}')


def test_setup_names_what_a_sourced_distribution_lacks(bare_machine):
    answer = check_machine(bare_machine, ROS_DISTRO='jazzy')
    assert answer.returncode == 1
    assert 'python3-colcon-common-extensions' in answer.stderr
    assert 'ros-jazzy-rclpy' in answer.stderr


def test_setup_names_the_wheels_that_there_are(bare_machine):
    answer = check_machine(bare_machine, DYNAMICS_ROS_WHEELS='humble')
    assert answer.returncode == 1
    assert "DYNAMICS_ROS_WHEELS is 'humble'; there are kilted and jazzy" in answer.stderr
    assert check_machine(bare_machine, DYNAMICS_ROS_WHEELS='jazzy').returncode == 0


IN_THE_REPOSITORY = pytest.mark.skipif(
    os.environ.get('DYNAMICS_ROS_SET_UP') != str(ROOT), reason='scripts/test has not begun this'
)


@IN_THE_REPOSITORY
def test_setup_has_nothing_to_do_a_second_time():
    for arguments in (['--test', '--ready'], ['--test']):
        answer = subprocess.run(
            [ROOT / 'scripts' / 'setup', *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert (answer.returncode, answer.stdout, answer.stderr) == (0, '', '')


# --- scripts/ros --------------------------------------------------------------------------------


def ros(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / 'scripts' / 'ros', *arguments], capture_output=True, text=True, timeout=PATIENCE
    )


@IN_THE_REPOSITORY
def test_a_machine_without_ros2_starts_every_node_and_tool():
    assert ros('list').stdout.split() == EXECUTABLES
    answer = ros('run', 'export_kernels', '--help')
    assert answer.returncode == 0, answer.stderr
    assert '--robot' in answer.stdout


@IN_THE_REPOSITORY
def test_a_program_that_there_is_not_is_answered_with_those_that_there_are():
    answer = ros('run', 'contact_nod')
    assert answer.returncode == 1
    assert answer.stderr.startswith(
        'ros: there is no contact_nod; there are: analyze_recordings calibrate_robot '
    )


@pytest.fixture
def fresh_clone(tmp_path):
    """The repository in the src/ of a workspace, as `colcon test` finds it."""
    clone = tmp_path / 'src' / 'dynamics_ros'
    for name in ('scripts', 'config', 'launch', 'urdf', 'resource', 'dynamics_ros_msgs'):
        shutil.copytree(ROOT / name, clone / name)
    for name in ('package.xml', 'setup.py', 'setup.cfg', 'colcon_defaults.yaml'):
        shutil.copy(ROOT / name, clone)
    (clone / 'dynamics_ros').mkdir()
    return clone


@pytest.mark.parametrize(
    ('command', 'told'),
    [
        ('setup --test', 'a test makes no environment'),
        ('setup --ready', 'something is to do'),
        ('demo --duration 5', 'a test makes no environment'),
    ],
)
def test_no_test_makes_an_environment_in_the_workspace_of_a_user(fresh_clone, command, told):
    before = sorted(fresh_clone.rglob('*'))
    program, *arguments = command.split()
    answer = subprocess.run(
        [fresh_clone / 'scripts' / program, *arguments],
        env=os.environ | {'ROS_DISTRO': ''},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert answer.returncode == 1
    assert told in answer.stderr
    assert sorted(fresh_clone.rglob('*')) == before


def test_setup_refuses_an_unknown_argument():
    answer = subprocess.run(
        [ROOT / 'scripts' / 'setup', '--tset'], capture_output=True, text=True, timeout=PATIENCE
    )
    assert answer.returncode == 1
    assert '--tset' in answer.stderr
    assert '--test' in answer.stderr


LOCKED = {
    ('requirements.lock', 'test-requirements.lock'): ('requirements.in', 'test-requirements.in'),
    ('requirements.lock',): ('requirements.in',),
    ('jazzy.lock',): ('jazzy.in',),
}


@pytest.mark.parametrize('locks', LOCKED, ids=' '.join)
@pytest.mark.parametrize('python', ['3.10', '3.11', '3.12', '3.13'])
def test_the_lock_files_pin_all_that_is_asked_for_once_per_python(python, locks):
    wheels = ROOT / 'scripts' / 'wheels'
    pins: dict[str, str] = {}
    for requirement in [one for lock in locks for one in requirements(wheels / lock)]:
        if requirement.marker is None or requirement.marker.evaluate({'python_version': python}):
            (pin,) = requirement.specifier
            assert pin.operator == '=='
            assert requirement.name not in pins
            pins[requirement.name] = pin.version
    for name in LOCKED[locks]:
        for requirement in requirements(wheels / name):
            assert requirement.specifier.contains(pins[requirement.name.lower()])


def requirements(path: Path) -> list[Requirement]:
    lines = (line.partition('#')[0].strip() for line in path.read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith('-r')]
