//! Kernel TLS: after the handshake, the Linux kernel encrypts and decrypts.
//!
//! The kernel can encrypt what a program writes to a socket, and decrypt what it reads. `sendfile`
//! then works over TLS, and some network cards can encrypt. Measure before you decide.
//!
//! The kernel needs its module `tls`, which only root can load (`modprobe tls`). The example
//! `kernel_tls` is a complete client. Its file `kernel_tls/stream.rs` works on either side, and has
//! the code for each step below.
//!
//! # The hand-over
//!
//! 1. Set `enable_secret_extraction` in the configuration.
//! 2. Connect the socket, and set the option `TCP_ULP` to `tls`. If the kernel has no TLS, this
//!    fails with ENOENT. You can then still use the connection without the kernel.
//! 3. Complete the handshake with an unbuffered connection. Send all its output, and take all
//!    received data. Read record by record: first the header, then the rest. The kernel does not
//!    see bytes that the program has read, so it would begin in the middle of a record.
//! 4. Call [`dangerous_into_kernel_connection`]. It returns the keys, and a [`KernelConnection`]
//!    for later handshake messages.
//! 5. Pass the keys to the kernel with the options `TLS_TX` and `TLS_RX`. If the kernel does not
//!    support the cipher, the connection is lost. So offer only suites that it supports.
//!
//! [`dangerous_extract_secrets`] returns only the keys. With TLS 1.3, tickets are then lost, and
//! the connection fails at the first KeyUpdate.
//!
//! # Afterwards
//!
//! Send data with `write` or `sendfile`. Receive with `recvmsg` and room for a control message:
//! `TLS_GET_RECORD_TYPE` has the type of the record. A plain `read` fails with EIO if the record
//! has no application data.
//!
//! - **NewSessionTicket**: call [`handle_new_session_ticket`]. Reassemble messages first, because a
//!   message may span several records.
//! - **KeyUpdate**: call [`update_rx_secret`], and set `TLS_RX`. If the peer requests an update,
//!   send a KeyUpdate before any data, then call [`update_tx_secret`], and set `TLS_TX`.
//! - **close_notify**: the peer sends nothing more; this side may go on.
//! - **Another alert**: the connection has ended.
//! - **No bytes and no control message**: the stream was cut off, which is an error.
//! - **EBADMSG or EMSGSIZE**: send bad_record_mac or record_overflow. Read `SO_ERROR` first,
//!   otherwise sending fails.
//! - **Anything else**: send unexpected_message.
//!
//! Send alerts and KeyUpdates with `sendmsg` and the control message `TLS_SET_RECORD_TYPE`. The
//! kernel sends no close_notify: send one before you close the socket.
//!
//! # Limits
//!
//! - **Replacing keys needs Linux 6.14**, or a kernel with its patches. Older kernels, such as
//!   Debian's 6.1 and 6.12, refuse to set a key again (EBUSY). Kernels that can replace keys have a
//!   line `TlsTxRekeyOk` in `/proc/net/tls_stat`. On others, never send a KeyUpdate: the new key
//!   could not be set. If the peer sends one, end the connection with an error that names the
//!   reason.
//! - **A key wears out.** Count the records that you send. Before the suite's
//!   [`confidentiality_limit`], replace the key, or end the connection where that is impossible.
//! - **Floods** are for the program to stop. The example accepts 32 KeyUpdates in a row.
//! - **Copies of keys** that you make for the kernel are not zeroized by this library.
//!
//! `ci/kernel` tests all this on Linux 6.1 and on a current kernel.
//!
//! [`dangerous_into_kernel_connection`]:
//!     crate::client::UnbufferedClientConnection::dangerous_into_kernel_connection
//! [`dangerous_extract_secrets`]:
//!     crate::client::UnbufferedClientConnection::dangerous_extract_secrets
//! [`KernelConnection`]: crate::kernel::KernelConnection
//! [`handle_new_session_ticket`]: crate::kernel::KernelConnection::handle_new_session_ticket
//! [`update_rx_secret`]: crate::kernel::KernelConnection::update_rx_secret
//! [`update_tx_secret`]: crate::kernel::KernelConnection::update_tx_secret
//! [`confidentiality_limit`]: crate::CipherSuiteCommon::confidentiality_limit
