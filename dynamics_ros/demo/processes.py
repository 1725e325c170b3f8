# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs executables of the package as child processes, which end with the demonstration."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import get_package_prefix

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_TIMEOUT = 3.0  # s, from the request to end a child until it is killed
_ERRORS = ('[ERROR]', '[FATAL]')
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_libc = ctypes.CDLL(None)  # loaded before forks: a child must not wait for a lock of a thread


class ChildError(Exception):
    """A child process could not be started, has ended, or sends no messages."""


class Child:
    """A running executable of the package, whose output goes to a file."""

    def __init__(
        self, executable: str, parameters: Mapping[str, Mapping[str, Any]], folder: Path
    ) -> None:
        """Start the executable; see ``Children.start``."""
        self.executable = executable
        path = Path(get_package_prefix('dynamics_ros'), 'lib', 'dynamics_ros', executable)
        if not path.is_file():
            raise ChildError(
                f'{executable}: no such executable in {path.parent}; run scripts/setup'
            )
        file = folder / f'{executable}.yaml'
        by_node = {node: {'ros__parameters': dict(own)} for node, own in parameters.items()}
        file.write_text(yaml.safe_dump(by_node), encoding='utf-8')
        self._log = folder / f'{executable}.log'
        with self._log.open('wb') as log:
            self._process = subprocess.Popen(
                [str(path), '--ros-args', '--params-file', str(file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal must reach only the demonstration
                preexec_fn=_die_with_parent if sys.platform == 'linux' else None,
            )

    def check(self) -> None:
        """Raise ChildError with the last output if the process has ended."""
        code = self._process.poll()
        if code is not None:
            raise ChildError(f'{self.executable} has ended with code {code}{self.last_words()}')

    def last_words(self) -> str:
        """Last error of the output, otherwise its last line; '' if there is no output."""
        lines = self._log.read_text(errors='replace').split('\n')
        printed = [line.strip() for line in lines if line.strip()]
        errors = [line for line in printed if line.startswith(_ERRORS)]
        return f': {(errors or printed)[-1]}' if printed else ''

    def ask_to_end(self) -> None:
        """Send SIGINT."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def end(self, patience: float) -> None:
        """Wait for the end, and kill the process after a time [s]."""
        try:
            self._process.wait(timeout=max(patience, 0.0))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Children:
    """Context that ends all its child processes on exit, including exits by signals.

    Within the context, SIGINT and SIGTERM do not raise KeyboardInterrupt, which could be lost
    inside the middleware's code. ``check`` raises it instead.
    """

    def __init__(self) -> None:
        self._running: list[Child] = []
        self._interrupted = False
        self._folder = tempfile.TemporaryDirectory(prefix='dynamics_ros_demo_')

    def __enter__(self) -> Children:
        for number in _SIGNALS:
            signal.signal(number, self._interrupt)
        return self

    def start(self, executable: str, parameters: Mapping[str, Mapping[str, Any]]) -> None:
        """Start an executable.

        Args:
            executable: name of a console script of the package.
            parameters: node name to the parameters of that node.

        Raises:
            ChildError: there is no such executable.
        """
        self._running.append(Child(executable, parameters, Path(self._folder.name)))

    def check(self) -> None:
        """Raise an exception if a signal was received or a process has ended.

        Raises:
            KeyboardInterrupt: a signal was received.
            ChildError: a process has ended.
        """
        if self._interrupted:
            raise KeyboardInterrupt
        for child in self._running:
            child.check()

    def last_words(self) -> str:
        """Last output line of each process, for an error message."""
        return ''.join(f'; {child.executable}{child.last_words()}' for child in self._running)

    def __exit__(self, *_exception: object) -> None:
        # Ignore a second Ctrl-C, which would leave child processes behind.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for child in self._running:
            child.ask_to_end()
        deadline = time.monotonic() + _TIMEOUT
        for child in self._running:
            child.end(deadline - time.monotonic())
        self._folder.cleanup()

    def _interrupt(self, *_: object) -> None:
        self._interrupted = True


def _die_with_parent() -> None:
    _libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
