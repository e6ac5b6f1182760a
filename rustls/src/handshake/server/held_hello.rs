//! Holds the ClientHello while the server negotiates.
//!
//! An application callback may take a long time, and many connections may wait at the same time. A
//! decoded ClientHello can take more than ten times the memory of the message, so a waiting
//! connection holds only the encoded message, and decodes it again afterwards. Each decision is
//! made only once.

use alloc::boxed::Box;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::Poll;

use pki_types::DnsName;
use rustls_core::codec::Codec;

use crate::callbacks::CallMode;
use crate::config::settings::ServerSettings;
use crate::error::InvalidMessage;
use crate::handshake::wait::{Call, CurrentCall};
use crate::msgs::HandshakeMessage;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::transport_parameters::TransportParameters;

/// A ClientHello, and the inputs of the decisions about it.
pub(crate) struct ReceivedHello<'r, 'a, M> {
    pub(crate) hello: HeldHello<'a>,
    /// The requested name, in lower case.
    pub(crate) server_name: Option<&'r DnsName<'static>>,
    pub(crate) config: &'r ServerSettings,
    /// The transport parameters, once they are checked. They are reported to the application even
    /// if the ClientHello is rejected.
    pub(crate) transport_parameters: TransportParameters<'a>,
    mode: PhantomData<M>,
}

/// A ClientHello that is kept decoded, except while a callback is pending.
pub(crate) struct HeldHello<'a> {
    encoded: &'a [u8],
    decoded: Decoded<'a>,
    /// The pending callback, for the log and the observer. `None` if no callback can be pending.
    current_call: Option<&'a CurrentCall>,
}

enum Decoded<'a> {
    /// No call can be pending, so the decoded message is never dropped.
    Borrowed(&'a ClientHello<'a>),
    /// Boxed, so that a waiting connection needs no space for the decoded message.
    Owned(Option<Box<ClientHello<'a>>>),
}

impl<'r, 'a, M: CallMode> ReceivedHello<'r, 'a, M> {
    pub(crate) fn new(
        hello: HeldHello<'a>,
        server_name: Option<&'r DnsName<'static>>,
        config: &'r ServerSettings,
        _: M,
    ) -> Self {
        Self {
            hello,
            server_name,
            config,
            transport_parameters: TransportParameters::default(),
            mode: PhantomData,
        }
    }

    /// Returns the QUIC transport parameters, once they have been checked.
    pub(crate) fn parameters(&self) -> Option<&'a [u8]> {
        let typ = self.config.carrier.parameters_extension()?;
        self.transport_parameters.get(typ)
    }
}

impl<'a> HeldHello<'a> {
    /// Creates a message for a negotiation that cannot wait.
    pub(crate) fn borrowed(hello: &'a ClientHello<'a>, encoded: &'a [u8]) -> Self {
        Self {
            encoded,
            decoded: Decoded::Borrowed(hello),
            current_call: None,
        }
    }

    /// Creates a message for a negotiation that may wait. `current_call` names the pending call.
    pub(crate) fn held(encoded: &'a [u8], current_call: &'a CurrentCall) -> Self {
        Self {
            encoded,
            decoded: Decoded::Owned(None),
            current_call: Some(current_call),
        }
    }

    pub(crate) fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    /// Returns the decoded message. Decodes it again if a callback has been pending since the
    /// previous call.
    pub(crate) fn get(&mut self) -> Result<&ClientHello<'a>, InvalidMessage> {
        match &mut self.decoded {
            Decoded::Borrowed(hello) => Ok(hello),
            Decoded::Owned(Some(hello)) => Ok(hello),
            Decoded::Owned(decoded) => {
                let message = HandshakeMessage::new(self.encoded)?;
                let hello = message.decode(ClientHello::read)?;
                Ok(decoded.insert(Box::new(hello)))
            }
        }
    }

    /// Waits for `future`, which runs `call`. Drops the decoded message if the future is not ready
    /// immediately. The caller pins the future, because a move would copy all of its state.
    pub(crate) async fn wait<T>(
        &mut self,
        call: Call,
        mut future: impl Future<Output = T> + Unpin,
    ) -> T {
        poll_fn(|task| {
            let polled = Pin::new(&mut future).poll(task);
            if let (Poll::Pending, Decoded::Owned(decoded)) = (&polled, &mut self.decoded) {
                *decoded = None;
                if let Some(current_call) = self.current_call {
                    current_call.set(call);
                }
            }
            polled
        })
        .await
    }
}
