"""A certificate and its key: a user's own, checked before anything is made, or one to try signing with.

The test certificate is issued by an authority that is made for it and whose key is thrown away: nobody trusts
it unless they are told to, and it issues nothing else.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.extras import need_extra
from physplan.files import write_atomic
from physplan.foreign import read_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate

EXTRA = "provenance"
CERTIFICATE, KEY, AUTHORITY = "certificate.pem", "key.pem", "authority.pem"
MAX_PEM = 200_000
VALID_DAYS = 365


@dataclass(frozen=True, kw_only=True)
class Credential:
    """`chain`: the certificate and those above it, as PEM. The key shows itself in no message."""

    chain: bytes
    key: bytes
    algorithm: str

    def __repr__(self) -> str:
        return f"Credential({self.algorithm})"


def load_credential(certificate: str | os.PathLike[str], key: str | os.PathLike[str]) -> Credential:
    """From two PEM files that belong together."""
    need_extra("c2pa", extra=EXTRA)
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    chain, secret = _read(certificate, "certificate"), _read(key, "key")
    try:
        leaf = x509.load_pem_x509_certificates(chain)[0]
    except ValueError:
        raise PhysPlanError(f"{certificate} holds no certificate: give a PEM file with --sign.") from None
    try:
        private = load_pem_private_key(secret, password=None)
    except TypeError:
        raise PhysPlanError(f"The key {key} is locked with a password: give one that is not.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise PhysPlanError(f"{key} holds no private key: give a PEM file with --sign.") from None
    if leaf.public_key() != private.public_key():
        raise PhysPlanError(f"The key {key} does not belong to the certificate {certificate}: give its own.")
    return Credential(chain=chain, key=secret, algorithm=_algorithm(private, key))


def _read(path: str | os.PathLike[str], what: str) -> bytes:
    try:
        return read_file(path, limit=MAX_PEM)
    except OSError as error:
        raise PhysPlanError(f"The {what} {path} cannot be read ({error.strerror}): check the path.") from None


def _algorithm(private: Any, path: object) -> str:
    """The name that C2PA has for it."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(private, ed25519.Ed25519PrivateKey):
        return "ed25519"
    if isinstance(private, rsa.RSAPrivateKey) and private.key_size >= 2048:
        return "ps256"
    names = {"secp256r1": "es256", "secp384r1": "es384", "secp521r1": "es512"}
    if isinstance(private, ec.EllipticCurvePrivateKey) and private.curve.name in names:
        return names[private.curve.name]
    raise PhysPlanError(f"The key {path} is of a kind that content credentials do not know: use P-256.")


def make_test_certificate(folder: Path) -> tuple[Path, Path, Path]:
    """Certificate, key and authority, in a folder where none of them is yet. The key is its owner's alone."""
    need_extra("cryptography", extra=EXTRA)
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    paths = tuple(folder / name for name in (CERTIFICATE, KEY, AUTHORITY))
    for path in paths:
        if path.exists():
            raise PhysPlanError(f"{path} is there already: choose another folder with -o.")
    above, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("PhysPlan test authority, not trusted", above, issuer=None, signed_with=above)
    leaf = _certificate("PhysPlan test signer, not trusted", own, issuer=authority, signed_with=above)
    key = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_atomic(paths[2], authority.public_bytes(Encoding.PEM))
    write_atomic(paths[0], leaf.public_bytes(Encoding.PEM) + authority.public_bytes(Encoding.PEM))
    descriptor = os.open(paths[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(key)
    return paths[0], paths[1], paths[2]


def _certificate(
    name: str,
    key: EllipticCurvePrivateKey,
    *,
    issuer: Certificate | None,
    signed_with: EllipticCurvePrivateKey,
) -> Certificate:
    """One that may issue others where there is no issuer; else one that may sign content."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    now = datetime.datetime.now(datetime.UTC)
    subject = _name(name)
    above = signed_with.public_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(
            x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), critical=True
        )
        .add_extension(_usage(["key_cert_sign"] if issuer is None else ["digital_signature"]), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(above), critical=False)
    )
    if issuer is not None:  # what C2PA asks of a signer
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION])
        builder = builder.add_extension(usage, critical=False)
    return builder.sign(signed_with, hashes.SHA256())


def _name(common: str) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "PhysPlan test certificate"),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def _usage(allowed: Sequence[str]) -> Any:
    from cryptography import x509

    kinds = (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
        *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    )
    return x509.KeyUsage(**{kind: kind in allowed for kind in kinds})
