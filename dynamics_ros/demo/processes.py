# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""ROS domain and child processes of a demonstration; both are released when it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix

from dynamics_ros.ros_yaml import temporary_yaml

DOMAIN_VARIABLE = 'DYNAMICS_ROS_DEMO_DOMAIN_ID'
"""Overrides the choice of the domain. ROS_DOMAIN_ID is ignored: a real robot may use that one."""

_DOMAINS = range(20, 100)
_MAX_DOMAIN = 232  # the ports of higher domains exceed 65535
# Offsets of ports that participants of a domain use: those that all share, for multicast, which are
# the only ones of Cyclone DDS, and of the first eight participants, which take the first free one.
_PORTS = (0, 1, *range(10, 26, 2))
_LOCK_PORT = 131  # offset of the port that a demonstration keeps; the 61st participant has it
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_TIMEOUT = 3.0  # s, from the request to end a child until it is killed
_ERRORS = ('[ERROR]', '[FATAL]')
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_libc = ctypes.CDLL(None)  # loaded before forks: a child must not wait for a lock of a thread


class DemonstrationError(Exception):
    """No domain is free, or a process could not be started, has ended, or sends no messages."""


@contextmanager
def own_domain() -> Iterator[int]:
    """Context with a ROS domain that nobody uses, or the one that ``DOMAIN_VARIABLE`` names.

    A port that only demonstrations use locks the domain against others on this machine.

    Raises:
        DemonstrationError: another demonstration uses the named domain, or none is free.
    """
    named = os.environ.get(DOMAIN_VARIABLE)
    if named and not (named.isdecimal() and int(named) <= _MAX_DOMAIN):
        reason = f'{DOMAIN_VARIABLE}={named!r} is not a number from 0 to {_MAX_DOMAIN}'
        raise DemonstrationError(reason)
    first = os.getpid() % len(_DOMAINS)
    for number in [int(named)] if named else [*_DOMAINS[first:], *_DOMAINS[:first]]:
        base = 7400 + 250 * number  # DDSI-RTPS 9.6.1
        # Locked before the check: two demonstrations that start together must not both take it.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lock:
            # Shared memory of a killed participant delays discovery by seconds.
            left = any(Path('/dev/shm').glob(f'fastdds_port{base // 10}*'))
            if _bound(lock, base + _LOCK_PORT) and (
                named or (not left and all(_is_free(base + port) for port in _PORTS))
            ):
                yield number
                return
    problem = f'all domains from {_DOMAINS[0]} to {_DOMAINS[-1]} are in use'
    if named:
        problem = f'another demonstration runs in domain {named} ({DOMAIN_VARIABLE})'
    raise DemonstrationError(problem)


def _bound(probe: socket.socket, port: int) -> bool:
    """Whether the port was free, which a socket has then."""
    with suppress(OSError):
        probe.bind(('', port))
        return True
    return False


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return _bound(probe, port)


class Children:
    """Context that ends all its child processes on exit, including exits by signals.

    Within the context, SIGINT and SIGTERM do not raise KeyboardInterrupt, which could be lost
    inside the middleware's code. ``check`` raises it instead.
    """

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._interrupted = False
        self._folder = tempfile.TemporaryDirectory(prefix='dynamics_ros_demo_')

    def __enter__(self) -> Children:
        for number in _SIGNALS:
            signal.signal(number, self._interrupt)
        return self

    def start(self, executable: str, parameters: Mapping[str, Mapping[str, Any]]) -> None:
        """Start a console script of the package with the parameters of each of its nodes.

        Raises:
            DemonstrationError: there is no such executable.
        """
        path = Path(get_package_prefix('dynamics_ros'), 'lib', 'dynamics_ros', executable)
        if not path.is_file():
            reason = f'{executable}: no such executable in {path.parent}; run scripts/setup'
            raise DemonstrationError(reason)
        by_node = {node: {'ros__parameters': dict(own)} for node, own in parameters.items()}
        with self._log(executable).open('wb') as file:
            self._running[executable] = subprocess.Popen(
                [str(path), '--ros-args', '--params-file', temporary_yaml(by_node)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal must reach only the demonstration
                preexec_fn=_die_with_parent if sys.platform == 'linux' else None,
            )

    def check(self) -> None:
        """Raise an exception if a signal was received or a process has ended.

        Raises:
            KeyboardInterrupt: a signal was received.
            DemonstrationError: a process has ended.
        """
        if self._interrupted:
            raise KeyboardInterrupt
        for executable, process in self._running.items():
            if (code := process.poll()) is not None:
                reason = f'{executable} has ended with code {code}{self._last_words(executable)}'
                raise DemonstrationError(reason)

    def last_words(self) -> str:
        """Last error or output line of each process, for an error message."""
        return ''.join(f'; {name}{self._last_words(name)}' for name in self._running)

    def _log(self, executable: str) -> Path:
        return Path(self._folder.name, f'{executable}.log')

    def _last_words(self, executable: str) -> str:
        lines = self._log(executable).read_text(errors='replace').split('\n')
        printed = [line.strip() for line in lines if line.strip()]
        errors = [line for line in printed if line.startswith(_ERRORS)]
        return f': {(errors or printed)[-1]}' if printed else ''

    def __exit__(self, *_exception: object) -> None:
        # Ignore a second Ctrl-C, which would leave child processes behind.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for process in self._running.values():
            process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + _TIMEOUT
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(deadline - time.monotonic(), 0.0))
            process.kill()
            process.wait()
        self._folder.cleanup()

    def _interrupt(self, *_: object) -> None:
        self._interrupted = True


def _die_with_parent() -> None:
    _libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
