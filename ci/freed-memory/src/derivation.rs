//! Suites whose key derivation records all secrets that it derives.

use rustls::crypto::ActiveKeyExchange;
use rustls::crypto::hmac::Tag;
use rustls::crypto::tls12::{PreparedSecret, Prf};
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use rustls::{CipherSuiteCommon, Error, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

use crate::secrets::record;

/// Returns a suite like `suite` that records secrets.
pub(crate) fn recording(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let copy = |common: &CipherSuiteCommon| CipherSuiteCommon {
        suite: common.suite,
        hash_provider: common.hash_provider,
        confidentiality_limit: common.confidentiality_limit,
    };
    match suite {
        SupportedCipherSuite::Tls12(suite) => {
            SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
                common: copy(&suite.common),
                prf_provider: Box::leak(Box::new(RecordingPrf {
                    inner: suite.prf_provider,
                    key_len: suite.aead_alg.key_block_shape().enc_key_len,
                })),
                ..*suite
            })))
        }
        SupportedCipherSuite::Tls13(suite) => {
            SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
                common: copy(&suite.common),
                hkdf_provider: Box::leak(Box::new(RecordingHkdf(suite.hkdf_provider))),
                ..*suite
            })))
        }
    }
}

/// Records a secret of the key schedule of TLS 1.3, by its label.
///
/// IVs are left out: each nonce contains one, and the first nonce of a key is the IV itself (RFC
/// 9846 §5.3). So is the salt without a PSK, which is a constant.
fn record_expanded(info: &[&[u8]], secret: &[u8]) {
    const LABELS: [&str; 17] = [
        "c ap traffic",
        "c e traffic",
        "c hs traffic",
        "derived",
        "e exp master",
        "exp master",
        "finished",
        "key",
        "quic hp",
        "quic key",
        "quic ku",
        "res binder",
        "res master",
        "resumption",
        "s ap traffic",
        "s hs traffic",
        "traffic upd",
    ];
    const WITHOUT_PSK: [[u8; 4]; 2] = [[0x6f, 0x26, 0x15, 0xa1], [0x15, 0x91, 0xda, 0xc5]];
    let info = info.concat();
    // uint16 length, the label with its length
    let label = &info[3..][..usize::from(info[2])];
    let is_constant = WITHOUT_PSK.iter().any(|start| secret.starts_with(start));
    let names = LABELS.into_iter();
    let mut names = names.filter(|name| label == ["tls13 ", *name].concat().as_bytes());
    match names.next() {
        Some("derived") if is_constant => {}
        Some(name) => record(name, secret),
        // the secret of the exporter "label", whose output belongs to the application
        None if label == b"tls13 label" => record("exporter", secret),
        None => assert!(
            label.ends_with(b"iv") || label == b"tls13 exporter",
            "{label:?}"
        ),
    }
}

struct RecordingHkdf(&'static dyn Hkdf);

impl RecordingHkdf {
    fn recording(expander: Box<dyn HkdfExpander>) -> Box<dyn HkdfExpander> {
        Box::new(RecordingExpander(expander))
    }
}

impl Hkdf for RecordingHkdf {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        Self::recording(self.0.extract_from_zero_ikm(salt))
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        Self::recording(self.0.extract_from_secret(salt, secret))
    }

    fn extract_from_kx_shared_secret(
        &self,
        salt: Option<&[u8]>,
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
    ) -> Result<Box<dyn HkdfExpander>, Error> {
        let extracted = self.0.extract_from_kx_shared_secret(salt, kx, peer_pub_key);
        Ok(Self::recording(extracted?))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Self::recording(self.0.expander_for_okm(okm))
    }

    fn with_expander(&self, okm: &OkmBlock, expand: &mut dyn FnMut(&dyn HkdfExpander)) {
        self.0
            .with_expander(okm, &mut |expander| expand(&RecordingBorrowed(expander)));
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        self.0.hmac_sign(key, message)
    }
}

struct RecordingExpander(Box<dyn HkdfExpander>);

impl HkdfExpander for RecordingExpander {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        RecordingBorrowed(&*self.0).expand_slice(info, output)
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        RecordingBorrowed(&*self.0).expand_block(info)
    }

    fn hash_len(&self) -> usize {
        self.0.hash_len()
    }
}

struct RecordingBorrowed<'a>(&'a dyn HkdfExpander);

impl HkdfExpander for RecordingBorrowed<'_> {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        self.0.expand_slice(info, output)?;
        record_expanded(info, output);
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        let block = self.0.expand_block(info);
        record_expanded(info, block.as_ref());
        block
    }

    fn hash_len(&self) -> usize {
        self.0.hash_len()
    }
}

/// Records the secrets of the key schedule of TLS 1.2. The content of a Finished is none.
struct RecordingPrf {
    inner: &'static dyn Prf,
    key_len: usize,
}

fn record_derived(label: &[u8], output: &[u8], key_len: usize) {
    match label {
        b"master secret" | b"extended master secret" => record("master secret", output),
        b"key expansion" => {
            record("client_write_key", &output[..key_len]);
            record("server_write_key", &output[key_len..][..key_len]);
        }
        _ => assert!(label.ends_with(b" finished") || label == b"label"),
    }
}

impl Prf for RecordingPrf {
    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        self.inner.for_secret(output, secret, label, seed);
        record_derived(label, output, self.key_len);
    }

    fn for_key_exchange(
        &self,
        output: &mut [u8; 48],
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
        label: &[u8],
        seed: &[u8],
    ) -> Result<(), Error> {
        let inner = self.inner;
        inner.for_key_exchange(output, kx, peer_pub_key, label, seed)?;
        record_derived(label, output, self.key_len);
        Ok(())
    }

    fn prepare(&self, secret: &[u8]) -> Option<Box<dyn PreparedSecret>> {
        let prepared = self.inner.prepare(secret)?;
        Some(Box::new(RecordingPrepared(prepared, self.key_len)))
    }
}

struct RecordingPrepared(Box<dyn PreparedSecret>, usize);

impl PreparedSecret for RecordingPrepared {
    fn derive(&self, output: &mut [u8], label: &[u8], seed: &[u8]) {
        self.0.derive(output, label, seed);
        record_derived(label, output, self.1);
    }
}
