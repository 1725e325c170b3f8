# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a robot description says, and what is odd about it, on one page of text: ``inspect``."""
