//! OCSP responses (RFC 6960 §4.2.1) for stapling: successful, for the right certificate, and not
//! expired. Clients check the signature and the status.

use std::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use rustls::certificates::Certificate;
use rustls::crypto::CryptoProvider;
use x509_cert::der::asn1::{AnyRef, GeneralizedTime};
use x509_cert::der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};

use super::certificate_id::{CertificateId, Subject};

/// The object identifier id-pkix-ocsp-basic, 1.3.6.1.5.5.7.48.1.1: the only type of response that
/// RFC 6960 defines.
const BASIC: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x30\x01\x01";

/// The period in which a response may be stapled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Currency {
    /// The nextUpdate in seconds since 1970; `None` if newer information is always available.
    next_update: Option<u64>,
}

impl Currency {
    /// True if the response may be stapled. If the time is unknown, only an unlimited response may.
    pub(super) fn includes(self, now: Option<UnixTime>) -> bool {
        match (self.next_update, now) {
            (None, _) => true,
            (Some(next_update), Some(now)) => now.as_secs() <= next_update,
            (Some(_), None) => false,
        }
    }

    /// True if the period is unlimited.
    pub(super) fn is_endless(self) -> bool {
        self.next_update.is_none()
    }
}

/// True if the certificate requires a response: it has the TLS feature status_request (RFC 7633),
/// also called must-staple. Also true if its features cannot be read, because clients may then
/// require one.
pub(super) fn is_required(certificate: &CertificateDer<'static>) -> bool {
    let certificate = Certificate::new(certificate.clone());
    let tls_feature = match TLS_FEATURE.parse() {
        Ok(oid) => certificate.extension(&oid),
        Err(_) => return false,
    };
    match tls_feature {
        Ok(Some(extension)) => has_status_request(extension.value).unwrap_or(true),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// True if the `Features` contain the number of status_request.
fn has_status_request(features: &[u8]) -> Result<bool, Malformed> {
    let mut features = Elements::of(AnyRef::from_der(features)?, Tag::Sequence)?;
    let mut is_found = false;
    while !features.0.is_finished() {
        is_found |= features.next_as(Tag::Integer)?.value() == [STATUS_REQUEST];
    }
    Ok(is_found)
}

/// The object identifier id-pe-tlsfeature (RFC 7633).
const TLS_FEATURE: &str = "1.3.6.1.5.5.7.1.24";

/// The number of the TLS extension status_request (RFC 6066 §8).
const STATUS_REQUEST: u8 = 5;

/// Checks that `response` can be stapled to the first certificate of `chain`. If the time is
/// unknown, the dates of the response are not checked.
///
/// # Errors
///
/// Returns a message for the user if it cannot.
pub(super) fn check(
    response: &[u8],
    chain: &[CertificateDer<'static>],
    provider: &CryptoProvider,
    now: Option<UnixTime>,
) -> Result<Currency, &'static str> {
    // after a crash, a file may have its length but not its content
    if response.iter().all(|byte| *byte == 0) {
        return Err("it is empty");
    }
    if response.starts_with(b"-----BEGIN") {
        return Err("it is PEM, not DER");
    }
    let subject = Subject::new(chain, provider).ok_or("there is no certificate")?;
    let mut is_about_another = false;
    for single in responses(response)? {
        let single = single.map_err(|_| MALFORMED)?;
        if !subject.is_named_by(&single.id)? {
            is_about_another = true;
            continue;
        }
        let currency = Currency {
            next_update: single.next_update,
        };
        let Some(now) = now else {
            return Ok(currency);
        };
        let latest = now.as_secs().saturating_add(TOLERANCE.as_secs());
        return if !currency.includes(Some(now)) {
            Err(OUT_OF_DATE)
        } else if single.this_update > latest {
            // RFC 6960 §2.4
            Err("it is dated in the future")
        } else {
            Ok(currency)
        };
    }
    Err(if is_about_another {
        "it is about another certificate"
    } else {
        "it is about no certificate"
    })
}

/// The tolerated clock skew of the responder.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

pub(super) const OUT_OF_DATE: &str = "it is out of date";

const MALFORMED: &str = "it is malformed";

/// The part of a response that is about one certificate, without the status.
struct SingleResponse<'a> {
    id: CertificateId<'a>,
    /// The thisUpdate in seconds since 1970.
    this_update: u64,
    /// The nextUpdate in seconds since 1970; `None` if newer information is always available.
    next_update: Option<u64>,
}

type Malformed = x509_cert::der::Error;

/// Iterates over the parts of an OCSPResponse, each about one certificate.
fn responses(
    response: &[u8],
) -> Result<impl Iterator<Item = Result<SingleResponse<'_>, Malformed>>, &'static str> {
    let basic = basic_response(response)?;
    let list = list_of(basic).map_err(|_| MALFORMED)?;
    let mut list = Elements(list);
    Ok(std::iter::from_fn(move || {
        (!list.0.is_finished()).then(|| list.next().and_then(SingleResponse::read))
    }))
}

/// Returns the BasicOCSPResponse, if the response is successful.
fn basic_response(response: &[u8]) -> Result<&[u8], &'static str> {
    let malformed = |_| MALFORMED;
    let all = AnyRef::from_der(response).map_err(malformed)?;
    let mut fields = Elements::of(all, Tag::Sequence).map_err(malformed)?;
    // RFC 6960 §4.2.1: responseStatus; unless successful, responseBytes is absent
    let status = fields.next_as(Tag::Enumerated).map_err(malformed)?;
    if status.value() != [0] {
        return Err("the responder had an error");
    }
    let bytes = fields.next_as(tagged(0)).map_err(malformed)?;
    let bytes = AnyRef::from_der(bytes.value()).map_err(malformed)?;
    let mut bytes = Elements::of(bytes, Tag::Sequence).map_err(malformed)?;
    let kind = bytes.next_as(Tag::ObjectIdentifier).map_err(malformed)?;
    if kind.value() != BASIC {
        return Err("it is not of the basic type");
    }
    let basic = bytes.next_as(Tag::OctetString).map_err(malformed)?;
    Ok(basic.value())
}

/// Returns the contents of `responses` in a BasicOCSPResponse.
fn list_of(basic: &[u8]) -> Result<SliceReader<'_>, Malformed> {
    let basic = AnyRef::from_der(basic)?;
    let mut basic = Elements::of(basic, Tag::Sequence)?;
    let data = basic.next()?;
    let mut data = Elements::of(data, Tag::Sequence)?;
    let mut responder = data.next()?;
    if responder.tag() == tagged(0) {
        // skip the version
        responder = data.next()?;
    }
    // the responder ID has the tag [1] or [2]
    if ![tagged(1), tagged(2)].contains(&responder.tag()) {
        return Err(responder.tag().value_error().into());
    }
    data.next_as(Tag::GeneralizedTime)?;
    Ok(Elements::of(data.next()?, Tag::Sequence)?.0)
}

impl<'a> SingleResponse<'a> {
    fn read(single: AnyRef<'a>) -> Result<Self, Malformed> {
        let mut fields = Elements::of(single, Tag::Sequence)?;
        let mut id = Elements::of(fields.next()?, Tag::Sequence)?;
        let mut algorithm = Elements::of(id.next()?, Tag::Sequence)?;
        let id = CertificateId {
            hash_algorithm: algorithm.next_as(Tag::ObjectIdentifier)?.value(),
            issuer_name_hash: id.next_as(Tag::OctetString)?.value(),
            issuer_key_hash: id.next_as(Tag::OctetString)?.value(),
            serial_number: id.next_as(Tag::Integer)?.value(),
        };
        // skip certStatus
        fields.next()?;
        let this_update = secs(fields.next_as(Tag::GeneralizedTime)?)?;
        let mut next_update = None;
        if !fields.0.is_finished() {
            let field = fields.next()?;
            if field.tag() == tagged(0) {
                next_update = Some(secs(AnyRef::from_der(field.value())?)?);
            }
        }
        Ok(Self {
            id,
            this_update,
            next_update,
        })
    }
}

/// Converts to seconds since 1970.
fn secs(time: AnyRef<'_>) -> Result<u64, Malformed> {
    let time: GeneralizedTime = time.decode_as()?;
    Ok(time.to_unix_duration().as_secs())
}

fn tagged(number: u32) -> Tag {
    Tag::ContextSpecific {
        constructed: true,
        number: TagNumber(number),
    }
}

/// The elements inside a constructed element.
struct Elements<'a>(SliceReader<'a>);

impl<'a> Elements<'a> {
    fn of(element: AnyRef<'a>, tag: Tag) -> Result<Self, Malformed> {
        element.tag().assert_eq(tag)?;
        SliceReader::new(element.value()).map(Self)
    }

    fn next(&mut self) -> Result<AnyRef<'a>, Malformed> {
        AnyRef::decode(&mut self.0)
    }

    fn next_as(&mut self, tag: Tag) -> Result<AnyRef<'a>, Malformed> {
        let element = self.next()?;
        element.tag().assert_eq(tag)?;
        Ok(element)
    }
}
