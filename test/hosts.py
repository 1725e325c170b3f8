# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hosts as network namespaces of this machine, and its free ports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess


def may_make_hosts() -> bool:
    """Whether this machine lets us: root, iproute2, and a kernel that has namespaces."""
    if os.geteuid() != 0 or shutil.which('ip') is None:
        return False
    name = f'dynros_try_{os.getpid()}'
    if subprocess.run(['ip', 'netns', 'add', name], capture_output=True).returncode:
        return False
    subprocess.run(['ip', 'netns', 'delete', name], check=True)
    return True


def free_port() -> int:
    """A port that nothing listens to."""
    with socket.socket() as free:
        free.bind(('', 0))
        return int(free.getsockname()[1])
