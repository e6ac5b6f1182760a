//! The order of revocation lists: which one is newer, and which one expires first.
//!
//! A list may be forged: its signature is checked only when it is used. So a list dated in the
//! future sorts before all that are not. Otherwise, a forged list could block or evict genuine
//! ones.

use std::time::Duration;

use pki_types::UnixTime;
use rustls::certificates::RevocationList;

/// True if both lists have the same issuer and scope. A verifier uses only the first of several
/// such lists.
pub(super) fn cover_the_same(one: &RevocationList, other: &RevocationList) -> bool {
    one.issuer() == other.issuer()
        && one.issuing_distribution_point() == other.issuing_distribution_point()
}

/// True if `list` was issued before `other`. If only one of them is dated after `now`, that one
/// counts as older.
pub(super) fn is_older(
    list: &RevocationList,
    other: &RevocationList,
    now: Option<UnixTime>,
) -> bool {
    order(list, now) < order(other, now)
}

/// Returns a sort key that grows from issue to issue. Lists dated after `now` come first.
pub(crate) fn order(list: &RevocationList, now: Option<UnixTime>) -> impl Ord {
    let this_update = list.this_update();
    this_update.map(|this_update| issue_key(this_update, list.number(), now))
}

/// Returns a sort key for eviction. Lists dated after `now` come first, then lists that expire
/// earlier; among lists that expire at the same time, those issued earlier.
pub(super) fn expiry_order(list: &RevocationList, now: Option<UnixTime>) -> impl Ord {
    let dates = list.this_update().zip(list.next_update());
    dates.map(|(this_update, next_update)| {
        let issue = issue_key(this_update, list.number(), now);
        (!is_of_the_future(this_update, now), next_update, issue)
    })
}

/// Returns the key of an issue: the time, then the number (RFC 5280 §5.2.3). Issues dated after
/// `now` come first.
fn issue_key(this_update: UnixTime, number: Option<&[u8]>, now: Option<UnixTime>) -> impl Ord {
    // without leading zeros, a longer number is greater
    let number = number.map(|number| (number.len(), number));
    (!is_of_the_future(this_update, now), this_update, number)
}

/// True if a list with this `this_update` is dated after `now`, by more than the tolerated clock
/// skew.
fn is_of_the_future(this_update: UnixTime, now: Option<UnixTime>) -> bool {
    /// The tolerated clock skew of the issuer.
    const TOLERANCE: Duration = Duration::from_secs(5 * 60);

    now.is_some_and(|now| this_update.as_secs() > now.as_secs().saturating_add(TOLERANCE.as_secs()))
}

#[cfg(test)]
mod tests;
