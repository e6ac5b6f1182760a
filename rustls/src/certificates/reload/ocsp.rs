//! Whether an OCSP response (RFC 6960 §4.2.1) is one that can be stapled to a certificate: successful, about that
//! certificate, and not out of date. Who signed it, and what it says, is for clients to judge.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use x509_cert::der::asn1::{AnyRef, GeneralizedTime};
use x509_cert::der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};

use crate::certificates::Certificate;

/// id-pkix-ocsp-basic, 1.3.6.1.5.5.7.48.1.1: the one form of response there is.
const BASIC: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x30\x01\x01";

/// Checks that `response` can be stapled to `end_entity`.
///
/// # Errors
///
/// Why not.
pub(super) fn check(
    response: &[u8],
    end_entity: &CertificateDer<'static>,
    now: UnixTime,
) -> Result<(), &'static str> {
    let certificate = Certificate::new(end_entity.clone());
    let Ok(serial_number) = certificate.serial_number() else {
        return Err("the certificate has no serial number");
    };
    let mut is_about_another = false;
    for single in responses(response)? {
        let single = single.map_err(|_| MALFORMED)?;
        if single.serial_number != serial_number.as_bytes() {
            is_about_another = true;
            continue;
        }
        let latest = now.as_secs().saturating_add(TOLERANCE.as_secs());
        return match single.next_update {
            Some(next_update) if next_update < now.as_secs() => Err("it is out of date"),
            // RFC 6960 §2.4
            _ if single.this_update > latest => Err("it is dated in the future"),
            _ => Ok(()),
        };
    }
    Err(if is_about_another {
        "it is about another certificate"
    } else {
        "it is about no certificate"
    })
}

/// By how much the responder's clock may be ahead.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

const MALFORMED: &str = "it is malformed";

/// What a response says of one certificate, as far as it matters here.
struct SingleResponse<'a> {
    serial_number: &'a [u8],
    /// In seconds since 1970.
    this_update: u64,
    /// In seconds since 1970; none where newer information is always to be had.
    next_update: Option<u64>,
}

type Malformed = x509_cert::der::Error;

/// The parts of an OCSPResponse that are about one certificate each.
fn responses(
    response: &[u8],
) -> Result<impl Iterator<Item = Result<SingleResponse<'_>, Malformed>>, &'static str> {
    let basic = basic_response(response)?;
    let list = list_of(basic).map_err(|_| MALFORMED)?;
    let mut list = Elements(list);
    Ok(core::iter::from_fn(move || {
        (!list.0.is_finished()).then(|| list.next().and_then(SingleResponse::read))
    }))
}

/// The BasicOCSPResponse, if the responder was able to make one.
fn basic_response(response: &[u8]) -> Result<&[u8], &'static str> {
    let malformed = |_| MALFORMED;
    let all = AnyRef::from_der(response).map_err(malformed)?;
    let mut fields = Elements::of(all, Tag::Sequence).map_err(malformed)?;
    // RFC 6960 §4.2.1: responseStatus; without responseBytes there is no response in it
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

/// The contents of `responses` in a BasicOCSPResponse.
fn list_of(basic: &[u8]) -> Result<SliceReader<'_>, Malformed> {
    let basic = AnyRef::from_der(basic)?;
    let mut basic = Elements::of(basic, Tag::Sequence)?;
    let data = basic.next()?;
    let mut data = Elements::of(data, Tag::Sequence)?;
    let mut responder = data.next()?;
    if responder.tag() == tagged(0) {
        // that was the version
        responder = data.next()?;
    }
    // the responder is named by [1] or [2]
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
        // hash algorithm, and what it makes of the issuer's name and key
        id.next_as(Tag::Sequence)?;
        id.next_as(Tag::OctetString)?;
        id.next_as(Tag::OctetString)?;
        let serial_number = id.next_as(Tag::Integer)?.value();
        // the status
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
            serial_number,
            this_update,
            next_update,
        })
    }
}

/// Seconds since 1970.
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

/// The elements of a constructed one.
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
