# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact estimation: external joint torques, frame wrenches, contact states and taring."""

from dynamics_ros.estimation.contact.detector import ContactDetector, ContactReport, ContactState
from dynamics_ros.estimation.contact.location import (
    ContactLocation,
    ContactLocator,
    links_without_surface,
)
from dynamics_ros.estimation.contact.surface import Surface, sample_surfaces
from dynamics_ros.estimation.samples.sample_filter import SampleFilter

from .contact_pipeline import ContactPipeline, ExternalTorques
from .contact_settings import ContactSettings
from .effort_model import EffortModel
from .efforts import EffortCheck, EffortReport, EffortVerdict, EffortWatch
from .legged import FootContactEstimator, FootContacts
from .observers import MomentumObserver, ObserverEvent
from .payload_identification import NotIdentifiableError, PayloadEstimate, PayloadIdentifier
from .tare import Tare, TareResult
from .uncertainty.residual_watch import FrictionAdaptation, ResidualWatch
from .uncertainty.thresholds import NoiseGains
from .wrench import WrenchEstimate, WrenchEstimator

__all__ = [
    'ContactDetector',
    'ContactLocation',
    'ContactLocator',
    'ContactPipeline',
    'ContactReport',
    'ContactSettings',
    'ContactState',
    'EffortCheck',
    'EffortModel',
    'EffortReport',
    'EffortVerdict',
    'EffortWatch',
    'ExternalTorques',
    'FootContactEstimator',
    'FootContacts',
    'FrictionAdaptation',
    'MomentumObserver',
    'NoiseGains',
    'NotIdentifiableError',
    'ObserverEvent',
    'PayloadEstimate',
    'PayloadIdentifier',
    'ResidualWatch',
    'SampleFilter',
    'Surface',
    'Tare',
    'TareResult',
    'WrenchEstimate',
    'WrenchEstimator',
    'links_without_surface',
    'sample_surfaces',
]
