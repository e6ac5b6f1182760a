//! The limit: the AEAD of the provider and nothing else, over records of the same sizes in buffers used
//! the same way as those of the unbuffered API.
//!
//! No handshake, no header, no state but a counter for the nonce. Whatever a TLS library takes beyond this is
//! its overhead.

use core::hint::black_box;

use crate::cli::Provider;
use crate::suites::Cipher;
use crate::workload::{Direction, RECORD_HEADER_LEN, Result, Scenario, Workload, check_received};

/// What TLS 1.3 adds to the plaintext of a record: the content type (RFC 9846 §5.2) ...
const TRAILER: [u8; 1] = [23];

/// ... and the tag.
const TAG_LEN: usize = 16;

const EXPANSION: usize = TRAILER.len() + TAG_LEN;

/// Sealing out of place, or opening in place, as the unbuffered API does.
pub(crate) fn workload(direction: Direction, scenario: &Scenario) -> Result<Box<dyn Workload>> {
    Ok(match scenario.provider {
        Provider::AwsLcRs => {
            workload_with(direction, scenario, aws_lc_rs_key(scenario.suite.cipher)?)
        }
        Provider::Ring => workload_with(direction, scenario, ring_key(scenario.suite.cipher)?),
    })
}

/// Sealing in place, whatever the direction: opening always is.
pub(crate) fn in_place(_: Direction, scenario: &Scenario) -> Result<Box<dyn Workload>> {
    Ok(match scenario.provider {
        Provider::AwsLcRs => Box::new(SealInPlace::new(
            aws_lc_rs_key(scenario.suite.cipher)?,
            scenario,
        )),
        Provider::Ring => Box::new(SealInPlace::new(ring_key(scenario.suite.cipher)?, scenario)),
    })
}

fn workload_with<K: Aead + 'static>(
    direction: Direction,
    scenario: &Scenario,
    key: K,
) -> Box<dyn Workload> {
    match direction {
        Direction::Send => Box::new(Seal::new(key, scenario)),
        Direction::Receive => Box::new(Open::new(key, scenario)),
    }
}

/// Timed: sealing into one output buffer that is used again and again.
struct Seal<K> {
    key: K,
    seq: u64,
    plaintext: Vec<u8>,
    max_payload: usize,
    out: Vec<u8>,
    writes: usize,
}

impl<K: Aead> Seal<K> {
    fn new(key: K, scenario: &Scenario) -> Self {
        Self {
            key,
            seq: 0,
            plaintext: scenario.plaintext(),
            max_payload: scenario.max_record_payload(),
            out: vec![0; scenario.sealed_room()],
            writes: scenario.writes(),
        }
    }
}

impl<K: Aead> Workload for Seal<K> {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            let plaintext = black_box(&self.plaintext[..]);
            let used = seal_records(
                &self.key,
                &mut self.seq,
                plaintext,
                self.max_payload,
                &mut self.out,
            )?;
            black_box(&self.out[..used]);
        }
        Ok(())
    }

    fn records(&self) -> usize {
        self.plaintext.len().div_ceil(self.max_payload) * self.writes
    }
}

/// Timed: opening a buffer full of records.
struct Open<K> {
    seal: Seal<K>,
    seq: u64,
    incoming: Vec<u8>,
}

impl<K: Aead> Open<K> {
    fn new(key: K, scenario: &Scenario) -> Self {
        Self {
            seal: Seal::new(key, scenario),
            seq: 0,
            incoming: vec![0; scenario.sealed_room() * scenario.writes()],
        }
    }
}

impl<K: Aead> Workload for Open<K> {
    fn prepare(&mut self) -> Result<()> {
        let Seal {
            key,
            seq,
            plaintext,
            max_payload,
            writes,
            ..
        } = &mut self.seal;
        let mut used = 0;
        for _ in 0..*writes {
            let free = &mut self.incoming[used..];
            used += seal_records(key, seq, plaintext, *max_payload, free)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let (mut rest, mut received) = (&mut self.incoming[..], 0);
        for _ in 0..self.seal.writes {
            for fragment in self.seal.plaintext.chunks(self.seal.max_payload) {
                let (record, tail) =
                    rest.split_at_mut(RECORD_HEADER_LEN + fragment.len() + EXPANSION);
                rest = tail;
                let payload = self
                    .seal
                    .key
                    .open(self.seq, &mut record[RECORD_HEADER_LEN..])?;
                self.seq += 1;
                received += black_box(payload).len() - TRAILER.len();
            }
        }
        check_received(received, self.seal.plaintext.len() * self.seal.writes)
    }

    fn records(&self) -> usize {
        self.seal.records()
    }
}

/// Timed: sealing records where their plaintext lies.
struct SealInPlace<K> {
    key: K,
    seq: u64,
    records: Vec<Vec<u8>>,
    writes: usize,
}

impl<K: Aead> SealInPlace<K> {
    fn new(key: K, scenario: &Scenario) -> Self {
        let plaintext = scenario.plaintext();
        let records = plaintext.chunks(scenario.max_record_payload());
        Self {
            key,
            seq: 0,
            records: records
                .map(|fragment| [fragment, &[0; EXPANSION]].concat())
                .collect(),
            writes: scenario.writes(),
        }
    }
}

impl<K: Aead> Workload for SealInPlace<K> {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            for record in &mut self.records {
                let record = black_box(&mut record[..]);
                self.key.seal_in_place(self.seq, record)?;
                self.seq += 1;
                black_box(&record[..]);
            }
        }
        Ok(())
    }

    fn records(&self) -> usize {
        self.records.len() * self.writes
    }
}

/// Seals `plaintext`, cut into records with room for their headers; returns how many bytes of `out`
/// they take.
fn seal_records(
    key: &impl Aead,
    seq: &mut u64,
    plaintext: &[u8],
    max_payload: usize,
    out: &mut [u8],
) -> Result<usize> {
    let mut used = 0;
    for fragment in plaintext.chunks(max_payload) {
        let start = used + RECORD_HEADER_LEN;
        used = start + fragment.len() + EXPANSION;
        key.seal(*seq, fragment, &mut out[start..used])?;
        *seq += 1;
    }
    Ok(used)
}

/// An AEAD key, as its provider offers it.
trait Aead {
    /// Seals `plaintext` and the content type into `out`, which has exactly room for them and the tag.
    fn seal(&self, seq: u64, plaintext: &[u8], out: &mut [u8]) -> Result<()>;

    /// Seals the plaintext at the front of `record`, all but its last [`EXPANSION`] bytes.
    fn seal_in_place(&self, seq: u64, record: &mut [u8]) -> Result<()>;

    /// Opens `record`; returns plaintext and content type.
    fn open<'a>(&self, seq: u64, record: &'a mut [u8]) -> Result<&'a [u8]>;
}

impl Aead for aws_lc_rs::aead::LessSafeKey {
    fn seal(&self, seq: u64, plaintext: &[u8], out: &mut [u8]) -> Result<()> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(nonce(seq));
        let aad = Aad::from(additional_data(out.len()));
        let (ciphertext, tail) = out.split_at_mut(plaintext.len());
        self.seal_out_of_place_scatter(nonce, aad, plaintext, ciphertext, &TRAILER, tail)?;
        Ok(())
    }

    fn seal_in_place(&self, seq: u64, record: &mut [u8]) -> Result<()> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(nonce(seq));
        let aad = Aad::from(additional_data(record.len()));
        let (payload, tail) = record.split_at_mut(record.len() - EXPANSION);
        self.seal_in_place_scatter(nonce, aad, payload, &TRAILER, tail)?;
        Ok(())
    }

    fn open<'a>(&self, seq: u64, record: &'a mut [u8]) -> Result<&'a [u8]> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(nonce(seq));
        let aad = Aad::from(additional_data(record.len()));
        Ok(self.open_in_place(nonce, aad, record)?)
    }
}

impl Aead for ring::aead::LessSafeKey {
    /// ring seals in place only: the limit leaves out the copy that TLS has to make for it.
    fn seal(&self, seq: u64, _: &[u8], out: &mut [u8]) -> Result<()> {
        self.seal_in_place(seq, out)
    }

    fn seal_in_place(&self, seq: u64, record: &mut [u8]) -> Result<()> {
        use ring::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(nonce(seq));
        let aad = Aad::from(additional_data(record.len()));
        let (inner, tag) = record.split_at_mut(record.len() - TAG_LEN);
        let payload_len = inner.len() - TRAILER.len();
        inner[payload_len..].copy_from_slice(&TRAILER);
        let sealed = self.seal_in_place_separate_tag(nonce, aad, inner);
        tag.copy_from_slice(sealed.map_err(|_| "ring refused to seal")?.as_ref());
        Ok(())
    }

    fn open<'a>(&self, seq: u64, record: &'a mut [u8]) -> Result<&'a [u8]> {
        use ring::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(nonce(seq));
        let aad = Aad::from(additional_data(record.len()));
        let opened = self.open_in_place(nonce, aad, record);
        Ok(opened.map_err(|_| "ring refused to open")?)
    }
}

/// The nonce for sequence number `seq` (RFC 9846 §5.3), over an IV of zeros.
fn nonce(seq: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&seq.to_be_bytes());
    nonce
}

/// The record header (RFC 9846 §5.2).
fn additional_data(sealed_len: usize) -> [u8; 5] {
    let [high, low] = (sealed_len as u16).to_be_bytes();
    [23, 3, 3, high, low]
}

const KEY: [u8; 32] = [0x2a; 32];

fn aws_lc_rs_key(cipher: Cipher) -> Result<aws_lc_rs::aead::LessSafeKey> {
    use aws_lc_rs::aead;
    let algorithm = match cipher {
        Cipher::Aes128Gcm => &aead::AES_128_GCM,
        Cipher::Aes256Gcm => &aead::AES_256_GCM,
        Cipher::Chacha20Poly1305 => &aead::CHACHA20_POLY1305,
    };
    let key = aead::UnboundKey::new(algorithm, &KEY[..cipher.key_len()])?;
    Ok(aead::LessSafeKey::new(key))
}

fn ring_key(cipher: Cipher) -> Result<ring::aead::LessSafeKey> {
    use ring::aead;
    let algorithm = match cipher {
        Cipher::Aes128Gcm => &aead::AES_128_GCM,
        Cipher::Aes256Gcm => &aead::AES_256_GCM,
        Cipher::Chacha20Poly1305 => &aead::CHACHA20_POLY1305,
    };
    let key = aead::UnboundKey::new(algorithm, &KEY[..cipher.key_len()]);
    Ok(aead::LessSafeKey::new(
        key.map_err(|_| "ring refused the key")?,
    ))
}
