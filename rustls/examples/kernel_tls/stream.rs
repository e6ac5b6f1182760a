//! Connections whose records the kernel encrypts and decrypts.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::sockopt::{TcpTlsRx, TcpTlsTx, TcpUlp, TlsCryptoInfo};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SetSockOpt, TlsGetRecordType as RecordType, recvmsg, setsockopt,
};
use rustls::HandshakeType::{self, KeyUpdate, NewSessionTicket};
use rustls::client::ClientConnectionData as Client;
use rustls::kernel::KernelConnection;
use rustls::{AlertDescription, ConnectionTrafficSecrets as Secrets, ContentType, Error};

/// The longest handshake message that is accepted.
const MESSAGE_LIMIT: usize = 64 * 1024;

/// The number of KeyUpdates that a peer may send without data.
const UPDATE_LIMIT: usize = 32;

/// Enables TLS on a connected socket. It works as before until it gets keys.
pub(crate) fn enable(socket: &TcpStream) -> io::Result<()> {
    setsockopt(socket, TcpUlp::default(), b"tls").map_err(|error| {
        let advice = "run `modprobe tls`, or use a kernel with CONFIG_TLS";
        io::Error::other(format!("this kernel has no TLS ({error}): {advice}"))
    })
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A key, and the sequence number of its first record.
type Key = (u64, Secrets);

/// The first keys, and the connection that derives later ones.
type Extracted = (rustls::ExtractedSecrets, KernelConnection<Client>);

fn unexpected(what: impl std::fmt::Debug) -> BoxError {
    Error::General(format!("the peer sent an unexpected {what:?}")).into()
}

/// The connection of a client, whose records the kernel encrypts and decrypts.
pub(crate) struct KernelStream {
    /// The socket, for sending data with `write` or `sendfile`.
    pub(crate) socket: TcpStream,
    conn: KernelConnection<Client>,
    /// The beginning of a handshake message whose rest has not arrived.
    message: Vec<u8>,
    /// The number of KeyUpdates since the last data.
    updates: usize,
}

impl KernelStream {
    /// Passes the keys to the kernel. `socket` must be [enabled](enable), and its unread bytes must
    /// start with a record.
    pub(crate) fn new(socket: TcpStream, (secrets, conn): Extracted) -> io::Result<Self> {
        let stream = Self {
            socket,
            conn,
            message: Vec::new(),
            updates: 0,
        };
        stream.set_key(TcpTlsTx, secrets.tx)?;
        stream.set_key(TcpTlsRx, secrets.rx)?;
        Ok(stream)
    }

    /// Sends a close_notify. Nothing can be sent after it.
    pub(crate) fn close(&self) -> io::Result<()> {
        self.send_record(ContentType::Alert, &[1, 0])?;
        self.socket.shutdown(Shutdown::Write)
    }

    /// Sends the alert for an error, if it has one. Nothing can be sent after this call.
    fn fail(&self, error: BoxError) -> io::Error {
        let alert = match error.downcast_ref() {
            // see `unexpected`
            Some(Error::General(_)) => Some(AlertDescription::UnexpectedMessage),
            Some(error) => error.alert(),
            // an error of the kernel
            None => Some(AlertDescription::InternalError),
        };
        // A failed decryption leaves an error on the socket, which would make sending fail.
        let _ = self.socket.take_error();
        let _ = alert.map(|alert| self.send_record(ContentType::Alert, &[2, alert.into()]));
        let _ = self.socket.shutdown(Shutdown::Write);
        io::Error::new(ErrorKind::InvalidData, error)
    }

    /// Handles a record. Returns the length of its data, 0 for a close_notify, and `None` for any
    /// other record without data.
    fn handle(&mut self, typ: RecordType, content: &[u8]) -> Result<Option<usize>, BoxError> {
        match (typ, content) {
            (RecordType::ApplicationData, []) if self.message.is_empty() => Ok(None),
            (RecordType::ApplicationData, data) if self.message.is_empty() => {
                self.updates = 0;
                Ok(Some(data.len()))
            }
            (RecordType::Handshake, messages) => self.read_handshake(messages).map(|()| None),
            (RecordType::Alert, [_, 0]) => Ok(Some(0)),
            (RecordType::Alert, &[_, alert]) => Err(Error::AlertReceived(alert.into()).into()),
            (typ, _) => Err(unexpected(typ)),
        }
    }

    /// Handles a record with handshake messages. The first and the last may be incomplete.
    fn read_handshake(&mut self, content: &[u8]) -> Result<(), BoxError> {
        self.message.extend_from_slice(content);
        while let Some((&[typ, a, b, c], rest)) = self.message.split_first_chunk() {
            let len = u32::from_be_bytes([0, a, b, c]) as usize;
            if len > MESSAGE_LIMIT {
                return Err(unexpected("message length"));
            }
            let Some((body, rest)) = rest.split_at_checked(len) else {
                break;
            };
            match (HandshakeType::from(typ), body) {
                (NewSessionTicket, _) => self.conn.handle_new_session_ticket(body)?,
                // RFC 9846 §5.1: nothing else may follow in its record
                (KeyUpdate, &[requested @ 0..=1]) if rest.is_empty() => {
                    self.updates += 1;
                    if self.updates > UPDATE_LIMIT {
                        return Err(unexpected("KeyUpdate: there are too many without data"));
                    }
                    let key = self.conn.update_rx_secret()?;
                    self.set_key(TcpTlsRx, key)?;
                    if requested == 1 {
                        self.replace_sending_key(false)?;
                    }
                }
                (typ, _) => return Err(unexpected(typ)),
            }
            self.message.drain(..4 + len);
        }
        Ok(())
    }

    /// Sends a KeyUpdate under the old key, and then uses the new one (RFC 9846 §4.7.3). With
    /// `request`, the message requests one from the peer.
    ///
    /// Do this before a key has protected as many records as its suite allows, if the kernel can
    /// replace keys: `/proc/net/tls_stat` then has a line `TlsTxRekeyOk`.
    pub(crate) fn replace_sending_key(&mut self, request: bool) -> io::Result<()> {
        let key = self.conn.update_tx_secret().map_err(io::Error::other)?;
        let message = [KeyUpdate.into(), 0, 0, 1, request.into()];
        self.send_record(ContentType::Handshake, &message)?;
        self.set_key(TcpTlsTx, key)
    }

    fn set_key(&self, to: impl SetSockOpt<Val = TlsCryptoInfo>, key: Key) -> io::Result<()> {
        let info = crypto_info(self.conn.protocol_version().into(), &key);
        setsockopt(&self.socket, to, &info.ok_or(Errno::EINVAL)?).map_err(|error| {
            let suite = self.conn.negotiated_cipher_suite().suite();
            let reason = "it lacks this suite, or cannot replace keys, as Linux 6.14 can";
            io::Error::other(format!("kernel refuses {suite:?} key ({error}): {reason}"))
        })
    }

    /// Sends one record that is not data.
    fn send_record(&self, typ: ContentType, content: &[u8]) -> io::Result<usize> {
        // struct cmsghdr, and its data, as CMSG_LEN(1) bytes
        let mut control = Vec::from((size_of::<libc::cmsghdr>() + 1).to_ne_bytes());
        control.extend_from_slice(&libc::SOL_TLS.to_ne_bytes());
        control.extend_from_slice(&libc::TLS_SET_RECORD_TYPE.to_ne_bytes());
        control.push(typ.into());
        control.resize(control.len().next_multiple_of(size_of::<usize>()), 0);
        let parts = [IoSlice::new(content)];
        let message = socket2::MsgHdr::new().with_buffers(&parts);
        let message = message.with_control(&control);
        socket2::SockRef::from(&self.socket).sendmsg(&message, libc::MSG_NOSIGNAL)
    }
}

impl Read for KernelStream {
    /// Receives data, and handles other records. Returns 0 after a close_notify.
    ///
    /// `buffer` needs at least two bytes for other records.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut control = nix::cmsg_space!(u8);
            let mut parts = [IoSliceMut::new(buffer)];
            let (fd, flags) = (self.socket.as_raw_fd(), MsgFlags::empty());
            let received = recvmsg::<()>(fd, &mut parts, Some(&mut control), flags);
            let received = received.map_err(|error| match error {
                Errno::EBADMSG => self.fail(Error::DecryptError.into()),
                Errno::EMSGSIZE => self.fail(Error::PeerSentOversizedRecord.into()),
                error => error.into(),
            })?;
            let Some(ControlMessageOwned::TlsGetRecordType(typ)) = received.cmsgs()?.next() else {
                // The stream ended without a close_notify, so an attacker may have cut it off.
                return Err(ErrorKind::UnexpectedEof.into());
            };
            let len = received.bytes;
            let handled = self.handle(typ, &buffer[..len]);
            if let Some(len) = handled.map_err(|error| self.fail(error))? {
                return Ok(len);
            }
        }
    }
}

/// Converts a key. The kernel takes the first four bytes of an AES-GCM nonce separately.
fn crypto_info(version: u16, (seq, secrets): &Key) -> Option<TlsCryptoInfo> {
    macro_rules! convert {
        ($cipher:ident, $info:ident, $cipher_type:ident) => {
            if let Secrets::$cipher { key, iv } = secrets {
                return Some(TlsCryptoInfo::$cipher(libc::$info {
                    info: libc::tls_crypto_info {
                        version,
                        cipher_type: libc::$cipher_type,
                    },
                    iv: *iv.as_ref().last_chunk()?,
                    key: *key.as_ref().first_chunk()?,
                    salt: *iv.as_ref().first_chunk()?,
                    rec_seq: seq.to_be_bytes(),
                }));
            }
        };
    }
    convert! { Aes128Gcm, tls12_crypto_info_aes_gcm_128, TLS_CIPHER_AES_GCM_128 }
    convert! { Aes256Gcm, tls12_crypto_info_aes_gcm_256, TLS_CIPHER_AES_GCM_256 }
    convert! { Chacha20Poly1305, tls12_crypto_info_chacha20_poly1305, TLS_CIPHER_CHACHA20_POLY1305 }
    None
}
