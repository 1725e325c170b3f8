# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``dynamics_node``: gravity torques and commands, payload, inverse and forward dynamics."""
