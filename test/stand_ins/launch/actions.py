# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Actions of launch that keep what they are given."""

from __future__ import annotations

from types import SimpleNamespace


class DeclareLaunchArgument(SimpleNamespace):
    def __init__(self, name, **options):
        super().__init__(name=name, **options)


class LogInfo(SimpleNamespace):
    pass


class OpaqueFunction(SimpleNamespace):
    pass


class Shutdown(SimpleNamespace):
    pass
