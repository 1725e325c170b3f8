# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A page that shows a robot and what the nodes say of it; for machines without RViz."""
