# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Selection of a ROS domain that only one demonstration uses."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from pathlib import Path
from typing import IO

DOMAIN_VARIABLE = 'DYNAMICS_ROS_DEMO_DOMAIN_ID'
"""Overrides the choice of the domain. ROS_DOMAIN_ID is ignored: a real robot may use that one."""

_DOMAINS = range(20, 100)
_MAX_DOMAIN = 232  # the ports of higher domains exceed 65535
_PARTICIPANTS = 8  # checked participant numbers of a domain; a participant takes the first free one
_SHARED_MEMORY = Path('/dev/shm')


class DomainError(Exception):
    """No ROS domain is available."""


class Domain:
    """A ROS domain that is locked against other demonstrations until ``close``.

    Attributes:
        number: the domain ID.
    """

    def __init__(self, number: int, lock: IO[str]) -> None:
        self.number = number
        self._lock = lock

    def close(self) -> None:
        """Release the domain."""
        self._lock.close()


def choose_domain() -> Domain:
    """A domain that nobody on this machine uses, or the one that ``DOMAIN_VARIABLE`` names.

    Raises:
        DomainError: another demonstration uses the named domain, or none is free.
    """
    wanted = os.environ.get(DOMAIN_VARIABLE)
    if wanted:
        return _named(wanted)
    first = os.getpid() % len(_DOMAINS)
    for number in (*_DOMAINS[first:], *_DOMAINS[:first]):
        lock = _locked(number)
        if lock is None:
            continue
        # Checked after locking: two demonstrations that start together must not both find it free.
        if _is_free(number):
            return Domain(number, lock)
        lock.close()
    raise DomainError(f'all domains from {_DOMAINS[0]} to {_DOMAINS[-1]} are in use')


def _named(text: str) -> Domain:
    if not text.isdecimal() or int(text) > _MAX_DOMAIN:
        raise DomainError(f'{DOMAIN_VARIABLE}={text!r} is not a number from 0 to {_MAX_DOMAIN}')
    lock = _locked(int(text))
    if lock is None:
        raise DomainError(f'another demonstration runs in domain {int(text)} ({DOMAIN_VARIABLE})')
    return Domain(int(text), lock)


def _locked(number: int) -> IO[str] | None:
    """Lock file of a domain; None if another process of any user holds it."""
    path = Path(tempfile.gettempdir(), f'dynamics_ros_demo_domain_{number}.lock')
    try:
        lock = path.open('a')
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def _is_free(number: int) -> bool:
    """Whether no participant uses a port of the domain or has left shared memory behind.

    Shared memory of a killed participant delays discovery by seconds.
    """
    # Port numbers of DDSI-RTPS 9.6.1.
    base = 7400 + 250 * number
    if any(_SHARED_MEMORY.glob(f'fastdds_port{base // 10}*')):
        return False
    return all(_can_bind(base + 10 + 2 * participant) for participant in range(_PARTICIPANTS))


def _can_bind(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
    return True
