# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`scripts/release_branches` gives each package a branch from which bloom releases it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from catkin_pkg.packages import find_packages

ROOT = Path(__file__).parents[2]
BRANCHES = {
    'release/dynamics_ros': 'dynamics_ros',
    'release/dynamics_ros_msgs': 'dynamics_ros_msgs',
}
ME = {
    f'GIT_{role}_{what}': value
    for role in ('AUTHOR', 'COMMITTER')
    for what, value in (('NAME', 'test'), ('EMAIL', 'test@example.com'))
}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ['git', *arguments],
        cwd=folder,
        env={**os.environ, **ME},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def has_subtree() -> bool:
    return shutil.which('git') is not None and os.access(
        Path(git(ROOT, '--exec-path')) / 'git-subtree', os.X_OK
    )


pytestmark = pytest.mark.skipif(not has_subtree(), reason='git has no command subtree')


@pytest.fixture
def clone(tmp_path):
    """A repository with two commits of the messages, and the files that a release is about."""
    folder = tmp_path / 'clone'
    folder.mkdir()
    for name in ('package.xml', 'setup.py', 'setup.cfg', 'CHANGELOG.rst', 'README.md'):
        shutil.copy(ROOT / name, folder)
    for name in ('scripts', 'dynamics_ros_msgs'):
        shutil.copytree(ROOT / name, folder / name)
    git(folder, 'init', '--quiet')
    git(folder, 'add', '--all')
    git(folder, 'commit', '--quiet', '--message', 'first')
    message = folder / 'dynamics_ros_msgs' / 'msg' / 'Result.msg'
    message.write_text(message.read_text() + '# More.\n')
    git(folder, 'commit', '--quiet', '--all', '--message', 'second')
    return folder


def release_branches(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [clone / 'scripts' / 'release_branches', *arguments],
        env={**os.environ, **ME},
        capture_output=True,
        text=True,
    )


def packages_of(clone: Path, branch: str, folder: Path):
    """The packages that catkin_pkg, and so bloom, finds in a checkout of a branch."""
    git(clone, 'worktree', 'add', '--quiet', '--detach', str(folder), branch)
    return find_packages(str(folder))


def test_each_branch_has_one_package_and_both_fit_together(clone, tmp_path):
    done = release_branches(clone, '--tag')
    assert done.returncode == 0, done.stderr
    packages = {}
    for branch, name in BRANCHES.items():
        found = packages_of(clone, branch, tmp_path / name)
        assert [(path, one.name) for path, one in found.items()] == [('.', name)]
        packages[name] = found['.']
    main, messages = packages.values()
    assert main.version == messages.version
    assert messages.name in {dependency.name for dependency in main.exec_depends}
    assert main.name not in {dependency.name for dependency in messages.exec_depends}
    for branch, name in BRANCHES.items():
        assert git(clone, 'rev-parse', f'{name}-{main.version}') == git(clone, 'rev-parse', branch)
    assert git(clone, 'rev-parse', 'release/dynamics_ros') == git(clone, 'rev-parse', 'HEAD')
    # With the history of the folder, and all that is needed to build it.
    history = git(clone, 'log', '--format=%s', 'release/dynamics_ros_msgs').split()
    assert history == ['second', 'first']
    assert git(clone, 'rev-parse', 'release/dynamics_ros_msgs^{tree}') == git(
        clone, 'rev-parse', 'HEAD:dynamics_ros_msgs'
    )
