# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the launch files use of the package launch, where it is not installed: they are data."""

from __future__ import annotations

from types import SimpleNamespace


class LaunchContext(SimpleNamespace):
    launch_configurations: dict[str, str]


class LaunchDescription:
    def __init__(self, entities):
        self.entities = entities
