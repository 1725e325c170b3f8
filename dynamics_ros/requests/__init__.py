# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work of the nodes without ROS: a robot, the kernels of topics, answers to requests.

Also contains the names of frames outside of the model. May import ``parameters`` and what is below
it.
"""
