# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The executables of the package as child processes that never outlive the demonstration."""

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
_PATIENCE = 3.0  # s, from asking a child to end until it is killed
_ERRORS = ('[ERROR]', '[FATAL]')
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_libc = ctypes.CDLL(None)  # loaded before any fork: a child must not wait for a lock of a thread


class ChildError(Exception):
    """A child process that could not be started or has ended by itself."""


class Child:
    """A running executable of the package; its output goes to a file."""

    def __init__(
        self, executable: str, parameters: Mapping[str, Mapping[str, Any]], folder: Path
    ) -> None:
        """Start it; see ``Children.start``."""
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
                start_new_session=True,  # Ctrl-C in the terminal is for the demonstration alone
                preexec_fn=_die_with_parent if sys.platform == 'linux' else None,
            )

    def check(self) -> None:
        """Raise ChildError when the process has ended, with the last it wrote."""
        code = self._process.poll()
        if code is not None:
            raise ChildError(f'{self.executable} has ended with code {code}{self.last_words()}')

    def last_words(self) -> str:
        """The last error of the output, or else its last line; empty when there is none."""
        lines = self._log.read_text(errors='replace').split('\n')
        told = [line.strip() for line in lines if line.strip()]
        errors = [line for line in told if line.startswith(_ERRORS)]
        return f': {(errors or told)[-1]}' if told else ''

    def ask_to_end(self) -> None:
        """Send the interrupt that a person would."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def end(self, patience: float) -> None:
        """Wait for the end, and force it after so many seconds."""
        try:
            self._process.wait(timeout=max(patience, 0.0))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Children:
    """A context whose processes have all ended when it is left, however it is left.

    Within it SIGINT and SIGTERM raise nothing by themselves: a KeyboardInterrupt in the middle of
    the middleware's code would be lost there. ``check`` raises it instead.
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
        """Nothing, while all goes well.

        Raises:
            KeyboardInterrupt: a signal has asked for the end.
            ChildError: a process has ended by itself.
        """
        if self._interrupted:
            raise KeyboardInterrupt
        for child in self._running:
            child.check()

    def last_words(self) -> str:
        """The last line that each has written, for a message."""
        return ''.join(f'; {child.executable}{child.last_words()}' for child in self._running)

    def __exit__(self, *_exception: object) -> None:
        # A second Ctrl-C must not leave a child behind.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for child in self._running:
            child.ask_to_end()
        deadline = time.monotonic() + _PATIENCE
        for child in self._running:
            child.end(deadline - time.monotonic())
        self._folder.cleanup()

    def _interrupt(self, *_: object) -> None:
        self._interrupted = True


def _die_with_parent() -> None:
    _libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
