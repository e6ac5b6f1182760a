//! Exchanges data through Linux kernel TLS, if the module `tls` is available.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

use harness::peers::endpoints::Endpoint;
use harness::peers::os::loopback;
use harness::wire::bare_records::{Cipher, Keys};
use nix::errno::Errno;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{TcpTlsRx, TcpTlsTx, TcpUlp, TlsCryptoInfo};
use rustls::ExtractedSecrets;

use crate::extraction::{Case, cases};

/// Constants from <linux/tls.h>.
const TLS_1_2: u16 = 0x0303;
const TLS_1_3: u16 = 0x0304;
const AES_GCM_128: u16 = 51;
const AES_GCM_256: u16 = 52;
const CHACHA20_POLY1305: u16 = 54;

/// Converts keys for the kernel, which takes the first four bytes of an AES-GCM nonce separately.
fn crypto_info(is_tls13: bool, keys: Keys) -> TlsCryptoInfo {
    let info = |cipher_type| libc::tls_crypto_info {
        version: if is_tls13 { TLS_1_3 } else { TLS_1_2 },
        cipher_type,
    };
    let rec_seq = keys.seq.to_be_bytes();
    let (salt, iv) = keys.iv.split_at(4);
    let (salt, iv) = (salt.try_into().unwrap(), iv.try_into().unwrap());
    let key = &keys.key[..];
    match keys.cipher {
        Cipher::Aes128Gcm => TlsCryptoInfo::Aes128Gcm(libc::tls12_crypto_info_aes_gcm_128 {
            info: info(AES_GCM_128),
            iv,
            key: key.try_into().unwrap(),
            salt,
            rec_seq,
        }),
        Cipher::Aes256Gcm => TlsCryptoInfo::Aes256Gcm(libc::tls12_crypto_info_aes_gcm_256 {
            info: info(AES_GCM_256),
            iv,
            key: key.try_into().unwrap(),
            salt,
            rec_seq,
        }),
        Cipher::Chacha20Poly1305 => {
            TlsCryptoInfo::Chacha20Poly1305(libc::tls12_crypto_info_chacha20_poly1305 {
                info: info(CHACHA20_POLY1305),
                iv: keys.iv,
                key: key.try_into().unwrap(),
                salt: [],
                rec_seq,
            })
        }
    }
}

/// Hands a connection over to the kernel.
fn give_to_kernel(case: &Case, socket: &TcpStream, secrets: ExtractedSecrets) -> Result<(), Errno> {
    let fd = socket.as_fd();
    let info = |keys: Keys| crypto_info(case.is_tls13(), keys);
    setsockopt(&fd, TcpTlsTx, &info(secrets.tx.into()))?;
    setsockopt(&fd, TcpTlsRx, &info(secrets.rx.into()))
}

#[test]
fn data_is_exchanged_through_the_kernel() {
    let (socket, _other) = loopback().unwrap();
    if let Err(error) = setsockopt(&socket, TcpUlp::default(), b"tls") {
        eprintln!("skipped: this kernel lacks the module `tls` ({error})");
        return;
    }
    for case in cases() {
        let (socket, mut other) = loopback().unwrap();
        setsockopt(&socket, TcpUlp::default(), b"tls").unwrap();
        let mut peer = case.peer();
        let mut ours = case.buffered();
        case.role.handshake(&mut ours, &mut peer);
        ours.send(b"from this library");
        peer.receive(&ours.take_output()).unwrap();
        let secrets = ours.conn.dangerous_extract_secrets().unwrap();
        if let Err(error) = give_to_kernel(&case, &socket, secrets) {
            // older kernels do not support every cipher and version
            assert!(
                matches!(error, Errno::EINVAL | Errno::ENOENT | Errno::ENOPROTOOPT),
                "{case:?}: {error}"
            );
            eprintln!("skipped for this kernel: {:?}", case.suite.suite());
            continue;
        }
        let before = peer.read_all();
        assert_eq!(before, b"from this library");

        for len in [1, 1000, 30_000] {
            // the kernel encrypts
            let plaintext = vec![len as u8; len];
            (&socket).write_all(&plaintext).unwrap();
            let mut received = Vec::new();
            while received.len() < len {
                let mut bytes = [0; 4096];
                let read = other.read(&mut bytes).unwrap();
                assert_ne!(read, 0);
                peer.receive(&bytes[..read]).unwrap();
                peer.read_into(&mut received);
            }
            assert!(received == plaintext, "{case:?}");
            // the kernel decrypts
            let mut sent = 0;
            while sent < len {
                sent += peer.send(&plaintext[sent..]);
                other.write_all(&peer.take_output()).unwrap();
            }
            let mut received = vec![0; len];
            (&socket).read_exact(&mut received).unwrap();
            assert!(received == plaintext, "{case:?}");
        }
    }
}
