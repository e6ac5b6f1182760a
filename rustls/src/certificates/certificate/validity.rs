//! The validity period of a certificate (RFC 5280 §4.1.2.5).

use core::fmt;

use pki_types::UnixTime;
use x509_cert::der::asn1::AnyRef;
use x509_cert::der::{Decode, Reader, SliceReader, Tag, Tagged};

use super::error::Malformed;
use crate::certificates::time::{
    GENERALIZED_TIME, SECONDS_OF_A_DAY, UTC_TIME, days_before_year, days_of_month,
    seconds_since_1970,
};

/// The validity period of a certificate, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Validity {
    /// The first second at which the certificate is valid.
    pub not_before: Time,
    /// The last second at which the certificate is valid.
    pub not_after: Time,
}

impl Validity {
    /// True if `time` is within the period, including both ends.
    pub fn contains(&self, time: UnixTime) -> bool {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        (self.not_before.0..=self.not_after.0).contains(&seconds)
    }

    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let validity = reader.sequence(|reader| {
            Ok::<_, Malformed>(Self {
                not_before: Time::read(reader)?,
                not_after: Time::read(reader)?,
            })
        })?;
        reader.finish()?;
        Ok(validity)
    }
}

/// A date and time in UTC, to the second, from year 0 to 9999.
///
/// `Display` writes the format `2026-02-28T23:59:59Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// Returns the seconds since 1970 without leap seconds; negative before 1970.
    pub fn as_unix_seconds(self) -> i64 {
        self.0
    }

    /// Converts the time. Returns `None` for a time before 1970, which [`UnixTime`] cannot
    /// represent.
    pub fn to_unix_time(self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0).ok()?;
        Some(UnixTime::since_unix_epoch(core::time::Duration::from_secs(
            seconds,
        )))
    }

    fn read(reader: &mut SliceReader<'_>) -> Result<Self, Malformed> {
        let element = AnyRef::decode(reader)?;
        let tag = match element.tag() {
            Tag::UtcTime => UTC_TIME,
            Tag::GeneralizedTime => GENERALIZED_TIME,
            _ => return Err(Malformed::Rule("no time where one is expected")),
        };
        seconds_since_1970(tag, element.value())
            .map(Self)
            .map_err(Malformed::Rule)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(SECONDS_OF_A_DAY) + days_before_year(1970);
        let second = self.0.rem_euclid(SECONDS_OF_A_DAY);
        // at most one year too early, because no year has more than 366 days
        let mut year = days / 366;
        while days_before_year(year + 1) <= days {
            year += 1;
        }
        let mut day = days - days_before_year(year);
        let mut month = 1;
        while day >= days_of_month(year, month) {
            day -= days_of_month(year, month);
            month += 1;
        }
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            f,
            "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z",
            day + 1
        )
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Time({self})")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;

    fn read(tag: u8, text: &[u8]) -> Result<Time, Malformed> {
        let der: Vec<u8> = [&[tag, text.len() as u8], text].concat();
        Time::read(&mut SliceReader::new(&der).unwrap())
    }

    #[test]
    fn times_are_parsed_and_printed() {
        for (tag, text, seconds, shown) in [
            (UTC_TIME, "700101000000Z", 0, "1970-01-01T00:00:00Z"),
            (UTC_TIME, "691231235959Z", -1, "1969-12-31T23:59:59Z"),
            (
                UTC_TIME,
                "500101000000Z",
                -631_152_000,
                "1950-01-01T00:00:00Z",
            ),
            (
                UTC_TIME,
                "491231235959Z",
                2_524_607_999,
                "2049-12-31T23:59:59Z",
            ),
            (
                UTC_TIME,
                "000229120000Z",
                951_825_600,
                "2000-02-29T12:00:00Z",
            ),
            (
                GENERALIZED_TIME,
                "20500101000000Z",
                2_524_608_000,
                "2050-01-01T00:00:00Z",
            ),
            (
                GENERALIZED_TIME,
                "99991231235959Z",
                253_402_300_799,
                "9999-12-31T23:59:59Z",
            ),
            (
                GENERALIZED_TIME,
                "00000101000000Z",
                -62_167_219_200,
                "0000-01-01T00:00:00Z",
            ),
            (
                GENERALIZED_TIME,
                "19000301000000Z",
                -2_203_891_200,
                "1900-03-01T00:00:00Z",
            ),
        ] {
            let time = read(tag, text.as_bytes()).unwrap();
            assert_eq!(time.as_unix_seconds(), seconds, "{text}");
            assert_eq!(time.to_string(), shown);
            assert_eq!(time.to_unix_time().is_some(), seconds >= 0);
        }
    }

    #[test]
    fn malformed_times_are_rejected() {
        for text in [
            "",
            "Z",
            "7001010000Z",
            "700101000000",
            "700101000000+0000",
            "701301000000Z",
            "700001000000Z",
            "700100000000Z",
            "700132000000Z",
            "010229000000Z",
            "700101240000Z",
            "700101006000Z",
            "700101000060Z",
            "70010100000aZ",
            "7001010000-1Z",
            "19700101000000Z",
        ] {
            read(UTC_TIME, text.as_bytes()).unwrap_err();
        }
        for text in [
            "19000229000000Z",
            "20230229000000Z",
            "20230101000000.5Z",
            "202301010000Z",
            "700101000000Z",
            "-0010101000000Z",
        ] {
            read(GENERALIZED_TIME, text.as_bytes()).unwrap_err();
        }
        // a type that is not a time
        read(0x0c, b"700101000000Z").unwrap_err();
    }

    #[test]
    fn a_period_has_exactly_two_times() {
        let time = [&[UTC_TIME, 13][..], b"700101000000Z"].concat();
        let of = |times: usize, behind: &[u8]| {
            let content = time.repeat(times);
            let der = [&[0x30, content.len() as u8][..], &content, behind].concat();
            Validity::read(&der)
        };
        assert!(of(2, b"").is_ok());
        for (times, behind) in [(2, &[0][..]), (2, &[5, 0]), (1, b""), (3, b"")] {
            assert!(of(times, behind).is_err(), "{times} times, {behind:?}");
        }
    }

    #[test]
    fn the_validity_period_includes_both_ends() {
        let validity = Validity {
            not_before: Time(-5),
            not_after: Time(10),
        };
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        assert!(validity.contains(at(0)));
        assert!(validity.contains(at(10)));
        assert!(!validity.contains(at(11)));
        assert!(!validity.contains(at(u64::MAX)));
    }
}
