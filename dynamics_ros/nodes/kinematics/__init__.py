# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``kinematics_node``: poses, twists, transforms, forward and inverse kinematics."""
