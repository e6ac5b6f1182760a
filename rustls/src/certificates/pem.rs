//! What certificates and revocation lists in PEM (RFC 7468) have in common.

use alloc::format;
use alloc::string::{String, ToString};

use pki_types::pem;

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

/// The parser's own words print text as lists of numbers, however long it is.
pub(super) fn describe(error: &pem::Error) -> String {
    // it may end up in a log: a line, and nothing that a terminal obeys
    let quote = |text: &[u8]| text[..text.len().min(80)].escape_ascii().to_string();
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            format!("no line that ends {}", quote(end_marker))
        }
        pem::Error::IllegalSectionStart { line } => {
            format!("not a line that begins a section: {}", quote(line))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use pki_types::CertificateDer;
    use pki_types::pem::PemObject;

    use super::*;

    #[test]
    fn errors_quote_little_and_only_what_can_be_printed() {
        let long = "A".repeat(1 << 20);
        let text = format!("-----BEGIN \x1b[2J{long}");
        for (pem, expected) in [
            (format!("{text}-----\n"), "no line that ends \\x1b[2JAAA"),
            (
                text,
                "not a line that begins a section: -----BEGIN \\x1b[2JAAA",
            ),
        ] {
            let error = CertificateDer::pem_slice_iter(pem.as_bytes())
                .next()
                .unwrap()
                .unwrap_err();
            let description = describe(&error);
            assert!(description.starts_with(expected), "{description}");
            assert!(description.len() < 150);
        }
    }

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
}
