# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is published: publishers, rates, messages that are filled in place."""
