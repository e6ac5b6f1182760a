//! Which issue of a list it is: when it was made, when the next one is due, and its number.
//!
//! webpki checks these but does not tell them. They are read for comparison only, off a list that webpki has
//! accepted; whether a certificate is revoked never depends on what is read here.

use alloc::vec::Vec;
use core::time::Duration;

use pki_types::UnixTime;

/// What tells the issues of one list apart.
#[derive(Debug, PartialEq)]
pub(super) struct Issue {
    pub(super) this_update: UnixTime,
    pub(super) next_update: UnixTime,
    /// Big-endian, without leading zeros.
    pub(super) number: Option<Vec<u8>>,
}

impl Issue {
    /// Reads the fields off a `CertificateList` (RFC 5280 §5.1). `None` if that is not what `der` is.
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
        /// 2.5.29.20
        const CRL_NUMBER: &[u8] = &[0x55, 0x1d, 0x14];

        if Tlv::OBJECT_IDENTIFIER.take(&mut extension)? == CRL_NUMBER {
            let _critical = Tlv::BOOLEAN.take(&mut extension);
            let number = Tlv::INTEGER.only(Tlv::OCTET_STRING.only(extension)?)?;
            let significant = number.iter().skip_while(|&&byte| byte == 0);
            self.number = Some(significant.copied().collect());
        }
        Some(())
    }

    /// What rises from one issue of a list to the next: the time, and then the number (RFC 5280 §5.2.3).
    ///
    /// Whether a list is genuine is not known before it is used. One that says it is of the future is therefore
    /// before all others: a forged one must not keep genuine ones from taking its place.
    #[cfg(feature = "std")]
    pub(super) fn order(&self, now: Option<UnixTime>) -> impl Ord {
        // without leading zeros the longer number is the greater one
        let number = self.number.as_ref().map(|number| (number.len(), number));
        (!self.is_of_the_future(now), self.this_update, number)
    }

    /// Orders lists by how long they are worth keeping: the first to expire is the least, then the first issued.
    ///
    /// A list dated in the future comes before all others: a forged one must not displace genuine ones.
    #[cfg(feature = "std")]
    pub(super) fn expiry_order(&self, now: Option<UnixTime>) -> impl Ord {
        (
            !self.is_of_the_future(now),
            self.next_update,
            self.order(now),
        )
    }

    /// True if the list says that it was issued after `now`.
    #[cfg(feature = "std")]
    fn is_of_the_future(&self, now: Option<UnixTime>) -> bool {
        /// By how much the issuer's clock may be ahead.
        const TOLERANCE: Duration = Duration::from_secs(5 * 60);

        now.is_some_and(|now| {
            self.this_update.as_secs() > now.as_secs().saturating_add(TOLERANCE.as_secs())
        })
    }
}

/// A `Time` in the forms that RFC 5280 §4.1.2.5 allows: seconds, and `Z`.
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

/// By the Gregorian calendar. `None` before 1970, and for a month that there is not.
fn days_since_unix_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    /// Of a year that starts in March, so that the leap day is its last.
    const DAYS_BEFORE_MONTH: [u64; 12] = [306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];
    /// From March of year 0 to January 1970.
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

/// A tag, and how to take values that have it.
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

    /// The content of the value that is all of `input`.
    fn only<'a>(&self, mut input: &'a [u8]) -> Option<&'a [u8]> {
        self.take(&mut input).filter(|_| input.is_empty())
    }

    /// Takes the content of the value at the front of `input`; nothing if its tag is another one.
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
