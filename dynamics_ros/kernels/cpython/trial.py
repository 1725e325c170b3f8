# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trial of entry points in a separate process, for untested versions of Python or NumPy.

The layouts that machine code relies on are compared with live objects before use. If a version has
changed more than this comparison detects, a call may crash the process. Versions that the package
was not tested with are therefore first tried in another process, once per machine: the verdict is
stored with the cached kernels, or handed to child processes if there is no cache.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import signal
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np

from dynamics_ros.kernels.process import disk_cache

VARIABLE = 'DYNAMICS_ROS_ENTRY_POINTS'
TIMEOUT = 120.0
GOOD, BAD = b'entry points work', b'entry points do not work'
FAULTY = 3
"""Exit code of a trial that found a fault."""

STOPPED = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals sent from outside; any other signal that ends a trial means that the trial crashed."""

PROGRAM = """import json, sys
sys.path[:] = json.loads(sys.argv[1])
from dynamics_ros.kernels import entry_trial
entry_trial.main()
"""

_log = logging.getLogger('dynamics_ros.kernels')


@lru_cache(maxsize=1)
def problem() -> str | None:
    """Return why entry points must not be used here, or None if their trial succeeded."""
    name = _name()
    known = os.environ.get(VARIABLE, '')
    if known.startswith(f'{name} '):
        verdict: bytes | None = known.split(' ', 1)[1].encode()
    else:
        verdict = disk_cache.read(name)
    if verdict not in (GOOD, BAD):
        verdict = _tried()
        if verdict is None:
            return 'entry points could not be tried with this interpreter and NumPy'
        disk_cache.write(name, verdict)
        os.environ[VARIABLE] = f'{name} {verdict.decode()}'
    return None if verdict == GOOD else 'entry points do not work with this interpreter and NumPy'


def _name() -> str:
    """Return the cache key of the verdict."""
    package = Path(__file__).parent
    names = ('entry_source.py', 'layout.py', 'trial.py', '../entry_trial.py')
    sources = [package / x for x in names]
    texts = [path.read_text() if path.exists() else '' for path in sources]
    return disk_cache.key(sys.version, np.__version__, *platform.uname(), *texts)


def _tried() -> bytes | None:
    """Return the verdict of a separate process, or None if none could run."""
    if not Path(sys.executable or '').name.lower().startswith('python'):
        return None  # an embedding program might do anything if started as an interpreter
    here = str(Path(__file__).parents[3])
    try:
        done = subprocess.run(
            [sys.executable, '-I', '-S', '-c', PROGRAM, json.dumps([*sys.path, here])],
            env={
                **os.environ,
                VARIABLE: f'{_name()} {GOOD.decode()}',
                disk_cache.VARIABLE: 'off',
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as reason:
        _log.info('entry points could not be tried: %s', reason)
        return None
    if done.returncode == 0:
        return GOOD
    _log.info('the trial of entry points ended with %d: %s', done.returncode, done.stderr[-2000:])
    faulty = done.returncode == FAULTY or (done.returncode < 0 and -done.returncode not in STOPPED)
    return BAD if faulty else None
