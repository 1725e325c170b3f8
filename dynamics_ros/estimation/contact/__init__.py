# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact detection and localization: detector, hypotheses and link surfaces.

May import ``robot`` and the layers below it.
"""
