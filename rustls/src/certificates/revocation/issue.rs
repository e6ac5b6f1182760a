//! The issue of a revocation list: its date, the date of the next update, and its number.
//!
//! webpki checks these fields but does not expose them. They are parsed from lists that webpki
//! accepted. In this crate, only the next update has an effect: if a verifier enforces it, its
//! acceptances do not hold beyond it. `rustls-trust` uses the fields to choose the newest list.

use alloc::vec::Vec;
use core::time::Duration;

use pki_types::UnixTime;

/// The fields that distinguish the issues of a list.
#[derive(Debug, PartialEq)]
pub(super) struct Issue {
    pub(super) this_update: UnixTime,
    pub(super) next_update: UnixTime,
    /// Big-endian, without leading zeros.
    pub(super) number: Option<Vec<u8>>,
}

impl Issue {
    /// Parses the fields of a `CertificateList` (RFC 5280 §5.1). Returns `None` if `der` has
    /// another form, for example no next update or no extensions.
    pub(super) fn read(der: &[u8]) -> Option<Self> {
        let mut list = Tlv::SEQUENCE.only(der)?;
        let mut tbs = Tlv::SEQUENCE.take(&mut list)?;

        Tlv::INTEGER.take(&mut tbs)?; // version
        Tlv::SEQUENCE.take(&mut tbs)?; // signature
        Tlv::SEQUENCE.take(&mut tbs)?; // issuer
        let this_update = time(&mut tbs)?;
        let next_update = time(&mut tbs)?;
        let _revoked_certificates = Tlv::SEQUENCE.take(&mut tbs);
        let mut extensions = Tlv::SEQUENCE.only(Tlv::CONTEXT_0.take(&mut tbs)?)?;

        let mut issue = Self {
            this_update,
            next_update,
            number: None,
        };
        while !extensions.is_empty() {
            issue.read_extension(Tlv::SEQUENCE.take(&mut extensions)?)?;
        }
        Some(issue)
    }

    fn read_extension(&mut self, mut extension: &[u8]) -> Option<()> {
        /// The contents of the object identifier 2.5.29.20.
        const CRL_NUMBER: &[u8] = &[0x55, 0x1d, 0x14];

        if Tlv::OBJECT_IDENTIFIER.take(&mut extension)? == CRL_NUMBER {
            let _critical = Tlv::BOOLEAN.take(&mut extension);
            let number = Tlv::INTEGER.only(Tlv::OCTET_STRING.only(extension)?)?;
            let significant = number.iter().skip_while(|&&byte| byte == 0);
            self.number = Some(significant.copied().collect());
        }
        Some(())
    }
}

/// Parses a `Time` in the forms of RFC 5280 §4.1.2.5: with seconds and `Z`.
fn time(input: &mut &[u8]) -> Option<UnixTime> {
    let (year, rest) = if let Some(utc) = Tlv::UTC_TIME.take(input) {
        let (year, rest) = two_digits(utc)?;
        (year + if year < 50 { 2000 } else { 1900 }, rest)
    } else {
        let (century, rest) = two_digits(Tlv::GENERALIZED_TIME.take(input)?)?;
        let (year, rest) = two_digits(rest)?;
        (century * 100 + year, rest)
    };
    let (month, rest) = two_digits(rest)?;
    let (day, rest) = two_digits(rest)?;
    let (hour, rest) = two_digits(rest)?;
    let (minute, rest) = two_digits(rest)?;
    let (second, rest) = two_digits(rest)?;
    if rest != b"Z" {
        return None;
    }

    let days = days_since_unix_epoch(year, month, day)?;
    let secs = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(UnixTime::since_unix_epoch(Duration::from_secs(secs)))
}

fn two_digits(input: &[u8]) -> Option<(u64, &[u8])> {
    match input {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..] => {
            Some((u64::from(tens - b'0') * 10 + u64::from(ones - b'0'), rest))
        }
        _ => None,
    }
}

/// Converts a Gregorian date. Returns `None` before 1970, for invalid months, and for day 0.
fn days_since_unix_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    /// Years start in March here, so that the leap day is the last day.
    const DAYS_BEFORE_MONTH: [u64; 12] = [306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];
    /// The number of days from March of year 0 to January 1970.
    const EPOCH: u64 = 719_468;

    let before_month = DAYS_BEFORE_MONTH.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    let year = if month < 3 {
        year.checked_sub(1)?
    } else {
        year
    };
    let before_year = year * 365 + year / 4 - year / 100 + year / 400;
    (before_year + before_month + day.checked_sub(1)?).checked_sub(EPOCH)
}

/// A DER tag, with methods that read values with this tag.
struct Tlv(u8);

impl Tlv {
    const BOOLEAN: Self = Self(0x01);
    const INTEGER: Self = Self(0x02);
    const OCTET_STRING: Self = Self(0x04);
    const OBJECT_IDENTIFIER: Self = Self(0x06);
    const UTC_TIME: Self = Self(0x17);
    const GENERALIZED_TIME: Self = Self(0x18);
    const SEQUENCE: Self = Self(0x30);
    const CONTEXT_0: Self = Self(0xa0);

    /// Returns the content of `input`, which must be a single value with this tag.
    fn only<'a>(&self, mut input: &'a [u8]) -> Option<&'a [u8]> {
        self.take(&mut input).filter(|_| input.is_empty())
    }

    /// Takes the value at the start of `input` and returns its content. Takes nothing if the tag
    /// differs.
    fn take<'a>(&self, input: &mut &'a [u8]) -> Option<&'a [u8]> {
        let (&tag, rest) = input.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0x00..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let len = digits
                    .iter()
                    .fold(0, |len, &digit| len << 8 | u64::from(digit));
                (usize::try_from(len).ok()?, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(len)?;
        if tag != self.0 {
            return None;
        }
        *input = rest;
        Some(content)
    }
}

#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
