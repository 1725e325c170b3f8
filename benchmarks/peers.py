# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Installation of peer libraries on demand, separate from the package's own environment.

A library that is timed in the same process is installed into its own folder, without dependencies.
Other libraries get their own virtual environment. Both are below build/bench-venvs.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / 'build' / 'bench-venvs'
REQUIREMENTS = ROOT / 'benchmarks' / 'requirements.txt'


@cache
def requirement(name: str) -> str:
    """The pinned requirement of a library, e.g. ``casadi==3.7.2``."""
    for line in REQUIREMENTS.read_text().splitlines():
        if line.partition('==')[0].partition('[')[0] == name:
            return line
    raise KeyError(f'{name} is not in {REQUIREMENTS.name}')


def peer_folder(name: str) -> Path | None:
    """Folder of an installed library; None, after a line with the reason, if missing."""
    folder = FOLDER / _tag(name)
    if not folder.exists():
        # Rename at the end, so that the folder exists complete or not at all.
        unfinished = folder.with_name(f'{folder.name}.unfinished')
        if not _pip(name, sys.executable, '--no-deps', '--upgrade', '--target', str(unfinished)):
            return None
        unfinished.rename(folder)
    return folder


def import_peer(name: str) -> bool:
    """Make a library importable; False, after a line with the reason, on failure."""
    folder = peer_folder(name)
    if folder is None:
        return False
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        import_module(name)
    except ImportError as error:
        print(f'{name} is left out: {error}')
        return False
    return True


def peer_python(name: str) -> Path | None:
    """Interpreter of a library's environment; None, after a line with the reason, if missing."""
    folder = FOLDER / _tag(name)
    python = folder / 'bin' / 'python'
    ready = folder / '.ready'
    if not ready.exists():
        made = subprocess.run(
            [sys.executable, '-m', 'venv', '--clear', str(folder)], capture_output=True, text=True
        )
        if made.returncode != 0:
            print(f'{name} is left out: {_last_line(made.stderr or made.stdout)}')
            return None
        if not _pip(name, str(python), 'numpy'):
            return None
        ready.touch()
    return python


def _tag(name: str) -> str:
    """Name of a folder for the pinned version of a library and this Python."""
    version = f'{requirement(name)} {sys.version_info[:2]}'
    return f'{name}-{hashlib.sha256(version.encode()).hexdigest()[:8]}'


def _pip(name: str, python: str, *options: str) -> bool:
    print(f'installing {requirement(name)}', file=sys.stderr)
    command = [python, '-m', 'pip', '--disable-pip-version-check', 'install', '--quiet', *options]
    done = subprocess.run([*command, requirement(name)], capture_output=True, text=True)
    if done.returncode != 0:
        print(f'{name} is left out, pip failed: {_last_line(done.stderr)}')
    return done.returncode == 0


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ['no message'])[-1]
