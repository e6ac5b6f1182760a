//! The limit: nothing but the provider's AEAD, over records of the same sizes, in buffers used like
//! those of the unbuffered API.
//!
//! No handshake, no header, no state except a counter for the nonce. Anything that a TLS library
//! adds to this time is its overhead.

use core::hint::black_box;

use crate::choices::{Cipher, Direction, Provider, Version};
use crate::jobs::primitives;
use crate::suites::Suite;
use crate::workload::{RECORD_HEADER_LEN, Result, Stretch, Traffic, Workload, check_received};

/// Sealing out of place, or opening in place, like the unbuffered API.
pub(super) fn workload(direction: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    with_key(
        traffic,
        match direction {
            Direction::Send => Task::Seal,
            Direction::Receive => Task::Open,
        },
    )
}

/// Sealing in place, whatever the direction: opening is always in place.
pub(super) fn in_place(_: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    with_key(traffic, Task::SealInPlace)
}

#[derive(Clone, Copy, PartialEq)]
enum Task {
    Seal,
    SealInPlace,
    Open,
}

/// Builds `task` with a key of the provider.
fn with_key(traffic: &Traffic, task: Task) -> Result<Box<dyn Workload>> {
    use primitives::{aws_lc_rs, ring};
    let cipher = traffic.connection.suite.cipher;
    Ok(match traffic.connection.provider {
        Provider::AwsLc => Box::new(Limit::new(aws_lc_rs::library::key(cipher)?, traffic, task)),
        Provider::Ring => Box::new(Limit::new(ring::library::key(cipher)?, traffic, task)),
    })
}

/// The bytes that a version and its cipher add to the plaintext of a record, except for the header.
struct Framing {
    is_tls13: bool,
    /// The length of the part of the nonce that precedes the ciphertext: eight with GCM in TLS 1.2
    /// (RFC 5288), otherwise none (RFC 7905, RFC 9846).
    explicit_nonce: usize,
    /// The bytes encrypted after the plaintext: the content type in TLS 1.3 (RFC 9846 §5.2).
    trailer: &'static [u8],
}

const APPLICATION_DATA: u8 = 23;
const TAG_LEN: usize = 16;

impl Framing {
    fn of(suite: &Suite) -> Self {
        let (is_tls13, explicit_nonce, trailer) = match (suite.version, suite.cipher) {
            (Version::Tls13, _) => (true, 0, &[APPLICATION_DATA][..]),
            (Version::Tls12, Cipher::Chacha20Poly1305) => (false, 0, &[][..]),
            (Version::Tls12, _) => (false, 8, &[][..]),
        };
        Self {
            is_tls13,
            explicit_nonce,
            trailer,
        }
    }

    /// The number of bytes added to the plaintext.
    fn expansion(&self) -> usize {
        self.explicit_nonce + self.trailer.len() + TAG_LEN
    }

    /// Writes the explicit nonce to the front of `record`; returns the rest.
    fn ciphertext<'a>(&self, record: &'a mut [u8], seq: u64) -> &'a mut [u8] {
        let (explicit, ciphertext) = record.split_at_mut(self.explicit_nonce);
        explicit.copy_from_slice(&seq.to_be_bytes()[..explicit.len()]);
        ciphertext
    }

    /// The inputs of the AEAD for record number `seq` with `plaintext_len` plaintext bytes. In TLS
    /// 1.3 the additional data is the record header; in TLS 1.2 (RFC 5246 §6.2.3.3) the sequence
    /// number, content type, version and length of the plaintext.
    fn inputs(&self, seq: u64, plaintext_len: usize) -> Inputs {
        // over an all-zero IV, in RFC 9846 §5.3 as well as in RFC 5288
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&seq.to_be_bytes());
        let mut aad = [0; 13];
        let (len, header) = if self.is_tls13 {
            (plaintext_len + self.expansion(), 0)
        } else {
            aad[..8].copy_from_slice(&seq.to_be_bytes());
            (plaintext_len, 8)
        };
        let [high, low] = (len as u16).to_be_bytes();
        aad[header..header + 5].copy_from_slice(&[APPLICATION_DATA, 3, 3, high, low]);
        Inputs {
            nonce,
            aad,
            aad_len: header + 5,
            trailer: self.trailer,
        }
    }
}

/// The inputs of an AEAD besides plaintext and key.
struct Inputs {
    nonce: [u8; 12],
    aad: [u8; 13],
    aad_len: usize,
    trailer: &'static [u8],
}

impl Inputs {
    fn aad(&self) -> &[u8] {
        &self.aad[..self.aad_len]
    }
}

/// Timed: one task, over the same memory again and again.
struct Limit<K> {
    records: Records<K>,
    task: Task,
    plaintext: Stretch,
    out: Stretch,
    /// The records to be opened.
    incoming: Vec<u8>,
    /// The records that are sealed in place. The ciphertext of one round is the plaintext of the
    /// next.
    in_place: Vec<Vec<u8>>,
    writes: usize,
    count: usize,
}

impl<K: Aead> Limit<K> {
    fn new(key: K, traffic: &Traffic, task: Task) -> Self {
        let framing = Framing::of(&traffic.connection.suite);
        let (max_payload, writes) = (traffic.max_record_payload(), traffic.writes());
        let (mut incoming, mut in_place) = (Vec::new(), Vec::new());
        match task {
            Task::Open => incoming = traffic.incoming(),
            Task::Seal => {}
            Task::SealInPlace => {
                let mut plaintext = traffic.plaintext();
                for _ in 0..traffic.apart() {
                    let lens = plaintext.step().chunks(max_payload).map(<[u8]>::len);
                    in_place.extend(lens.map(|len| vec![0x17; len + framing.expansion()]));
                }
            }
        }
        Self {
            records: Records {
                key,
                framing,
                max_payload,
                sealed: 0,
                opened: 0,
            },
            task,
            plaintext: traffic.plaintext(),
            out: traffic.sealed(),
            incoming,
            in_place,
            writes,
            count: traffic.plaintext_size.div_ceil(max_payload) * writes,
        }
    }
}

impl<K: Aead> Workload for Limit<K> {
    fn place(&mut self, offset: usize) -> bool {
        self.plaintext.place(offset);
        true
    }

    fn prepare(&mut self) -> Result<()> {
        let mut used = 0;
        let writes = if self.task == Task::Open {
            self.writes
        } else {
            0
        };
        for _ in 0..writes {
            let out = &mut self.incoming[used..];
            used += self.records.seal(self.plaintext.step(), out)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        match self.task {
            Task::Open => {
                let lens = (self.plaintext.last().len(), self.writes);
                self.records.open(&mut self.incoming, lens)
            }
            Task::SealInPlace => {
                let rounds = self.count / self.in_place.len();
                (0..rounds).try_for_each(|_| self.records.seal_in_place(&mut self.in_place))
            }
            Task::Seal => (0..self.writes).try_for_each(|_| {
                let plaintext = black_box(&*self.plaintext.step());
                let used = self.records.seal(plaintext, self.out.rest())?;
                black_box(self.out.take(used));
                Ok(())
            }),
        }
    }

    fn records(&self) -> usize {
        self.count
    }
}

/// Seals and opens records, without their headers.
struct Records<K> {
    key: K,
    framing: Framing,
    max_payload: usize,
    /// The numbers of records sealed and opened.
    sealed: u64,
    opened: u64,
}

impl<K: Aead> Records<K> {
    /// Seals `plaintext`, leaving room for the headers; returns the bytes used in `out`.
    fn seal(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize> {
        let mut used = 0;
        for fragment in plaintext.chunks(self.max_payload) {
            let start = used + RECORD_HEADER_LEN;
            used = start + fragment.len() + self.framing.expansion();
            let sealed = self.framing.ciphertext(&mut out[start..used], self.sealed);
            let inputs = self.framing.inputs(self.sealed, fragment.len());
            self.key.seal(&inputs, fragment, sealed)?;
            self.sealed += 1;
        }
        Ok(used)
    }

    fn seal_in_place(&mut self, records: &mut [Vec<u8>]) -> Result<()> {
        for record in records {
            let record = black_box(&mut record[..]);
            let len = record.len() - self.framing.expansion();
            let inputs = self.framing.inputs(self.sealed, len);
            let sealed = self.framing.ciphertext(record, self.sealed);
            self.key.seal_in_place(&inputs, sealed)?;
            self.sealed += 1;
            black_box(&record[..]);
        }
        Ok(())
    }

    /// Opens the records of `writes` writes of `size` bytes.
    fn open(&mut self, incoming: &mut [u8], (size, writes): (usize, usize)) -> Result<()> {
        let (mut start, mut received) = (0, 0);
        for _ in 0..writes {
            let mut left = size;
            while left != 0 {
                let len = Ord::min(left, self.max_payload);
                let end = start + RECORD_HEADER_LEN + len + self.framing.expansion();
                let record = &mut incoming[start + RECORD_HEADER_LEN..end];
                let (explicit, sealed) = record.split_at_mut(self.framing.explicit_nonce);
                black_box(explicit);
                let inputs = self.framing.inputs(self.opened, len);
                let opened = black_box(self.key.open(&inputs, sealed)?);
                received += opened.len() - self.framing.trailer.len();
                self.opened += 1;
                left -= len;
                start = end;
            }
        }
        check_received(received, size * writes)
    }
}

/// An AEAD key of a provider.
trait Aead: 'static {
    /// Seals `plaintext` and the trailer into `out`, which has exactly enough room for them and the
    /// tag.
    fn seal(&self, inputs: &Inputs, plaintext: &[u8], out: &mut [u8]) -> Result<()>;

    /// Seals the plaintext at the front of `record` and the trailer after it; the tag fills the
    /// rest.
    fn seal_in_place(&self, inputs: &Inputs, record: &mut [u8]) -> Result<()>;

    /// Opens `record`; returns plaintext and trailer.
    fn open<'a>(&self, inputs: &Inputs, record: &'a mut [u8]) -> Result<&'a [u8]>;
}

impl Aead for aws_lc_rs::aead::LessSafeKey {
    fn seal(&self, inputs: &Inputs, plaintext: &[u8], out: &mut [u8]) -> Result<()> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(inputs.nonce);
        let aad = Aad::from(inputs.aad());
        let (ciphertext, tail) = out.split_at_mut(plaintext.len());
        self.seal_out_of_place_scatter(nonce, aad, plaintext, ciphertext, inputs.trailer, tail)?;
        Ok(())
    }

    fn seal_in_place(&self, inputs: &Inputs, record: &mut [u8]) -> Result<()> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(inputs.nonce);
        let aad = Aad::from(inputs.aad());
        let payload_len = record.len() - inputs.trailer.len() - TAG_LEN;
        let (payload, tail) = record.split_at_mut(payload_len);
        self.seal_in_place_scatter(nonce, aad, payload, inputs.trailer, tail)?;
        Ok(())
    }

    fn open<'a>(&self, inputs: &Inputs, record: &'a mut [u8]) -> Result<&'a [u8]> {
        use aws_lc_rs::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(inputs.nonce);
        Ok(self.open_in_place(nonce, Aad::from(inputs.aad()), record)?)
    }
}

impl Aead for ring::aead::LessSafeKey {
    /// Seals in place, because ring cannot do otherwise. The limit omits the copy that TLS has to
    /// make for it.
    fn seal(&self, inputs: &Inputs, _: &[u8], out: &mut [u8]) -> Result<()> {
        self.seal_in_place(inputs, out)
    }

    fn seal_in_place(&self, inputs: &Inputs, record: &mut [u8]) -> Result<()> {
        use ring::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(inputs.nonce);
        let (inner, tag) = record.split_at_mut(record.len() - TAG_LEN);
        let payload_len = inner.len() - inputs.trailer.len();
        inner[payload_len..].copy_from_slice(inputs.trailer);
        let sealed = self.seal_in_place_separate_tag(nonce, Aad::from(inputs.aad()), inner);
        tag.copy_from_slice(sealed.map_err(|_| "ring refused to seal")?.as_ref());
        Ok(())
    }

    fn open<'a>(&self, inputs: &Inputs, record: &'a mut [u8]) -> Result<&'a [u8]> {
        use ring::aead::{Aad, Nonce};
        let nonce = Nonce::assume_unique_for_key(inputs.nonce);
        let opened = self.open_in_place(nonce, Aad::from(inputs.aad()), record);
        Ok(opened.map_err(|_| "ring refused to open")?)
    }
}
