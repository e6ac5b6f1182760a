//! WAIT_FINISHED: the server's Finished, and the client's reply, which ends the handshake.

use alloc::boxed::Box;

use rustls_core::crypto::hash;

use super::State;
use super::client_auth::ClientAuth;
use super::connected::Connected;
use super::in_progress::{EarlyDataState, Handshake};
use crate::config::observer::handshake::ClientCertificate;
use crate::enums::Side;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::calls::signed;
use crate::handshake::client::client_auth::CertificateChoice;
use crate::handshake::established::{Established, Tls13Secrets};
use crate::handshake::finished::check_finished;
use crate::handshake::flight::{Flight, PausedFlight};
use crate::handshake::tls13::certificate_verify::signed_content;
use crate::handshake::transport::Transport;
use crate::handshake::wait::{Call, Wait};
use crate::handshake::{ClientContext, operation};
use crate::keys::tls13::verify_data;
use crate::msgs::{EndOfEarlyData, Finished};

/// Waits for the server's Finished. The server's certificates have been verified, unless a session
/// is resumed.
pub(crate) struct WaitFinished {
    handshake: Box<Handshake>,
    client_auth: Option<Box<ClientAuth>>,
}

impl WaitFinished {
    pub(super) fn new(handshake: Box<Handshake>, client_auth: Option<Box<ClientAuth>>) -> Self {
        Self {
            handshake,
            client_auth,
        }
    }

    pub(super) fn read_finished(
        self,
        finished: Finished<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            mut handshake,
            client_auth,
        } = self;
        let suite = handshake.suite;
        let expected = verify_data(
            suite,
            &handshake.finished_keys.server,
            handshake.transcript.current(),
        );
        check_finished(expected.as_ref(), &finished)?;
        handshake.check_session_id_echo()?;
        // RFC 9846 §5.1: the server's keys change next, so check before a reply is sent
        cx.transport.check_aligned()?;

        handshake.transcript.add(encoded);
        // later derivations need this hash, and the client's messages change the transcript
        let server_finished = hash::Output::new(handshake.transcript.current().as_ref());
        if handshake.early_data == EarlyDataState::Accepted {
            end_early_data(&mut handshake, cx.transport)?;
        }
        let mut flight = Flight::new(&mut handshake.transcript);
        if let Some(client_auth) = client_auth {
            client_auth.add_certificate(&mut flight, &handshake.offer.config);
            if let CertificateChoice::Certificate(_, signer) = client_auth.choice {
                let content = signed_content(Side::Client, flight.transcript_hash());
                let flight = flight.pause();
                let called = cx.callbacks.sign(&*signer, content.as_ref());
                let wait = Wait::after_finished(Call::Signature);
                return operation::after(called, wait, cx, move |signature, cx| {
                    let mut flight = flight.resume(&mut handshake.transcript);
                    flight.add(&signed(&*signer, signature)?);
                    let facts = &mut cx.negotiated.facts;
                    facts.client_certificate = ClientCertificate::Sent;
                    facts.client_signature = Some(signer.scheme());
                    let flight = flight.pause();
                    handshake.end_flight(flight, &server_finished, cx)
                });
            }
        }
        let flight = flight.pause();
        handshake.end_flight(flight, &server_finished, cx)
    }
}

impl Handshake {
    /// Sends `flight` and the client's Finished, and then [connects](Self::connect).
    fn end_flight(
        mut self: Box<Self>,
        flight: PausedFlight,
        server_finished: &hash::Output,
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        let mut flight = flight.resume(&mut self.transcript);
        let transcript = flight.transcript_hash();
        let verify_data = verify_data(self.suite, &self.finished_keys.client, transcript);
        flight.add(&Finished(verify_data.as_ref()));
        flight.send(cx.transport)?;
        self.connect(server_finished, cx).map(State::Connected)
    }

    /// Installs the keys for application data, and updates the session store. Fails if ECH was
    /// rejected, or if more handshake bytes follow the server's Finished. `server_finished` is the
    /// hash of the messages up to the server's Finished. The client's Finished has already been
    /// sent.
    fn connect(
        self: Box<Self>,
        server_finished: &hash::Output,
        cx: &mut ClientContext<'_>,
    ) -> Result<Box<Connected>, Failure> {
        let mut handshake = self;
        let suite = handshake.suite;
        let main_secret = handshake.secret.into_main_secret();
        let mut offer = handshake.offer;
        let secrets = Tls13Secrets::derive(suite, |sending, receiving, exporter| {
            main_secret.application_secrets(server_finished, sending, receiving, exporter);
            offer.log_secret("CLIENT_TRAFFIC_SECRET_0", sending.as_ref());
            offer.log_secret("SERVER_TRAFFIC_SECRET_0", receiving.as_ref());
            offer.log_secret("EXPORTER_SECRET", exporter.as_ref());
        });
        secrets.install_sending(cx.transport);
        // RFC 9849 §6.1.6: after the client's Finished, and before any application data
        offer.ech.check_not_rejected()?;
        secrets.install_receiving(cx.transport)?;
        *cx.established = Some(Established::Tls13(secrets));
        cx.transport.start_sending();

        let store = &offer.config.resumption.store;
        let stores_sessions = store.is_some();
        if let Some(store) = store {
            match cx.negotiated.kx_group.map(|group| group.name()) {
                Some(group) if offer.kx_hint != Some(group) => {
                    store.set_kx_hint(offer.visible_name(), group);
                }
                _ => {}
            }
            // the server now supports TLS 1.3, so a TLS 1.2 session is useless
            store.remove_tls12_session(&offer.server_name);
        }
        let mut connected = Box::new(Connected::new(*offer, suite));
        if stores_sessions {
            connected.derive_resumption_secret(&main_secret, handshake.transcript.current());
        }
        Ok(connected)
    }
}

/// Sends EndOfEarlyData, the last message under the early-data keys, if the carrier has that
/// message. Then ends early data.
fn end_early_data(handshake: &mut Handshake, transport: &mut dyn Transport) -> Result<(), Error> {
    // RFC 9846 §4.6: after the server's Finished, and only if early data was accepted
    if transport.carrier().has_end_of_early_data() {
        let mut flight = Flight::new(&mut handshake.transcript);
        flight.add(&EndOfEarlyData);
        flight.send(transport)?;
    }
    handshake.end_early_data(transport);
    Ok(())
}
