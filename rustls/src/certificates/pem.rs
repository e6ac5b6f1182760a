//! What certificates and revocation lists in PEM (RFC 7468) have in common.

use alloc::format;
use alloc::string::{String, ToString};

use pki_types::pem;

/// What certificates are marked by. The parser knows the first; the second is a format of OpenSSL's own.
pub(super) const CERTIFICATES: [&str; 3] =
    ["CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE"];

/// Whether `content` begins as a DER sequence that is as long as certificates and lists are. Text does not: its
/// second byte would be within a character of several bytes.
pub(super) fn is_der(content: &[u8]) -> bool {
    matches!(content, [0x30, 0x80..=0xff, ..])
}

/// How many places of `pem` say that something with one of these `labels` begins.
///
/// The parser passes over those that do not begin a line, as behind a mark of the encoding or an end without a line
/// break, and over labels that it does not know. They would go missing without a word.
pub(super) fn count_marks(pem: &[u8], labels: &[&str]) -> usize {
    const BEGIN: &[u8] = b"-----BEGIN ";
    let is_label = |rest: &[u8]| {
        labels.iter().any(|label| {
            rest.strip_prefix(label.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"-----"))
        })
    };
    // each five dashes have one whose place is a multiple of five
    (0..pem.len())
        .step_by(5)
        .filter(|&at| pem[at] == b'-')
        .flat_map(|at| at.saturating_sub(4)..=at)
        .filter_map(|at| pem[at..].strip_prefix(BEGIN))
        .filter(|rest| is_label(rest))
        .count()
}

/// What is wrong, without what is there: that may be a private key, all on the line of its mark.
pub(super) fn describe(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { end_marker } => match label(end_marker) {
            Some(label) => format!("no line that ends the section {label}"),
            None => "no line that ends a section".into(),
        },
        pem::Error::IllegalSectionStart { line } => {
            let label = line.strip_prefix(b"-----BEGIN ").and_then(label);
            format!(
                "more, or less, on the line that begins {} than its mark",
                match label {
                    Some(label) => format!("the section {label}"),
                    None => "a section".into(),
                }
            )
        }
        other => other.to_string(),
    }
}

/// The label at the head of `text`, if it is one and no more than that: no base64 that long is without small letters.
fn label(text: &[u8]) -> Option<&str> {
    let end = text.iter().position(|&byte| byte == b'-');
    let label = &text[..end.unwrap_or(text.len())];
    let is_label = (1..=40).contains(&label.len())
        && label
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ');
    is_label.then(|| core::str::from_utf8(label).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use pki_types::PrivateKeyDer;
    use pki_types::pem::PemObject;

    use super::*;

    #[test]
    fn marks_anywhere() {
        for before in 0..12 {
            for filler in ["-", "x"] {
                let pem = filler.repeat(before)
                    + "-----BEGIN X509 CRL-----"
                    + "\n-----END X509 CRL-----"
                    + "-----BEGIN CERTIFICATE-----";
                for (labels, count) in [
                    (&["X509 CRL"][..], 1),
                    (&["CERTIFICATE"], 1),
                    (&["CERTIFICATE", "X509 CRL"], 2),
                    (&["X509", "CRL", "X509 CRL ", ""], 0),
                ] {
                    assert_eq!(count_marks(pem.as_bytes(), labels), count, "{pem}");
                }
            }
        }
        for cut in 0..24 {
            assert_eq!(
                count_marks(&b"-----BEGIN X509 CRL-----"[..cut], &["X509 CRL"]),
                0
            );
        }
    }

    /// A key may be all on one line, as from a variable of the environment, in a file that was taken for another.
    #[test]
    fn nothing_of_a_key_is_told() {
        const SECRET: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
        for (pem, told) in [
            (
                format!("-----BEGIN PRIVATE KEY-----{SECRET}-----END PRIVATE KEY-----\n"),
                "no line that ends the section PRIVATE KEY",
            ),
            (
                format!("-----BEGIN PRIVATE KEY-----{SECRET}\n-----END PRIVATE KEY-----\n"),
                "more, or less, on the line that begins the section PRIVATE KEY than its mark",
            ),
            (
                format!("-----BEGIN {SECRET}-----\n"),
                "no line that ends a section",
            ),
            (
                format!("-----BEGIN {SECRET}\n"),
                "more, or less, on the line that begins a section than its mark",
            ),
            (
                format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n"),
                "no line that ends the section PRIVATE KEY",
            ),
            (
                format!("-----BEGIN PRIVATE KEY-----\n{SECRET}!\n-----END PRIVATE KEY-----"),
                "base64 decode error: InvalidCharacter(33)",
            ),
        ] {
            let error = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap_err();
            assert_eq!(describe(&error), told, "{pem}");
        }
    }
}
