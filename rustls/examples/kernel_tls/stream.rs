//! A connection whose records the kernel encrypts and decrypts.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::sockopt::{TcpTlsRx, TcpTlsTx, TcpUlp, TlsCryptoInfo};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SetSockOpt, TlsGetRecordType as RecordType, recvmsg, setsockopt,
};
use rustls::kernel::KernelConnection;
use rustls::{
    AlertDescription, ConnectionTrafficSecrets, ContentType, Error, ExtractedSecrets,
    HandshakeType, ProtocolVersion,
};

/// The longest handshake message that is accepted.
const MESSAGE_LIMIT: usize = 64 * 1024;

/// The number of KeyUpdates that a peer may send without data.
const UPDATE_LIMIT: usize = 32;

/// Enables TLS on a connected socket. It works as before until it gets keys.
pub(crate) fn enable(socket: &TcpStream) -> io::Result<()> {
    setsockopt(socket, TcpUlp::default(), b"tls").map_err(|error| match error {
        Errno::ENOENT | Errno::ENOPROTOOPT => unsupported(
            "this kernel has no TLS: run `modprobe tls`, or use a kernel with CONFIG_TLS".into(),
        ),
        error => error.into(),
    })
}

/// True if the kernel can replace keys. Only such kernels have this counter.
pub(crate) fn can_replace_keys() -> bool {
    std::fs::read_to_string("/proc/net/tls_stat").is_ok_and(|stat| stat.contains("TlsTxRekeyOk"))
}

fn unsupported(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// An error, and the alert that ends the connection.
type Failure = (AlertDescription, io::Error);

fn failure(
    alert: AlertDescription,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Failure {
    (alert, io::Error::new(io::ErrorKind::InvalidData, error))
}

fn unexpected(what: String) -> Failure {
    failure(
        AlertDescription::UnexpectedMessage,
        format!("the peer sent {what}"),
    )
}

/// Handles the body of a NewSessionTicket. A server rejects it.
type TakeTicket<Data> = fn(&mut KernelConnection<Data>, &[u8]) -> Result<(), Error>;

/// A connection of a client or a server.
pub(crate) struct KernelStream<Data> {
    socket: TcpStream,
    conn: KernelConnection<Data>,
    take_ticket: TakeTicket<Data>,
    /// The beginning of a handshake message whose rest has not arrived.
    message: Vec<u8>,
    /// The number of KeyUpdates since the last data.
    updates: usize,
}

impl<Data> KernelStream<Data> {
    /// Passes the keys to the kernel. `socket` must be [enabled](enable), and its unread bytes must
    /// start with a record.
    pub(crate) fn new(
        socket: TcpStream,
        secrets: ExtractedSecrets,
        conn: KernelConnection<Data>,
        take_ticket: TakeTicket<Data>,
    ) -> io::Result<Self> {
        let stream = Self {
            socket,
            conn,
            take_ticket,
            message: Vec::new(),
            updates: 0,
        };
        let suite = stream.conn.negotiated_cipher_suite().suite();
        stream
            .set_key(TcpTlsTx, secrets.tx)
            .and_then(|()| stream.set_key(TcpTlsRx, secrets.rx))
            .map_err(|error| unsupported(format!("this kernel refuses {suite:?}: {error}")))?;
        Ok(stream)
    }

    /// The socket, for everything that sends data: `write`, `sendfile`.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Receives data. Returns 0 after a close_notify.
    ///
    /// Also handles other records. `buffer` needs at least two bytes for them.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let (typ, len) = match self.receive_record(buffer) {
                // The stream ended without a close_notify, so an attacker may have cut it off.
                Ok((None, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((Some(typ), len)) => (typ, len),
                Err(error) => {
                    let alert = match error {
                        Errno::EBADMSG => AlertDescription::BadRecordMac,
                        Errno::EMSGSIZE => AlertDescription::RecordOverflow,
                        error => return Err(error.into()),
                    };
                    return self.fail(failure(alert, error));
                }
            };
            let content = &buffer[..len];
            let handled = match typ {
                RecordType::ApplicationData if self.message.is_empty() => match len {
                    0 => Ok(()),
                    len => {
                        self.updates = 0;
                        return Ok(len);
                    }
                },
                RecordType::Handshake => self.read_handshake(content),
                RecordType::Alert => match *content {
                    [_, 0] => return Ok(0),
                    [_, alert] => return Err(io::Error::other(Error::AlertReceived(alert.into()))),
                    _ => Err(failure(AlertDescription::DecodeError, "no alert")),
                },
                _ => Err(unexpected(format!("a record of type {typ:?}"))),
            };
            if let Err(failure) = handled {
                return self.fail(failure);
            }
        }
    }

    /// Replaces the key of this side, and requests the same from the peer.
    ///
    /// Do this before a key has protected as many records as its suite allows.
    #[allow(dead_code, reason = "the client sends one request")]
    pub(crate) fn replace_keys(&mut self) -> io::Result<()> {
        if !can_replace_keys() {
            let message = "this kernel cannot replace keys; Linux 6.14 and later can";
            return Err(unsupported(message.into()));
        }
        self.replace_sending_key(true).map_err(|(_, error)| error)
    }

    /// Sends a close_notify, and nothing after it.
    pub(crate) fn close(&self) -> io::Result<()> {
        self.send_record(ContentType::Alert, &[1, 0])?;
        self.socket.shutdown(Shutdown::Write)
    }

    fn fail(&self, (alert, error): Failure) -> io::Result<usize> {
        // A failed decryption leaves an error on the socket, because of which sending would fail.
        let _ = self.socket.take_error();
        let _ = self.send_record(ContentType::Alert, &[2, alert.into()]);
        let _ = self.socket.shutdown(Shutdown::Write);
        Err(error)
    }

    /// Handles a record with handshake messages. The first and the last may be incomplete.
    fn read_handshake(&mut self, content: &[u8]) -> Result<(), Failure> {
        self.message.extend_from_slice(content);
        while let Some((&[typ, a, b, c], rest)) = self.message.split_first_chunk() {
            let len = u32::from_be_bytes([0, a, b, c]) as usize;
            if len > MESSAGE_LIMIT {
                return Err(failure(AlertDescription::DecodeError, "too long a message"));
            }
            if rest.len() < len {
                break;
            }
            let (body, rest) = rest.split_at(len);
            match (HandshakeType::from(typ), body) {
                (HandshakeType::NewSessionTicket, ticket) => {
                    (self.take_ticket)(&mut self.conn, ticket)
                        .map_err(|error| failure(AlertDescription::IllegalParameter, error))?;
                }
                // RFC 9846 §5.1: nothing else may follow in its record
                (HandshakeType::KeyUpdate, &[requested @ 0..=1]) if rest.is_empty() => {
                    self.replace_receiving_key()?;
                    if requested == 1 {
                        self.replace_sending_key(false)?;
                    }
                }
                (typ, _) => return Err(unexpected(format!("{typ:?}"))),
            }
            self.message.drain(..4 + len);
        }
        Ok(())
    }

    fn replace_receiving_key(&mut self) -> Result<(), Failure> {
        self.updates += 1;
        if self.updates > UPDATE_LIMIT {
            return Err(unexpected("too many KeyUpdates".into()));
        }
        let key = self.conn.update_rx_secret();
        let key = key.map_err(|error| failure(AlertDescription::UnexpectedMessage, error))?;
        self.set_key(TcpTlsRx, key).map_err(|error| {
            let error = match error.raw_os_error() {
                Some(libc::EBUSY) => unsupported(
                    "the peer has replaced its key; this kernel cannot do so, Linux 6.14 and \
                     later can"
                        .into(),
                ),
                _ => error,
            };
            (AlertDescription::InternalError, error)
        })
    }

    /// Sends a KeyUpdate under the old key (RFC 9846 §4.7.3).
    fn replace_sending_key(&mut self, request: bool) -> Result<(), Failure> {
        let internal = |error| (AlertDescription::InternalError, error);
        let key = self.conn.update_tx_secret();
        let key = key.map_err(|error| failure(AlertDescription::InternalError, error))?;
        let message = [HandshakeType::KeyUpdate.into(), 0, 0, 1, request.into()];
        self.send_record(ContentType::Handshake, &message)
            .map_err(internal)?;
        self.set_key(TcpTlsTx, key).map_err(internal)
    }

    fn set_key(
        &self,
        direction: impl SetSockOpt<Val = TlsCryptoInfo>,
        key: (u64, ConnectionTrafficSecrets),
    ) -> io::Result<()> {
        let info = crypto_info(self.conn.protocol_version(), key)?;
        Ok(setsockopt(&self.socket, direction, &info)?)
    }

    /// Sends one record that is not data.
    fn send_record(&self, typ: ContentType, content: &[u8]) -> io::Result<()> {
        // struct cmsghdr, and its data, as CMSG_LEN(1) bytes
        let mut control = Vec::from((size_of::<libc::cmsghdr>() + 1).to_ne_bytes());
        control.extend_from_slice(&libc::SOL_TLS.to_ne_bytes());
        control.extend_from_slice(&libc::TLS_SET_RECORD_TYPE.to_ne_bytes());
        control.push(typ.into());
        control.resize(control.len().next_multiple_of(size_of::<usize>()), 0);
        let parts = [IoSlice::new(content)];
        let message = socket2::MsgHdr::new()
            .with_buffers(&parts)
            .with_control(&control);
        socket2::SockRef::from(&self.socket).sendmsg(&message, libc::MSG_NOSIGNAL)?;
        Ok(())
    }

    /// Receives the data of one or several records, or one other record. `None` is the end.
    fn receive_record(&self, buffer: &mut [u8]) -> Result<(Option<RecordType>, usize), Errno> {
        let mut control = nix::cmsg_space!(u8);
        let mut parts = [IoSliceMut::new(buffer)];
        let (fd, flags) = (self.socket.as_raw_fd(), MsgFlags::empty());
        let received = recvmsg::<()>(fd, &mut parts, Some(&mut control), flags)?;
        let typ = received.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::TlsGetRecordType(typ) => Some(typ),
            _ => None,
        });
        Ok((typ, received.bytes))
    }
}

/// Converts a key. The kernel takes the first four bytes of an AES-GCM nonce separately.
fn crypto_info(
    version: ProtocolVersion,
    (sequence, secrets): (u64, ConnectionTrafficSecrets),
) -> io::Result<TlsCryptoInfo> {
    let info = |cipher_type| libc::tls_crypto_info {
        version: version.into(),
        cipher_type,
    };
    let rec_seq = sequence.to_be_bytes();
    Ok(match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => {
            TlsCryptoInfo::Aes128Gcm(libc::tls12_crypto_info_aes_gcm_128 {
                info: info(libc::TLS_CIPHER_AES_GCM_128),
                iv: array(&iv.as_ref()[4..])?,
                key: array(key.as_ref())?,
                salt: array(&iv.as_ref()[..4])?,
                rec_seq,
            })
        }
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => {
            TlsCryptoInfo::Aes256Gcm(libc::tls12_crypto_info_aes_gcm_256 {
                info: info(libc::TLS_CIPHER_AES_GCM_256),
                iv: array(&iv.as_ref()[4..])?,
                key: array(key.as_ref())?,
                salt: array(&iv.as_ref()[..4])?,
                rec_seq,
            })
        }
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            TlsCryptoInfo::Chacha20Poly1305(libc::tls12_crypto_info_chacha20_poly1305 {
                info: info(libc::TLS_CIPHER_CHACHA20_POLY1305),
                iv: array(iv.as_ref())?,
                key: array(key.as_ref())?,
                salt: [],
                rec_seq,
            })
        }
        _ => return Err(unsupported("the kernel has no name for this cipher".into())),
    })
}

fn array<const N: usize>(bytes: &[u8]) -> io::Result<[u8; N]> {
    bytes.try_into().map_err(io::Error::other)
}
