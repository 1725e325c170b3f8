# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The web page of a robot with the outputs of the nodes, for machines without RViz."""
