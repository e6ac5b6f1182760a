//! Both sides over a stream in memory. It is compiled for OpenSSL and for BoringSSL, whose
//! bindings have nearly the same API.

use std::sync::{Arc, Mutex};

use kit::{Contender, Negotiated, Result, Scenario, Setup, Side, Version, Wire};

use super::set_suites_and_groups;
use super::tls::ssl::{
    Error, ErrorCode, ShutdownState, Ssl, SslContext, SslContextBuilder, SslFiletype, SslMethod,
    SslSession, SslSessionCacheMode, SslStream, SslVerifyMode, SslVersion,
};

/// The contexts of both sides.
pub(crate) struct Library {
    client: SslContext,
    server: SslContext,
    /// The newest session of the client.
    session: Arc<Mutex<Option<SslSession>>>,
}

impl Contender for Library {
    type Client = End;
    type Server = End;

    fn new(setup: &Setup) -> Result<Self> {
        let session = Arc::new(Mutex::new(None));
        let mut client = context(setup)?;
        client.set_ca_file(setup.root())?;
        client.set_verify(SslVerifyMode::PEER);
        client.set_session_cache_mode(SslSessionCacheMode::OFF);
        if setup.resumes {
            let mode = SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL;
            client.set_session_cache_mode(mode);
            let newest = session.clone();
            client.set_new_session_callback(move |_, session| {
                if let Ok(mut newest) = newest.lock() {
                    *newest = Some(session);
                }
            });
        }
        let mut server = context(setup)?;
        server.set_certificate_chain_file(setup.chain())?;
        server.set_private_key_file(setup.key(), SslFiletype::PEM)?;
        // tickets alone, as of the others
        server.set_session_cache_mode(SslSessionCacheMode::OFF);
        Ok(Self {
            client: client.build(),
            server: server.build(),
            session,
        })
    }

    #[allow(unsafe_code)] // the bindings have no safe method for a session
    fn client(&self) -> Result<Self::Client> {
        let mut ssl = Ssl::new(&self.client)?;
        ssl.set_hostname("localhost")?;
        ssl.param_mut().set_host("localhost")?;
        if let Some(session) = &*self.session.lock().map_err(|_| "a callback panicked")? {
            // SAFETY: the session is of the same context.
            unsafe { ssl.set_session(session) }?;
        }
        End::new(ssl, SslStream::connect)
    }

    fn server(&self) -> Result<Self::Server> {
        End::new(Ssl::new(&self.server)?, SslStream::accept)
    }
}

fn context(setup: &Setup) -> Result<SslContextBuilder> {
    let mut builder = SslContextBuilder::new(SslMethod::tls())?;
    let version = match setup.scenario.version {
        Version::Tls12 => SslVersion::TLS1_2,
        Version::Tls13 => SslVersion::TLS1_3,
    };
    builder.set_min_proto_version(Some(version))?;
    builder.set_max_proto_version(Some(version))?;
    set_suites_and_groups(&mut builder, &setup.scenario)?;
    Ok(builder)
}

/// Returns the list of groups. In TLS 1.2 it also names the curves of certificates.
pub(crate) fn groups(scenario: &Scenario) -> String {
    let group = scenario.group.name();
    match scenario.version {
        Version::Tls12 => format!("{group}:P-256"),
        Version::Tls13 => group.to_owned(),
    }
}

/// A connection, with the wire that it reads and writes.
pub(crate) struct End {
    stream: SslStream<Wire>,
    handshake: Handshake,
}

/// A method that continues the handshake of one side.
type Handshake = fn(&mut SslStream<Wire>) -> core::result::Result<(), Error>;

impl End {
    fn new(ssl: Ssl, handshake: Handshake) -> Result<Self> {
        let stream = SslStream::new(ssl, Wire::new())?;
        Ok(Self { stream, handshake })
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // OpenSSL does not resume the sessions of connections that were not closed
        self.stream
            .set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    }
}

impl Side for End {
    fn wire(&mut self) -> &mut Wire {
        self.stream.get_mut()
    }

    fn handshake(&mut self) -> Result<bool> {
        Ok(unless_blocked((self.handshake)(&mut self.stream))?.is_some())
    }

    fn send(&mut self, data: &[u8]) -> Result<()> {
        match self.stream.ssl_write(data)? {
            written if written == data.len() => Ok(()),
            _ => Err("a record was not sent as a whole".into()),
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize> {
        Ok(unless_blocked(self.stream.ssl_read(buffer))?.unwrap_or(0))
    }

    fn negotiated(&self) -> Negotiated {
        let suite = self
            .stream
            .ssl()
            .current_cipher()
            .and_then(|cipher| cipher.standard_name());
        Negotiated {
            suite: suite.unwrap_or_default().to_owned(),
            is_resumed: self.stream.ssl().session_reused(),
        }
    }
}

fn unless_blocked<T>(result: core::result::Result<T, Error>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == ErrorCode::WANT_READ => Ok(None),
        Err(error) => Err(error.into()),
    }
}
