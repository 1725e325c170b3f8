# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One robot as a system of rigid bodies: its kinematics and dynamics, with NumPy in and out.

``definitions`` says what each quantity is and which algorithm is behind it. The files here compile
its kernels and call them (``RigidBodySystem``), check arguments and solve linear systems;
``end_effector`` has measures of one frame. May import ``algorithms``, ``kernels``, ``model``,
``spatial`` and ``errors``; knows no inverse kinematics and no constraints.
"""
