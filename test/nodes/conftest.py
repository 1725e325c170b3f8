# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What tests of nodes share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope='module')
def ros(request):
    """A client in the domain of the module."""
    from ros_harness import client

    with client(request.module.DOMAIN) as one:
        yield one
