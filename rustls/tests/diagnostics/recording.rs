//! Providers that record every secret they derive, and the search for those secrets.

use std::cell::RefCell;
use std::sync::OnceLock;

use harness::peers::configs::Provider;
use harness::providers::{leak, suites};

thread_local! {
    static SECRETS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// The length of the shortest secret that is searched for. Shorter ones could occur by coincidence.
const SHORTEST: usize = 12;

/// The length in bytes of the pieces to search for. Any leak of twice that length contains a whole
/// piece.
const PIECE: usize = 8;

/// Records `secret` for this thread.
pub fn keep(secret: &[u8]) {
    if secret.len() >= SHORTEST {
        SECRETS.with_borrow_mut(|secrets| secrets.push(secret.to_vec()));
    }
}

/// Forgets the secrets of this thread and returns their number.
pub fn forget() -> usize {
    SECRETS.take().len()
}

/// Fails if `text` contains a piece of any of this thread's secrets, in decimal, in hexadecimal or
/// as raw bytes.
#[track_caller]
pub fn assert_no_secret(text: &str) {
    let plain = text.to_lowercase();
    let digits: String = plain
        .chars()
        .filter(|char| !matches!(char, ' ' | ',' | '\n'))
        .collect();
    let digits = digits.replace("0x", "");
    SECRETS.with_borrow(|secrets| {
        for piece in secrets.iter().flat_map(|secret| secret.chunks_exact(PIECE)) {
            // padding and similar bytes
            if piece.iter().all(|byte| *byte == piece[0]) {
                continue;
            }
            let hex: String = piece.iter().map(|byte| format!("{byte:02x}")).collect();
            let decimal: String = piece.iter().map(u8::to_string).collect();
            let escaped = piece.escape_ascii().to_string().to_lowercase();
            for form in [hex, decimal] {
                assert!(!digits.contains(&form), "{piece:02x?} is revealed: {text}");
            }
            let is_revealed = plain.contains(&escaped);
            assert!(!is_revealed, "{piece:02x?} is revealed: {text}");
        }
    });
}

macro_rules! recording {
    ($module:ident, $tls:ident) => {
        pub mod $module {
            use $tls::crypto::hmac::Tag;
            use $tls::crypto::tls12::Prf;
            use $tls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
            use $tls::crypto::{ActiveKeyExchange, CryptoProvider};
            use $tls::{Error, SupportedCipherSuite};

            use super::*;

            /// Creates a provider that records the secrets of all key schedules.
            pub fn provider(provider: Provider) -> CryptoProvider {
                static SUITES: [OnceLock<Vec<SupportedCipherSuite>>; 2] =
                    [const { OnceLock::new() }; 2];
                let base = provider.$module();
                let suites = SUITES[provider as usize]
                    .get_or_init(|| base.cipher_suites.iter().copied().map(recorded).collect());
                CryptoProvider {
                    cipher_suites: suites.clone(),
                    ..base
                }
            }

            fn recorded(suite: SupportedCipherSuite) -> SupportedCipherSuite {
                suites::$module::changed(
                    suite,
                    |suite| suite.prf_provider = leak(Recorded(suite.prf_provider)),
                    |suite| suite.hkdf_provider = leak(Recorded(suite.hkdf_provider)),
                )
            }

            struct Recorded<T>(T);

            impl Hkdf for Recorded<&'static dyn Hkdf> {
                fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
                    Box::new(Recorded(self.0.extract_from_zero_ikm(salt)))
                }

                fn extract_from_secret(
                    &self,
                    salt: Option<&[u8]>,
                    secret: &[u8],
                ) -> Box<dyn HkdfExpander> {
                    keep(secret);
                    Box::new(Recorded(self.0.extract_from_secret(salt, secret)))
                }

                fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
                    Box::new(Recorded(self.0.expander_for_okm(okm)))
                }

                fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
                    self.0.hmac_sign(key, message)
                }
            }

            impl HkdfExpander for Recorded<Box<dyn HkdfExpander>> {
                fn expand_slice(
                    &self,
                    info: &[&[u8]],
                    output: &mut [u8],
                ) -> Result<(), OutputLengthError> {
                    self.0.expand_slice(info, output)?;
                    keep(output);
                    Ok(())
                }

                fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
                    let block = self.0.expand_block(info);
                    keep(block.as_ref());
                    block
                }

                fn hash_len(&self) -> usize {
                    self.0.hash_len()
                }
            }

            impl Prf for Recorded<&'static dyn Prf> {
                fn for_key_exchange(
                    &self,
                    output: &mut [u8; 48],
                    kx: Box<dyn ActiveKeyExchange>,
                    peer_pub_key: &[u8],
                    label: &[u8],
                    seed: &[u8],
                ) -> Result<(), Error> {
                    let made = self
                        .0
                        .for_key_exchange(output, kx, peer_pub_key, label, seed);
                    keep(output);
                    made
                }

                fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
                    self.0.for_secret(output, secret, label, seed);
                    // verify_data is not secret, and upstream prints it
                    if !label.ends_with(b"finished") {
                        keep(output);
                    }
                }
            }
        }
    };
}

recording!(this, rustls);
recording!(upstream, rustls_upstream);

/// The search finds secrets in each format.
#[test]
fn the_search_finds_secrets_in_each_format() {
    let secret: Vec<u8> = (b'a'..=b'z').collect();
    keep(&secret);
    let texts = [
        format!("{secret:?}"),
        format!("{secret:#?}"),
        format!("{secret:02x?}"),
        format!("{secret:#04x?}"),
        format!("{secret:02X?}").replace(", ", ""),
        "abcdefghijklmnopqrstuvwxyz".to_string(),
        format!("{:?}", &secret[5..20]),
    ];
    for text in texts {
        let found = std::panic::catch_unwind(|| assert_no_secret(&text));
        assert!(found.is_err(), "{text}");
    }
    assert_no_secret("nothing, or only 97, 98, 99, 100, 101, 102, 103");
    assert_eq!(forget(), 1);
}
