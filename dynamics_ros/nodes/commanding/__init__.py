# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What nodes that command a robot share: targets in any frame, pause, and the life of the node."""
