# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What nodes are asked for, without ROS: a robot, kernels beside those of its topics, a search.

Has the names of frames outside of the model, too. May import ``parameters`` and what is below it.
"""
