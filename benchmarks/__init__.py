# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measurements against named peers: accuracy and speed, each peer run beside ours."""
