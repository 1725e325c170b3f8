# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain that a demonstration has for itself."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from pathlib import Path
from typing import IO

DOMAIN_VARIABLE = 'DYNAMICS_ROS_DEMO_DOMAIN_ID'
"""Overrides the choice of a ROS domain. ROS_DOMAIN_ID does not: a real robot may be on that one."""

_DOMAINS = range(20, 100)
_MOST_DOMAIN = 232  # the ports of those above are beyond 65535
_PARTICIPANTS = 8  # of a domain that are looked for; the first takes the first free number
_SHARED_MEMORY = Path('/dev/shm')


class DomainError(Exception):
    """There is no domain to be had."""


class Domain:
    """A domain where nobody else is, kept by a lock for as long as this lives.

    Attributes:
        number: the domain id.
    """

    def __init__(self, number: int, lock: IO[str]) -> None:
        self.number = number
        self._lock = lock

    def close(self) -> None:
        """Let others have it."""
        self._lock.close()


def choose_domain() -> Domain:
    """A domain that nobody on this machine uses, or the one that the environment names.

    Raises:
        DomainError: another demonstration has the one that is named, or all are taken.
    """
    wanted = os.environ.get(DOMAIN_VARIABLE)
    if wanted:
        return _named(wanted)
    first = os.getpid() % len(_DOMAINS)
    for number in (*_DOMAINS[first:], *_DOMAINS[:first]):
        lock = _locked(number)
        if lock is None:
            continue
        # Looked at only once it is locked: two that start together must not both find it free.
        if _is_free(number):
            return Domain(number, lock)
        lock.close()
    raise DomainError(f'all domains from {_DOMAINS[0]} to {_DOMAINS[-1]} are in use')


def _named(text: str) -> Domain:
    if not text.isdecimal() or int(text) > _MOST_DOMAIN:
        raise DomainError(f'{DOMAIN_VARIABLE}={text!r} is not a number from 0 to {_MOST_DOMAIN}')
    lock = _locked(int(text))
    if lock is None:
        raise DomainError(f'another demonstration runs in domain {int(text)} ({DOMAIN_VARIABLE})')
    return Domain(int(text), lock)


def _locked(number: int) -> IO[str] | None:
    """The lock of a domain; None when another process, of any user, has it."""
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
    """Whether no participant holds a port of the domain, nor has left shared memory behind.

    What a killed one leaves behind delays discovery by seconds.
    """
    # Ports of DDSI-RTPS 9.6.1.
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
