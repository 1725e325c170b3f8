# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Requests to nodes, without ROS: a robot, kernels for unconfigured frames, a search.

Also contains the names of frames outside of the model. May import ``parameters`` and what is below
it.
"""
