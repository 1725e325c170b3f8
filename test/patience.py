# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How long the tests wait before they give up."""

PATIENCE = 400.0
"""Seconds: far more than anything here takes, also beside many busy processes on two cores."""
