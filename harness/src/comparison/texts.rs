//! Comparison of errors that consist only of a text with upstream's.

/// Returns true if `ours` equals `theirs`. If both print an `Error::General`, the text of `ours`
/// may continue in parentheses.
pub fn agree(ours: &str, theirs: &str) -> bool {
    const GENERAL: &str = "General(\"";
    const END: &str = "\")";
    let (mut ours, mut theirs) = (ours.split(GENERAL), theirs.split(GENERAL));
    if ours.next() != theirs.next() {
        return false;
    }
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some(ours), Some(theirs)) => {
                let (our_text, our_rest) = ours.split_once(END).unwrap_or((ours, ""));
                let (their_text, their_rest) = theirs.split_once(END).unwrap_or((theirs, ""));
                let goes_on = our_text.strip_prefix(their_text);
                let is_same = goes_on.is_some_and(|more| more.is_empty() || more.starts_with(" ("));
                if !is_same || our_rest != their_rest {
                    return false;
                }
            }
            _ => return false,
        }
    }
}
