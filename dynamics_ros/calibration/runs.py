# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Results of recordings with and without a load, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynamics_ros.identification import DriveGains, Payload

ACCURATE = 0.01
"""Ratio of the deviation of a mass to the mass up to which the mass is accurate."""

NOTED = 0.03
"""Difference of the weight of the robot from that of its description that is reported."""


@dataclass(frozen=True)
class PayloadResult:
    """Result of the identification of a payload.

    Attributes:
        payload: the identified payload.
        converted: whether efforts were converted to Nm by means of the described masses.
    """

    payload: Payload
    converted: bool = False

    def as_json(self) -> dict[str, Any]:
        """Returns the entry that ``--json`` adds."""
        payload = self.payload
        return {
            'payload': {
                'frame': payload.frame,
                'mass': payload.mass,
                'mass_standard_deviation': payload.mass_deviation,
                'center_of_mass': payload.center_of_mass.tolist(),
                'center_of_mass_standard_deviation': payload.center_of_mass_deviation.tolist(),
                'swapped': payload.swapped,
                'own_weight': payload.own_weight,
                'only_as_exact_as_described_masses': self.converted,
            }
        }

    def as_text(self) -> str:
        """Returns the result as text."""
        payload = self.payload
        places = zip(payload.center_of_mass, payload.center_of_mass_deviation, strict=True)
        center = ', '.join(f'{1e3 * x:.1f} +- {1e3 * d:.1f}' for x, d in places)
        turned = ' The last recording is the one without the payload.' if payload.swapped else ''
        return (
            f'payload at {payload.frame}: {payload.mass:.3f} +- {payload.mass_deviation:.3f} kg, '
            f'centre of mass at {center} mm.{turned}{self._unit}{self._caution}{self._advice}'
        )

    @property
    def _unit(self) -> str:
        """The weight of the robot, if it is not that of its description; else ''."""
        if abs(self.payload.own_weight - 1.0) < NOTED:
            return ''
        return (
            f' The robot itself weighs {self.payload.own_weight:.2f} times what its description '
            'says: if efforts are in another unit, the payload is off by as much, which the '
            'deviations include; --drive-gains finds the unit.'
        )

    @property
    def _advice(self) -> str:
        """How the mass could be determined more accurately, if it is not accurate; else ''."""
        if self.payload.mass_deviation <= ACCURATE * self.payload.mass:
            return ''
        return (
            ' The mass would be determined more accurately by runs of the same motion (one plan), '
            'longer ones, or ones in which the joints that carry the payload move further.'
        )

    @property
    def _caution(self) -> str:
        """A warning if the unit of efforts was derived from described masses; else ''."""
        if not self.converted:
            return ''
        return (
            ' Efforts were not in Nm and were converted by the masses of the description: mass and '
            'centre of mass are only as exact as those masses, and the deviations do not include '
            'that error. A recording with a known load (--drive-gains) gives the conversion.'
        )


@dataclass(frozen=True)
class DriveGainsResult:
    """Result of the identification of drive gains: torque per unit of effort of each joint."""

    gains: DriveGains
    joints: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Returns the entry that ``--json`` adds."""
        gains = self.gains
        known = zip(gains.deviation, gains.told, strict=True)
        return {
            'drive_gains': {
                'joints': list(self.joints),
                'gain': gains.gain.tolist(),
                'standard_deviation': [float(d) if told else None for d, told in known],
                'told': gains.told.tolist(),
            }
        }

    def as_text(self) -> str:
        """Returns the result as text, one line per joint."""
        gains = self.gains
        lines = ['Nm per unit of effort, N for prismatic joints:']
        for name, gain, deviation, told in zip(
            self.joints, gains.gain, gains.deviation, gains.told, strict=True
        ):
            known = (
                f'+- {deviation:.2g}'
                if told
                else 'from the description: the load determines it poorly'
            )
            lines.append(f'  {name:24} {gain:9.4g} {known}')
        return '\n'.join(lines)
