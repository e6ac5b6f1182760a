//! The limit: nothing but the provider's AEAD, over records of the same sizes, in buffers used like
//! those of the unbuffered API.
//!
//! No handshake, no header, no state except a counter for the nonce. Anything that a TLS library
//! adds to this time is its overhead.

use core::hint::black_box;
use core::marker::PhantomData;

use crate::cli::{Cipher, Provider, Version};
use crate::primitives;
use crate::workload::{
    Direction, RECORD_HEADER_LEN, Result, Stretch, Traffic, Workload, check_received,
};

/// The bytes that a version and its cipher add to the plaintext of a record, except for the header.
trait Framing: 'static {
    /// The length of the part of the nonce that precedes the ciphertext.
    const EXPLICIT_NONCE: usize;
    /// The bytes encrypted after the plaintext.
    const TRAILER: &'static [u8];

    /// The total number of bytes added to the plaintext.
    const EXPANSION: usize = Self::EXPLICIT_NONCE + Self::TRAILER.len() + TAG_LEN;

    type AdditionalData: AsRef<[u8]>;

    /// The additional data of a record with `plaintext_len` plaintext bytes.
    fn additional_data(seq: u64, plaintext_len: usize) -> Self::AdditionalData;
}

/// RFC 9846 §5.2: the content type is encrypted, too. The additional data is the record header.
struct Tls13;

impl Framing for Tls13 {
    const EXPLICIT_NONCE: usize = 0;
    const TRAILER: &'static [u8] = &[APPLICATION_DATA];

    type AdditionalData = [u8; 5];

    fn additional_data(_: u64, plaintext_len: usize) -> [u8; 5] {
        let [high, low] = ((plaintext_len + Self::EXPANSION) as u16).to_be_bytes();
        [APPLICATION_DATA, 3, 3, high, low]
    }
}

/// TLS 1.2. Each record carries this many bytes of the nonce: eight with GCM (RFC 5288), none with
/// ChaCha20-Poly1305 (RFC 7905).
struct Tls12<const EXPLICIT_NONCE: usize>;

impl<const EXPLICIT_NONCE: usize> Framing for Tls12<EXPLICIT_NONCE> {
    const EXPLICIT_NONCE: usize = EXPLICIT_NONCE;
    const TRAILER: &'static [u8] = &[];

    type AdditionalData = [u8; 13];

    /// RFC 5246 §6.2.3.3: sequence number, content type, version, length of the plaintext.
    fn additional_data(seq: u64, plaintext_len: usize) -> [u8; 13] {
        let mut data = [0; 13];
        data[..8].copy_from_slice(&seq.to_be_bytes());
        let [high, low] = (plaintext_len as u16).to_be_bytes();
        data[8..].copy_from_slice(&[APPLICATION_DATA, 3, 3, high, low]);
        data
    }
}

const APPLICATION_DATA: u8 = 23;

const TAG_LEN: usize = 16;

/// Sealing out of place, or opening in place, like the unbuffered API.
pub(crate) fn workload(direction: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    with_key(traffic, Task::OutOfPlace(direction))
}

/// Sealing in place, whatever the direction: opening is always in place.
pub(crate) fn in_place(_: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    with_key(traffic, Task::InPlace)
}

/// The operation to measure, whatever the framing.
#[derive(Clone, Copy)]
enum Task {
    OutOfPlace(Direction),
    InPlace,
}

/// Builds `task` with a key of the provider.
fn with_key(traffic: &Traffic, task: Task) -> Result<Box<dyn Workload>> {
    let cipher = traffic.connection.suite.cipher;
    Ok(match traffic.connection.provider {
        Provider::AwsLcRs => {
            let key = primitives::aws_lc_rs::library::key(cipher)?;
            framed(traffic, task, key)
        }
        Provider::Ring => framed(traffic, task, primitives::ring::library::key(cipher)?),
    })
}

/// Builds `task` with the framing of the suite.
fn framed<K: Aead + 'static>(traffic: &Traffic, task: Task, key: K) -> Box<dyn Workload> {
    let suite = &traffic.connection.suite;
    match (suite.version, suite.cipher) {
        (Version::Tls13, _) => task.workload::<K, Tls13>(key, traffic),
        (Version::Tls12, Cipher::Chacha20Poly1305) => task.workload::<K, Tls12<0>>(key, traffic),
        (Version::Tls12, _) => task.workload::<K, Tls12<8>>(key, traffic),
    }
}

impl Task {
    fn workload<K: Aead + 'static, F: Framing>(
        self,
        key: K,
        traffic: &Traffic,
    ) -> Box<dyn Workload> {
        match self {
            Self::OutOfPlace(Direction::Send) => Box::new(Seal::<K, F>::new(key, traffic)),
            Self::OutOfPlace(Direction::Receive) => Box::new(Open::<K, F>::new(key, traffic)),
            Self::InPlace => Box::new(SealInPlace::<K, F>::new(key, traffic)),
        }
    }
}

/// Timed: sealing into one output buffer, again and again.
struct Seal<K, F> {
    key: K,
    seq: u64,
    plaintext: Stretch,
    max_payload: usize,
    out: Stretch,
    writes: usize,
    records: usize,
    framing: PhantomData<F>,
}

impl<K: Aead, F: Framing> Seal<K, F> {
    fn new(key: K, traffic: &Traffic) -> Self {
        let records = traffic
            .plaintext_size
            .div_ceil(traffic.max_record_payload());
        Self {
            key,
            seq: 0,
            plaintext: traffic.plaintext(),
            max_payload: traffic.max_record_payload(),
            out: traffic.sealed(),
            writes: traffic.writes(),
            records: records * traffic.writes(),
            framing: PhantomData,
        }
    }
}

impl<K: Aead, F: Framing> Workload for Seal<K, F> {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            let plaintext = black_box(&*self.plaintext.step());
            let used = seal_records::<F>(
                &self.key,
                &mut self.seq,
                plaintext,
                self.max_payload,
                self.out.rest(),
            )?;
            black_box(self.out.take(used));
        }
        Ok(())
    }

    fn records(&self) -> usize {
        self.records
    }
}

/// Timed: opening a buffer full of records.
struct Open<K, F> {
    seal: Seal<K, F>,
    seq: u64,
    incoming: Vec<u8>,
}

impl<K: Aead, F: Framing> Open<K, F> {
    fn new(key: K, traffic: &Traffic) -> Self {
        Self {
            seal: Seal::new(key, traffic),
            seq: 0,
            incoming: traffic.incoming(),
        }
    }
}

impl<K: Aead, F: Framing> Workload for Open<K, F> {
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
            used += seal_records::<F>(key, seq, plaintext.step(), *max_payload, free)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let Seal {
            key,
            plaintext,
            max_payload,
            writes,
            ..
        } = &self.seal;
        let size = plaintext.last().len();
        let (mut start, mut received) = (0, 0);
        for _ in 0..*writes {
            let mut left = size;
            while left != 0 {
                let len = Ord::min(left, *max_payload);
                let end = start + RECORD_HEADER_LEN + len + F::EXPANSION;
                let record = &mut self.incoming[start + RECORD_HEADER_LEN..end];
                let opened = open::<F>(key, self.seq, record)?;
                received += black_box(opened).len() - F::TRAILER.len();
                self.seq += 1;
                left -= len;
                start = end;
            }
        }
        check_received(received, size * writes)
    }

    fn records(&self) -> usize {
        self.seal.records
    }
}

/// Timed: sealing in place, over the same buffers again and again. The ciphertext of one round is
/// the plaintext of the next.
struct SealInPlace<K, F> {
    key: K,
    seq: u64,
    records: Vec<Vec<u8>>,
    rounds: usize,
    framing: PhantomData<F>,
}

impl<K: Aead, F: Framing> SealInPlace<K, F> {
    fn new(key: K, traffic: &Traffic) -> Self {
        let mut plaintext = traffic.plaintext();
        let writes = (0..traffic.apart()).flat_map(|_| {
            let fragments = plaintext.step().chunks(traffic.max_record_payload());
            let records = fragments.map(|fragment| {
                let (front, behind) = (
                    vec![0; F::EXPLICIT_NONCE],
                    vec![0; F::TRAILER.len() + TAG_LEN],
                );
                [&front, fragment, &behind].concat()
            });
            records.collect::<Vec<_>>()
        });
        Self {
            key,
            seq: 0,
            records: writes.collect(),
            rounds: traffic.writes() / traffic.apart(),
            framing: PhantomData,
        }
    }
}

impl<K: Aead, F: Framing> Workload for SealInPlace<K, F> {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.rounds {
            for record in &mut self.records {
                let record = black_box(&mut record[..]);
                let aad = F::additional_data(self.seq, record.len() - F::EXPANSION);
                let (explicit, sealed) = record.split_at_mut(F::EXPLICIT_NONCE);
                explicit.copy_from_slice(&self.seq.to_be_bytes()[..F::EXPLICIT_NONCE]);
                let around = Around::new::<F>(self.seq, aad.as_ref());
                self.key.seal_in_place(&around, sealed)?;
                self.seq += 1;
                black_box(&record[..]);
            }
        }
        Ok(())
    }

    fn records(&self) -> usize {
        self.records.len() * self.rounds
    }
}

/// Seals `plaintext` into records, leaving room for their headers; returns the bytes used in `out`.
fn seal_records<F: Framing>(
    key: &impl Aead,
    seq: &mut u64,
    plaintext: &[u8],
    max_payload: usize,
    out: &mut [u8],
) -> Result<usize> {
    let mut used = 0;
    for fragment in plaintext.chunks(max_payload) {
        let start = used + RECORD_HEADER_LEN;
        used = start + fragment.len() + F::EXPANSION;
        let (explicit, sealed) = out[start..used].split_at_mut(F::EXPLICIT_NONCE);
        explicit.copy_from_slice(&seq.to_be_bytes()[..F::EXPLICIT_NONCE]);
        let aad = F::additional_data(*seq, fragment.len());
        key.seal(&Around::new::<F>(*seq, aad.as_ref()), fragment, sealed)?;
        *seq += 1;
    }
    Ok(used)
}

/// Opens `record`; returns plaintext and trailer.
fn open<'a, F: Framing>(key: &impl Aead, seq: u64, record: &'a mut [u8]) -> Result<&'a [u8]> {
    let aad = F::additional_data(seq, record.len() - F::EXPANSION);
    let (explicit, sealed) = record.split_at_mut(F::EXPLICIT_NONCE);
    black_box(explicit);
    key.open(&Around::new::<F>(seq, aad.as_ref()), sealed)
}

/// The inputs of an AEAD besides plaintext and key.
struct Around<'a> {
    nonce: [u8; 12],
    aad: &'a [u8],
    trailer: &'static [u8],
}

impl<'a> Around<'a> {
    /// Creates the inputs with a nonce over an all-zero IV. Its low eight bytes are `seq`, both in
    /// RFC 9846 §5.3 and on the wire in RFC 5288.
    fn new<F: Framing>(seq: u64, aad: &'a [u8]) -> Self {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&seq.to_be_bytes());
        Self {
            nonce,
            aad,
            trailer: F::TRAILER,
        }
    }
}

/// An AEAD key of a provider.
trait Aead {
    /// Seals `plaintext` and the trailer into `out`, which has exactly enough room for them and the
    /// tag.
    fn seal(&self, around: &Around<'_>, plaintext: &[u8], out: &mut [u8]) -> Result<()>;

    /// Seals the plaintext at the front of `record` and the trailer after it; the tag fills the
    /// rest.
    fn seal_in_place(&self, around: &Around<'_>, record: &mut [u8]) -> Result<()>;

    /// Opens `record`; returns plaintext and trailer.
    fn open<'a>(&self, around: &Around<'_>, record: &'a mut [u8]) -> Result<&'a [u8]>;
}

impl Aead for aws_lc_rs::aead::LessSafeKey {
    fn seal(&self, around: &Around<'_>, plaintext: &[u8], out: &mut [u8]) -> Result<()> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let (nonce, aad) = (
            Nonce::assume_unique_for_key(around.nonce),
            Aad::from(around.aad),
        );
        let (ciphertext, tail) = out.split_at_mut(plaintext.len());
        self.seal_out_of_place_scatter(nonce, aad, plaintext, ciphertext, around.trailer, tail)?;
        Ok(())
    }

    fn seal_in_place(&self, around: &Around<'_>, record: &mut [u8]) -> Result<()> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let (nonce, aad) = (
            Nonce::assume_unique_for_key(around.nonce),
            Aad::from(around.aad),
        );
        let payload_len = record.len() - around.trailer.len() - TAG_LEN;
        let (payload, tail) = record.split_at_mut(payload_len);
        self.seal_in_place_scatter(nonce, aad, payload, around.trailer, tail)?;
        Ok(())
    }

    fn open<'a>(&self, around: &Around<'_>, record: &'a mut [u8]) -> Result<&'a [u8]> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(around.nonce);
        Ok(self.open_in_place(nonce, Aad::from(around.aad), record)?)
    }
}

impl Aead for ring::aead::LessSafeKey {
    /// Seals in place, because ring cannot do otherwise. The limit omits the copy that TLS has to
    /// make for it.
    fn seal(&self, around: &Around<'_>, _: &[u8], out: &mut [u8]) -> Result<()> {
        self.seal_in_place(around, out)
    }

    fn seal_in_place(&self, around: &Around<'_>, record: &mut [u8]) -> Result<()> {
        use ring::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(around.nonce);
        let (inner, tag) = record.split_at_mut(record.len() - TAG_LEN);
        let payload_len = inner.len() - around.trailer.len();
        inner[payload_len..].copy_from_slice(around.trailer);
        let sealed = self.seal_in_place_separate_tag(nonce, Aad::from(around.aad), inner);
        tag.copy_from_slice(sealed.map_err(|_| "ring refused to seal")?.as_ref());
        Ok(())
    }

    fn open<'a>(&self, around: &Around<'_>, record: &'a mut [u8]) -> Result<&'a [u8]> {
        use ring::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(around.nonce);
        let opened = self.open_in_place(nonce, Aad::from(around.aad), record);
        Ok(opened.map_err(|_| "ring refused to open")?)
    }
}
