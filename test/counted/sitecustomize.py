# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Counts the lines of the package that a process runs, where `scripts/test --coverage` starts it.

slipcover puts notes into the code, which cost less than tracing every line. Preparing a file for it
takes longer than importing it, so that nodes and tools in processes of their own count the rooms
above the library, and tests all.
"""

from __future__ import annotations

import atexit
import json
import os
import time
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

PACKAGE = Path(__file__).resolve().parents[2] / 'dynamics_ros'

OUTSIDE = [
    PACKAGE / room
    for room in (
        *('calibration', 'commanding', 'demo', 'doctor', 'fleet', 'launching', 'nodes'),
        *('parameters', 'recordings', 'requests', 'viewer', 'wire'),
    )
]
"""Rooms that nodes and tools run, in processes of their own."""


class Within:
    """Whether a file is in one of some folders, for slipcover's import hook.

    Its own matcher resolves the path of each file for each folder, which takes a tenth of a second.
    """

    def __init__(self, folders: list[Path]) -> None:
        self._beginnings = tuple(f'{folder}{os.sep}' for folder in folders)

    def matches(self, file: str | Path | None) -> bool:
        folder, name = os.path.split(file or '')
        return name.endswith('.py') and f'{_resolved(folder)}{os.sep}'.startswith(self._beginnings)


_resolved = cache(os.path.realpath)
"""Folders that a workspace links to are those of the sources."""


class Lines:
    """Lines that this process runs, in files that it imports from now on."""

    def __init__(self, folder: Path) -> None:
        from slipcover import Slipcover

        self._folder: Path | None = folder
        # Never taking notes out of the code again: that changes what other threads run, and an
        # error in it came up wherever the thread happened to be.
        self._counter = Slipcover(exclude_lines=[], d_miss_threshold=-1)
        self._end: Any = os._exit
        os._exit = self._write_and_end  # nodes end so
        atexit.register(self._write)
        # A fork may hold a lock of a thread that it does not have.
        os.register_at_fork(after_in_child=self._forget)

    def of(self, folders: list[Path]) -> None:
        """Count those of these folders."""
        from slipcover.importer import ImportManager

        ImportManager(self._counter, Within(folders)).__enter__()

    def _write(self) -> None:
        if self._folder is None or not self._folder.is_dir():
            return
        files = self._counter.get_coverage()['files']
        run = {str(Path(name).resolve()): seen['executed_lines'] for name, seen in files.items()}
        # Under its name once it is whole: the process may be killed meanwhile.
        part = self._folder / f'{os.getpid()}-{time.monotonic_ns()}.part'
        part.write_text(json.dumps(run))
        part.rename(part.with_suffix('.json'))
        self._forget()

    def _forget(self) -> None:
        self._folder = None

    def _write_and_end(self, code: int) -> NoReturn:
        try:
            self._write()
        finally:  # whatever other threads do to what is being counted, the process ends
            self._end(code)


lines: Lines | None = None
if 'DYNAMICS_ROS_COVERAGE' in os.environ:
    try:
        lines = Lines(Path(os.environ['DYNAMICS_ROS_COVERAGE']))
    except ImportError:  # an environment that a test has made
        pass
    else:
        lines.of(OUTSIDE)
