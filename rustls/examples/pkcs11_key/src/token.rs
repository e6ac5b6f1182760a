//! The login to a token of a PKCS#11 module.
//!
//! All sessions of a process share one login, which ends with the last of them. So one session is
//! kept open for the login alone:
//!
//! ```text
//!   Token ── login ──► session without work ──┐
//!     └───── session() ──► session that signs ┴──► token: logged in while one of them is open
//! ```

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error as ModuleError, RvError};
use cryptoki::session::{Session, SessionState, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;

/// The reason why there is no session, or no signature. It does not contain the PIN.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// A token, found by its label.
pub(crate) struct Token {
    module: Pkcs11,
    label: String,
    pin: AuthPin,
    login: Mutex<Login>,
}

enum Login {
    Out,
    In(Slot, Session),
    /// The token did not accept the PIN. Another attempt could lock it.
    Refused(RvError),
}

impl Token {
    /// Loads the module, which is possible once in each process.
    pub(crate) fn new(module: &Path, label: String, pin: AuthPin) -> Result<Self, Failure> {
        let failed = |error| format!("cannot load {}: {error}", module.display());
        let module = Pkcs11::new(module).map_err(failed)?;
        module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK))?;
        Ok(Self {
            module,
            label,
            pin,
            login: Mutex::new(Login::Out),
        })
    }

    /// Opens a session with the user logged in. Logs in again if the login has ended, for example
    /// because the token was removed and inserted again.
    pub(crate) fn session(&self) -> Result<Session, Failure> {
        let mut login = self.login.lock().unwrap_or_else(PoisonError::into_inner);
        match &*login {
            Login::In(slot, session) if is_logged_in(session) => {
                return Ok(self.module.open_ro_session(*slot)?);
            }
            Login::Refused(reason) => {
                let message = format!("the PIN was wrong before ({reason}), restart the server");
                return Err(message.into());
            }
            _ => {}
        }
        *login = Login::Out;
        // The token may be in another slot now.
        let slot = self.slot()?;
        let session = self.module.open_ro_session(slot)?;
        match session.login(UserType::User, Some(&self.pin)) {
            Ok(()) | Err(ModuleError::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => {}
            // The token may have counted an attempt.
            Err(ModuleError::Pkcs11(
                error @ (RvError::PinIncorrect
                | RvError::PinInvalid
                | RvError::PinLenRange
                | RvError::PinExpired
                | RvError::PinLocked
                | RvError::UserPinNotInitialized),
                _,
            )) => {
                let message = format!("the token {} does not accept the PIN: {error}", self.label);
                *login = Login::Refused(error);
                return Err(message.into());
            }
            Err(error) => return Err(error.into()),
        }
        *login = Login::In(slot, session);
        Ok(self.module.open_ro_session(slot)?)
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    fn slot(&self) -> Result<Slot, Failure> {
        let slots = self.module.get_slots_with_token()?;
        let mut found = slots.into_iter().filter(|slot| {
            let info = self.module.get_token_info(*slot);
            info.is_ok_and(|info| info.label().trim_end() == self.label)
        });
        let label = &self.label;
        match (found.next(), found.next()) {
            (Some(slot), None) => Ok(slot),
            (Some(_), Some(_)) => Err(format!("more than one token is labelled {label}").into()),
            (None, _) => Err(format!("the module has no token {label}").into()),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Token").field(&self.label).finish()
    }
}

fn is_logged_in(session: &Session) -> bool {
    let info = session.get_session_info();
    info.is_ok_and(|info| info.session_state() == SessionState::RoUser)
}
