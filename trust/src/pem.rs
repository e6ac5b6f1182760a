//! Finds out why the parser of PEM (RFC 7468) skips or rejects a file, for example because of
//! another format, marks inside a line, or an encrypted key.

use pki_types::pem;
use zeroize::Zeroizing;

/// The labels of certificates. The parser supports the first; the others are used by OpenSSL.
pub(super) const CERTIFICATES: [&str; 3] =
    ["CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE"];

/// The labels of private keys that are looked for.
#[cfg(feature = "x509")]
pub(super) const PRIVATE_KEYS: [&str; 4] = [
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
];

/// True if `content` starts like a DER sequence of 128 bytes or more, as certificates and lists do.
/// Text does so only if it starts with `0` and a character beyond ASCII.
pub(super) fn is_der(content: &[u8]) -> bool {
    matches!(content, [0x30, 0x80..=0xff, ..])
}

/// Returns the format of a file in DER, or in UTF-16 with BEGIN marks with one of `labels`. Returns
/// `None` if neither is recognized.
pub(super) fn other_format(content: &[u8], labels: &[&str]) -> Option<&'static str> {
    if is_der(content) {
        return Some("DER, not PEM");
    }
    // a byte order mark, or the dash that every mark starts with
    let may_be_utf_16 = matches!(
        content,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'-', 0, ..] | [0, b'-', ..]
    );
    if !may_be_utf_16 {
        return None;
    }
    // zeroized, because it may be a private key. The memory must not grow: that would leave copies
    let mut ascii = Zeroizing::new(Vec::with_capacity(content.len()));
    ascii.extend(content.iter().copied().filter(|byte| *byte != 0));
    (count_marks(&ascii, labels) > 0).then_some("UTF-16, not UTF-8")
}

/// True if there is an encrypted private key in `pem`: PKCS #8, or the older OpenSSL format, which
/// has headers (RFC 1421 §4.6.1.1).
#[cfg(feature = "x509")]
pub(super) fn is_encrypted_key(pem: &[u8]) -> bool {
    pem.split(|byte| *byte == b'\n')
        .map(|line| line.trim_ascii())
        .any(|line| {
            line == b"-----BEGIN ENCRYPTED PRIVATE KEY-----"
                || line
                    .strip_prefix(b"Proc-Type:")
                    .is_some_and(|value| value.trim_ascii().ends_with(b",ENCRYPTED"))
        })
}

/// Returns the number of BEGIN marks in `pem` with one of these `labels`.
///
/// The parser silently skips marks that do not start a line, for example after a byte order mark or
/// a missing line break. It also skips unknown labels. The count reveals what it skipped.
pub(super) fn count_marks(pem: &[u8], labels: &[&str]) -> usize {
    const BEGIN: &[u8] = b"-----BEGIN ";
    let is_label = |rest: &[u8]| {
        labels.iter().any(|label| {
            rest.strip_prefix(label.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"-----"))
        })
    };
    // five dashes in a row always include an offset that is a multiple of five
    (0..pem.len())
        .step_by(5)
        .filter(|&at| pem[at] == b'-')
        .flat_map(|at| at.saturating_sub(4)..=at)
        .filter_map(|at| pem[at..].strip_prefix(BEGIN))
        .filter(|rest| is_label(rest))
        .count()
}

/// Returns the text of `error` without the line that it quotes, because a private key may be on the
/// same line as its mark.
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

/// Returns the label at the start of `text`. Returns `None` if it does not look like a label,
/// because it may then be part of a key in base64.
fn label(text: &[u8]) -> Option<&str> {
    let end = text.iter().position(|&byte| byte == b'-');
    let label = &text[..end.unwrap_or(text.len())];
    let is_label = (1..=40).contains(&label.len())
        && label
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ');
    is_label.then(|| std::str::from_utf8(label).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use pki_types::PrivateKeyDer;
    use pki_types::pem::PemObject;

    use super::*;

    #[test]
    fn pem_labels_are_found_at_any_offset() {
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

    /// A file of the wrong kind may contain a key on a single line, for example one from an
    /// environment variable.
    #[test]
    fn errors_do_not_reveal_keys() {
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
