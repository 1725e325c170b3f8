# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A keystore for DDS security, with the files that `ros2 security` makes.

The documents: DDS Security 1.1, 9.3 (identities) and 9.4 (governance, permissions), OMG 2018. The
folders and names: rcl, which looks for `enclaves/<path of the enclave>` below a keystore.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs7

NOW = datetime.now(timezone.utc)
VALID = (NOW - timedelta(days=1), NOW + timedelta(days=1))

GOVERNANCE = """\
<?xml version="1.0" encoding="UTF-8"?>
<dds><domain_access_rules><domain_rule>
  <domains><id>{domain}</id></domains>
  <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
  <enable_join_access_control>true</enable_join_access_control>
  <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
  <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
  <rtps_protection_kind>SIGN</rtps_protection_kind>
  <topic_access_rules><topic_rule>
    <topic_expression>*</topic_expression>
    <enable_discovery_protection>true</enable_discovery_protection>
    <enable_liveliness_protection>true</enable_liveliness_protection>
    <enable_read_access_control>true</enable_read_access_control>
    <enable_write_access_control>true</enable_write_access_control>
    <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
    <data_protection_kind>ENCRYPT</data_protection_kind>
  </topic_rule></topic_access_rules>
</domain_rule></domain_access_rules></dds>
"""
"""What SROS 2 asks of every participant: to be known, to be allowed, and to encrypt."""


class Keystore:
    """An authority and the enclaves that it vouches for, for one domain."""

    def __init__(self, folder: Path, domain: int) -> None:
        self._folder, self._domain = folder, domain
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = _certificate('authority', self._key, 'authority', self._key)
        self._governance = self._sign(GOVERNANCE.format(domain=domain))

    def folder_of(self, enclave: str) -> Path:
        """Where the files of an enclave are."""
        return self._folder / 'enclaves' / enclave.lstrip('/')

    def add(self, enclave: str, topics: Mapping[str, Sequence[str]]) -> None:
        """Give an enclave its keys.

        Args:
            enclave: its path.
            topics: of DDS, with wildcards, that it may 'publish' and 'subscribe' to.
        """
        folder = self.folder_of(enclave)
        folder.mkdir(parents=True)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(enclave, key, 'authority', self._key)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        for name, content in {
            'identity_ca.cert.pem': _pem(self._certificate),
            'permissions_ca.cert.pem': _pem(self._certificate),
            'cert.pem': _pem(certificate),
            'key.pem': private,
            'governance.p7s': self._governance,
            'permissions.p7s': self._sign(self._permissions(enclave, topics)),
        }.items():
            (folder / name).write_bytes(content)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """What starts within the block has to have keys of this keystore."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv('ROS_SECURITY_KEYSTORE', str(self._folder))
            patch.setenv('ROS_SECURITY_ENABLE', 'true')
            patch.setenv('ROS_SECURITY_STRATEGY', 'Enforce')
            yield

    def _permissions(self, enclave: str, topics: Mapping[str, Sequence[str]]) -> str:
        dds = ET.Element('dds')
        grant = ET.SubElement(ET.SubElement(dds, 'permissions'), 'grant', name=enclave)
        ET.SubElement(grant, 'subject_name').text = f'CN={enclave}'
        validity = ET.SubElement(grant, 'validity')
        for name, when in zip(('not_before', 'not_after'), VALID, strict=True):
            ET.SubElement(validity, name).text = when.strftime('%Y-%m-%dT%H:%M:%S')
        rule = ET.SubElement(grant, 'allow_rule')
        ET.SubElement(ET.SubElement(rule, 'domains'), 'id').text = str(self._domain)
        for way, expressions in topics.items():
            parent = ET.SubElement(ET.SubElement(rule, way), 'topics')
            for expression in expressions:
                ET.SubElement(parent, 'topic').text = expression
        ET.SubElement(grant, 'default').text = 'DENY'
        return ET.tostring(dds, 'unicode', xml_declaration=True)

    def _sign(self, document: str) -> bytes:
        return (
            pkcs7.PKCS7SignatureBuilder()
            .set_data(document.encode())
            .add_signer(self._certificate, self._key, hashes.SHA256())
            .sign(
                serialization.Encoding.SMIME,
                [pkcs7.PKCS7Options.Text, pkcs7.PKCS7Options.DetachedSignature],
            )
        )


def _certificate(
    subject: str, key: ec.EllipticCurvePrivateKey, issuer: str, signer: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    """Vouches that the key is the subject's; the issuer's own one makes an authority."""
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(VALID[0])
        .not_valid_after(VALID[1])
        .add_extension(x509.BasicConstraints(ca=key is signer, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
