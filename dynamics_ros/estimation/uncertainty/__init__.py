# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Uncertainty of external torques: noise of the samples, and residuals of the model.

Noise follows from the observer, residuals of the model are learned from free motion; ``thresholds``
follow from both, and ``residual_watch`` compares the configured deviations with the observed ones.
"""
