# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The action of launch_ros that starts a node; it keeps what it is given."""

from __future__ import annotations

from types import SimpleNamespace


class Node(SimpleNamespace):
    pass
