//! The dates of certificates in seconds since 1970 (RFC 5280 §4.1.2.5).
//!
//! [`ValidityPeriod`] parses one field of a certificate without the crate feature `x509`.
//! `Certificate` parses other properties, too, and needs that feature.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};

pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The tag `[0]` of a certificate's version.
const VERSION: u8 = 0xa0;

pub(super) const SECONDS_OF_A_DAY: i64 = 24 * 60 * 60;

/// The validity period of a certificate in seconds since 1970. A time before 1970 counts as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValidityPeriod {
    /// The first second of the period.
    not_before: u64,
    /// The last second of the period.
    not_after: u64,
}

impl ValidityPeriod {
    /// Parses the period of `certificate`. Returns `None` if that fails.
    pub(crate) fn read(certificate: &CertificateDer<'_>) -> Option<Self> {
        let mut certificate = Elements(certificate).nested(SEQUENCE)?;
        let mut signed = certificate.nested(SEQUENCE)?;
        // without a version, the serial number is the first field
        let (tag, _) = signed.next()?;
        if tag == VERSION {
            signed.next()?;
        }
        let _signature_algorithm = signed.next()?;
        let _issuer = signed.next()?;
        let mut validity = signed.nested(SEQUENCE)?;
        Some(Self {
            not_before: validity.time()?,
            not_after: validity.time()?,
        })
    }

    /// Returns the first second after the period.
    pub(crate) fn end(&self) -> UnixTime {
        unix_time(self.not_after.saturating_add(1))
    }

    /// Returns the next time after `now` at which the certificate becomes valid or expires.
    pub(crate) fn next_change(&self, now: UnixTime) -> Option<UnixTime> {
        [unix_time(self.not_before), self.end()]
            .into_iter()
            .filter(|change| change.as_secs() > now.as_secs())
            .min_by_key(UnixTime::as_secs)
    }
}

fn unix_time(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// A sequence of DER values.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// Takes the next value. Returns its tag and content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            // X.690 §8.1.3.5: the number of length bytes that follow
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                let len = bytes
                    .iter()
                    .fold(0_u64, |len, byte| len << 8 | u64::from(*byte));
                (usize::try_from(len).ok()?, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// Takes the next value, which must have this `tag`, and returns the values inside.
    fn nested(&mut self, tag: u8) -> Option<Self> {
        let (found, content) = self.next()?;
        (found == tag).then_some(Self(content))
    }

    /// Takes the next value, which must be a time. Returns the seconds since 1970, or 0 for an
    /// earlier time.
    fn time(&mut self) -> Option<u64> {
        let (tag, text) = self.next()?;
        let seconds = seconds_since_1970(tag, text).ok()?;
        Some(u64::try_from(seconds).unwrap_or(0))
    }
}

/// Parses the content of a UTCTime or a GeneralizedTime.
///
/// # Errors
///
/// Returns the rule that the content violates.
pub(super) fn seconds_since_1970(tag: u8, text: &[u8]) -> Result<i64, &'static str> {
    let digits_of_year = match tag {
        UTC_TIME => 2,
        GENERALIZED_TIME => 4,
        _ => return Err("no time where one is expected"),
    };
    // RFC 5280 §4.1.2.5.1, §4.1.2.5.2: with seconds, without fractions, in UTC
    let (year, rest) = match text.split_at_checked(digits_of_year) {
        Some((year, [rest @ .., b'Z'])) if rest.len() == 10 => (year, rest),
        _ => return Err("a time that is not of the form YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ"),
    };
    let year = year.chunks_exact(2).try_fold(0, |year, text| {
        number(text).map(|number| year * 100 + number)
    })?;
    let year = match (tag, year) {
        (UTC_TIME, year @ 50..) => 1900 + year,
        (UTC_TIME, year) => 2000 + year,
        (_, year) => year,
    };
    from_parts(year, rest)
}

/// Parses month, day, hour, minute and second in `rest`, of two digits each. Returns the seconds
/// since 1970.
fn from_parts(year: i64, rest: &[u8]) -> Result<i64, &'static str> {
    let mut parts = [0; 5];
    for (part, text) in parts.iter_mut().zip(rest.chunks_exact(2)) {
        *part = number(text)?;
    }
    let [month, day, hour, minute, second] = parts;
    let is_possible = (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !is_possible {
        return Err("a time that there never is");
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    Ok(days_since_1970(year, month, day) * SECONDS_OF_A_DAY + seconds)
}

/// Parses a number of two decimal digits.
fn number(text: &[u8]) -> Result<i64, &'static str> {
    match *text {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Ok(i64::from(10 * (tens - b'0') + (ones - b'0')))
        }
        _ => Err("a time with something else than digits"),
    }
}

fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(super) fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days from 1 January of year 0 to the start of `year`.
pub(super) fn days_before_year(year: i64) -> i64 {
    let past = year - 1;
    // year 0 is a leap year
    year * 365 + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400) + 1
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    // `month` is in 1..=12
    let months = BEFORE[(month - 1) as usize];
    let leap_day = i64::from(month > 2 && is_leap_year(year));
    days_before_year(year) - days_before_year(1970) + months + leap_day + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a certificate with the fields of its TBSCertificate up to the validity.
    fn certificate(version: &[u8], not_after: &[u8]) -> CertificateDer<'static> {
        const OTHERS: &[u8] = b"\x02\x01\x07\x30\x03\x06\x01\x2a\x30\x00";
        const NOT_BEFORE: &[u8] = b"\x17\x0d200101000000Z";
        let sequence = |content: &[&[u8]]| {
            let content = content.concat();
            [&[SEQUENCE, 0x81, content.len() as u8], &content[..]].concat()
        };
        let validity = sequence(&[NOT_BEFORE, not_after]);
        let signed = sequence(&[version, OTHERS, &validity]);
        sequence(&[&signed]).into()
    }

    const VERSION_3: &[u8] = b"\xa0\x03\x02\x01\x02";

    const NOT_BEFORE: u64 = 1_577_836_800;

    #[test]
    fn the_period_is_parsed() {
        for version in [VERSION_3, &[]] {
            for (time, expected) in [
                (&b"\x17\x0d300101000000Z"[..], 1_893_456_000),
                (b"\x18\x0f20500101000000Z", 2_524_608_000),
                (b"\x18\x0f99991231235959Z", 253_402_300_799),
                (b"\x17\x0d500101000000Z", 0),
            ] {
                let expected = ValidityPeriod {
                    not_before: NOT_BEFORE,
                    not_after: expected,
                };
                let period = ValidityPeriod::read(&certificate(version, time));
                assert_eq!(period, Some(expected));
            }
        }
    }

    #[test]
    fn validity_changes_at_the_start_and_after_the_end_of_the_period() {
        let period = ValidityPeriod {
            not_before: 100,
            not_after: 200,
        };
        assert_eq!(period.end().as_secs(), 201);
        for (now, change) in [
            (0, Some(100)),
            (99, Some(100)),
            (100, Some(201)),
            (200, Some(201)),
            (201, None),
            (u64::MAX, None),
        ] {
            let next = period.next_change(unix_time(now));
            assert_eq!(next.map(|next| next.as_secs()), change, "{now}");
        }
    }

    #[test]
    fn malformed_certificates_have_no_period() {
        let read = |der: &[u8]| ValidityPeriod::read(&der.into());
        let whole = certificate(VERSION_3, b"\x17\x0d300101000000Z");
        for len in 0..whole.len() {
            assert_eq!(read(&whole[..len]), None, "{len} bytes");
        }
        for time in [&b"\x17\x0d301301000000Z"[..], b"\x04\x0d300101000000Z", &[]] {
            assert_eq!(read(&certificate(VERSION_3, time)), None);
        }
        // lengths that are too long or indefinite
        assert_eq!(read(b"\x30\x84\xff\xff\xff\xff"), None);
        assert_eq!(read(b"\x30\x85\0\0\0\0\0"), None);
        assert_eq!(read(b"\x30\x80\0\0"), None);
    }
}
