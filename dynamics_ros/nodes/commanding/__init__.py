# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Common parts of nodes that command a robot: targets in any frame, pause, lifecycle."""
