# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup names what a machine lacks, installs what is pinned, and no test makes it do so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from patience import PATIENCE
from test_packaging import EXECUTABLES

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)


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


COLCON = 'python3-colcon-common-extensions'


@pytest.mark.parametrize(
    ('lacking', 'variables', 'words'),
    [
        ('', {}, ()),
        ('', {'DYNAMICS_ROS_WHEELS': 'jazzy'}, ()),
        *((tool, {}, (tool, f'package {tool}\n')) for tool in ('cmake', 'make', 'g++', 'python3')),
        ('', {'ROS_DISTRO': 'jazzy'}, (COLCON, 'ros-jazzy-rclpy')),
        ('', {'DYNAMICS_ROS_WHEELS': 'humble'}, ("is 'humble'; there are kilted and jazzy",)),
    ],
)
def test_setup_names_what_a_machine_lacks_in_one_line(bare_machine, lacking, variables, words):
    if lacking:
        (bare_machine / lacking).unlink()
    check = ROOT / 'scripts' / 'setup', '--check'
    answer = run(*check, env={'PATH': str(bare_machine), **variables})
    assert answer.returncode == bool(words)
    assert bool(answer.stderr) == bool(words)
    assert all(word in answer.stderr for word in words)
    assert not lacking or answer.stderr.count('\n') == 1


IN_THE_REPOSITORY = pytest.mark.skipif(
    os.environ.get('DYNAMICS_ROS_SET_UP') != str(ROOT), reason='scripts/test has not begun this'
)


@IN_THE_REPOSITORY
def test_setup_has_nothing_to_do_a_second_time():
    for arguments in (['--test', '--ready'], ['--test']):
        answer = run(ROOT / 'scripts' / 'setup', *arguments)
        assert (answer.returncode, answer.stdout, answer.stderr) == (0, '', '')


@IN_THE_REPOSITORY
def test_a_machine_without_ros2_starts_every_node_and_tool():
    ros = ROOT / 'scripts' / 'ros'
    assert run(ros, 'list').stdout.split() == EXECUTABLES
    assert '--robot' in run(ros, 'run', 'export_kernels', '--help', check=True).stdout
    answer = run(ros, 'run', 'contact_nod')
    assert answer.returncode == 1
    told = 'ros: there is no contact_nod; there are: analyze_recordings calibrate_robot '
    assert answer.stderr.startswith(told)


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
        ('setup --tset', '--tset'),
        ('demo --duration 5', 'a test makes no environment'),
    ],
)
def test_no_test_makes_an_environment_in_the_workspace_of_a_user(fresh_clone, command, told):
    before = sorted(fresh_clone.rglob('*'))
    program, *arguments = command.split()
    environment = os.environ | {'ROS_DISTRO': ''}
    answer = run(fresh_clone / 'scripts' / program, *arguments, env=environment)
    assert answer.returncode == 1
    assert told in answer.stderr
    assert sorted(fresh_clone.rglob('*')) == before


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
    for requirement in [one for lock in locks for one in requirements(wheels / lock, python)]:
        (pin,) = requirement.specifier
        assert pin.operator == '=='
        assert requirement.name not in pins
        pins[requirement.name] = pin.version
    for name in LOCKED[locks]:
        for requirement in requirements(wheels / name, python):
            assert requirement.specifier.contains(pins[requirement.name.lower()])


def requirements(path: Path, python: str) -> list[Requirement]:
    lines = (line.partition('#')[0].strip() for line in path.read_text().splitlines())
    asked = [Requirement(line) for line in lines if line and not line.startswith('-r')]
    return [x for x in asked if not x.marker or x.marker.evaluate({'python_version': python})]
