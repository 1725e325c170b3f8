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

from .contact_pipeline import ContactPipeline
from .contact_settings import ContactSettings
from .effort_model import EffortModel
from .efforts import EffortCheck, EffortReport, EffortVerdict, EffortWatch
from .external_torques import ExternalTorques
from .legged import FootContactEstimator, FootContacts
from .observers import (
    OBSERVERS,
    MomentumObserver,
    ObserverEvent,
    StaticObserver,
    ThirdOrderMomentumObserver,
    TorqueObserver,
)
from .payload_identification import NotIdentifiableError, PayloadEstimate, PayloadIdentifier
from .tare import Tare, TareResult
from .uncertainty.friction_adaptation import FrictionAdaptation
from .uncertainty.noise import NoiseGains
from .uncertainty.residual_watch import ResidualWatch
from .wrench import WrenchEstimate, WrenchEstimator

__all__ = [
    'OBSERVERS',
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
    'StaticObserver',
    'Surface',
    'Tare',
    'TareResult',
    'ThirdOrderMomentumObserver',
    'TorqueObserver',
    'WrenchEstimate',
    'WrenchEstimator',
    'links_without_surface',
    'sample_surfaces',
]
