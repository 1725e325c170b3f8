# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Uncertainty of external torques: noise of the samples, and residuals of the model.

Noise follows from the observer (``noise``); residuals of the model are learned from free motion
(``unexplained``); thresholds follow from both (``thresholds``); and ``residual_watch`` compares
the configured deviations with the observed ones.
"""
