# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A web page that shows a robot and the outputs of the nodes, for machines without RViz."""
