# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`pip install dynamics_ros`: the wheel is the library alone, and runs where there is no ROS."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SOURCES = ('dynamics_ros', 'config', 'launch', 'resource', 'urdf')
FILES = ('README.md', 'package.xml', 'pyproject.toml', 'setup.cfg', 'setup.py')

pytestmark = pytest.mark.slow

NEEDS_ROS = (
    'dynamics_ros.recordings.',
    'dynamics_ros.viewer.',
)
"""Rooms of which some modules are about messages; the others are of use without ROS."""

IMPORT_ALL = """
import importlib, pkgutil, dynamics_ros
for module in pkgutil.walk_packages(dynamics_ros.__path__, 'dynamics_ros.'):
    if module.name.endswith('__main__'):
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        print(module.name, error.name)
"""


@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    """The wheel that `python -m build` makes, by way of the source distribution."""
    pytest.importorskip('build')
    source = tmp_path_factory.mktemp('source')
    for name in SOURCES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns('__pycache__'))
    for name in FILES:
        shutil.copy(ROOT / name, source)
    out = tmp_path_factory.mktemp('dist')
    # Without isolation nothing is downloaded: setuptools is here.
    command = [sys.executable, '-m', 'build', '--no-isolation', '--outdir', str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = out.glob('*.whl')
    assert file.name.startswith(f'dynamics_ros-{importlib.metadata.version("dynamics_ros")}-cp3')
    return file


class EmptyEnvironment:
    """A virtual environment with the wheel and what it asks for, and nothing else."""

    def __init__(self, folder: Path, wheel: Path, extras: tuple[str, ...] = ()) -> None:
        subprocess.run([sys.executable, '-m', 'venv', '--without-pip', folder], check=True)
        self.python = folder / 'bin' / 'python'
        (self.packages,) = folder.glob('lib/python3.*/site-packages')
        pip = [sys.executable, '-m', 'pip', '--disable-pip-version-check', '--python', self.python]
        options = ['--quiet', '--no-index', '--no-deps']
        subprocess.run([*pip, 'install', *options, wheel], check=True)
        for extra in ('', *extras):
            self._link('dynamics_ros', extra, [self.packages])

    def _link(self, name: str, extra: str, path: list[Path] | None = None) -> None:
        """Link in what a distribution needs, from where these tests run."""
        found = importlib.metadata.distributions(name=name, path=[str(p) for p in path or sys.path])
        for text in next(iter(found)).requires or ():
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({'extra': extra}):
                continue
            if any(f'extra == {quote}' in text for quote in '"\'') != bool(extra):
                continue
            needed = importlib.metadata.distribution(requirement.name)
            for top in {file.parts[0] for file in needed.files or ()} - {'..'}:
                link = self.packages / top
                if not link.exists():
                    link.symlink_to(Path(str(needed.locate_file(top))))
            self._link(requirement.name, '')

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ('PATH', 'HOME', 'TMPDIR') if name in os.environ}
        return subprocess.run(
            [self.python, *arguments], cwd=cwd, env=kept, capture_output=True, text=True
        )


@pytest.fixture(scope='module')
def empty(wheel, tmp_path_factory):
    return EmptyEnvironment(tmp_path_factory.mktemp('empty'), wheel)


@pytest.fixture
def folder(tmp_path):
    """A folder with the arm of the README."""
    shutil.copytree(ROOT / 'urdf', tmp_path / 'urdf')
    return tmp_path


def example() -> str:
    found = re.search(r'```python\n(.*?)```', (ROOT / 'README.md').read_text(), re.DOTALL)
    assert found
    return found[1]


def test_the_example_of_the_readme_runs_without_ros(empty, folder):
    done = empty.run('-c', example(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('True')
    assert '(10000, 7)' in done.stdout
    assert empty.run('-c', 'import rclpy', cwd=folder).returncode != 0


def test_the_extra_llvm_makes_machine_code(wheel, folder):
    pytest.importorskip('llvmlite')
    fast = EmptyEnvironment(folder / 'fast', wheel, ('llvm',))
    told = (
        'from dynamics_ros.kernels import call_path\n'
        'print({kernel.backend for kernel in robot.kernels.values()}, call_path())'
    )
    done = fast.run('-c', f'{example()}\n{told}', cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "{'llvm'} extension module"


def test_every_module_is_imported_without_ros_but_those_that_are_about_it(empty, folder):
    done = empty.run('-c', IMPORT_ALL, cwd=folder)
    assert done.returncode == 0, done.stderr
    missing = dict(line.split() for line in done.stdout.splitlines())
    page = {name for name in missing if name.startswith('dynamics_ros.page.')}
    assert page and {missing[name] for name in page} == {'viser'}
    assert [name for name in missing.keys() - page if not name.startswith(NEEDS_ROS)] == []
    assert not missing.keys() & {
        'dynamics_ros.recordings.bag',
        'dynamics_ros.recordings.settings',
    }


def test_the_tools_of_the_wheel_run_without_ros(empty, folder):
    programs = {path.name for path in empty.python.parent.iterdir()}
    assert {'calibrate_robot', 'export_kernels'} <= programs
    assert not programs & {'contact_node', 'dynamics_ros', 'estimate_bag'}
    for name in ('calibrate_robot', 'export_kernels'):
        done = empty.run(str(empty.python.parent / name), '--help', cwd=folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f'usage: {name}')


def test_the_wheel_has_the_library_and_no_node(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition('/')[0] for name in names}
    assert tops == {'dynamics_ros', next(top for top in tops if top.endswith('.dist-info'))}
    rooms = {name.split('/')[1] for name in names if name.count('/') > 1}
    assert {'algorithms', 'calibration', 'kernels', 'multibody', 'page', 'simulation'} <= rooms
    assert not rooms & {'demo', 'launching', 'nodes', 'wire'}
    assert 'dynamics_ros/py.typed' in names
