# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``contact_node``: external torques, wrenches, the contact state and its location."""
