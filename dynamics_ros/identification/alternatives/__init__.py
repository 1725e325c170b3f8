# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What else a recording may be of: another mounting, order, sign or unit of joints, or clock."""
