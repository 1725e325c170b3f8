# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of this room compile is compiled there and then."""

from __future__ import annotations

import pytest

from dynamics_ros.kernels.process import background, disk_cache


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch):
    monkeypatch.setenv(disk_cache.VARIABLE, 'off')


@pytest.fixture(autouse=True)
def _compiled_in_this_process():
    # Another file may have asked for a robot as nodes do, which has it done in a process apart.
    background.disable_process()
