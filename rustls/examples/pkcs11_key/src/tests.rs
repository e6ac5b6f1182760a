//! Tests with keys in SoftHSM2, if it is installed.
//!
//! A process loads a module once, and SoftHSM2 finds its tokens by an environment variable. So each
//! test that uses it runs in a separate process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::{env, fs, process};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::object::{Attribute, ObjectClass};
use cryptoki::session::{Session, UserType};
use cryptoki::types::AuthPin;
use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256,
    SignatureAlgorithm as KeyKind,
};
use rustls::client::Resumption;
use rustls::operation::Offload;
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls::{ALL_VERSIONS, ClientConfig, RootCertStore, ServerConfig, SignatureScheme};
use tokio::runtime::Runtime;

use crate::greet::testing::{self, FULL, greeting};
use crate::key::ModuleKey;
use crate::token::Token;

/// The folders of the module on Debian and on Fedora.
const MODULE_FOLDERS: [&str; 2] = ["/usr/lib/softhsm", "/usr/lib64/pkcs11"];

const PIN: &str = "1234";

/// The environment variable that holds the folder for the process of a test.
const FOLDER: &str = "PKCS11_KEY_TEST_FOLDER";

/// SoftHSM2 with one token, `demo`, in a test's process.
struct SoftHsm {
    path: PathBuf,
    folder: PathBuf,
}

impl SoftHsm {
    /// Runs `test`, the body of the test `name`, in a separate process. Only prints a message if
    /// SoftHSM2 is not installed.
    fn run(name: &str, test: impl FnOnce(&Self)) {
        let paths = MODULE_FOLDERS.map(|folder| Path::new(folder).join("libsofthsm2.so"));
        let Some(path) = paths.into_iter().find(|path| path.exists()) else {
            println!("skipped: there is no SoftHSM2 here");
            return;
        };
        if let Some(folder) = env::var_os(FOLDER) {
            let folder = folder.into();
            return test(&Self { path, folder });
        }
        let folder = env::temp_dir().join(format!("pkcs11-key-{}-{name}", process::id()));
        let tokens = folder.join("tokens");
        fs::create_dir_all(&tokens).unwrap();
        let settings = folder.join("softhsm2.conf");
        let setting = format!("directories.tokendir = {}\n", tokens.display());
        fs::write(&settings, setting).unwrap();
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", &format!("tests::{name}"), "--nocapture"])
            .env("SOFTHSM2_CONF", settings)
            .env(FOLDER, &folder)
            .output()
            .unwrap();
        fs::remove_dir_all(folder).unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        assert!(output.status.success(), "{printed}");
        assert!(printed.contains("1 passed"), "{printed}");
    }

    fn util(&self, arguments: &str) {
        let mut util = Command::new("softhsm2-util");
        let status = util.args(arguments.split(' ')).status().unwrap();
        assert!(status.success(), "{arguments}");
    }

    fn import(&self, key: &KeyPair) {
        let file = self.folder.join("key.pem");
        fs::write(&file, key.serialize_pem()).unwrap();
        let file = file.display();
        let arguments = format!("--import {file} --token demo --pin {PIN} --label key --id 01");
        self.util(&arguments);
    }

    /// Creates the token with a key. Returns the key pair, the key in the token, and its
    /// certificate.
    fn with_key(&self, kind: &'static KeyKind) -> (KeyPair, ModuleKey, CertificateDer<'static>) {
        let (key, certificate) = generate(kind);
        let arguments = format!("--init-token --free --label demo --so-pin {PIN} --pin {PIN}");
        self.util(&arguments);
        self.import(&key);
        let token = Token::new(&self.path, "demo".into(), PIN.into()).unwrap();
        let found = ModuleKey::find(token, "key".into()).unwrap();
        (key, found, certificate)
    }

    /// Returns the module, which the key has already loaded.
    fn module(&self) -> Pkcs11 {
        Pkcs11::new(&self.path).unwrap()
    }

    /// Opens a session that may change the token.
    fn session(&self) -> Session {
        let module = self.module();
        let slot = module.get_slots_with_initialized_token().unwrap()[0];
        module.open_rw_session(slot).unwrap()
    }
}

/// Generates a key and its certificate.
fn generate(kind: &'static KeyKind) -> (KeyPair, CertificateDer<'static>) {
    let key = KeyPair::generate_for(kind).unwrap();
    let params = CertificateParams::new([testing::NAME.to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (key, certificate.der().clone())
}

fn server(certificate: &CertificateDer<'static>, key: ModuleKey) -> ServerConfig {
    let key = Arc::new(Offload::new(key, crate::blocking_threads()));
    let certified = CertifiedKey::new(vec![certificate.clone()], key);
    ServerConfig::builder()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
}

/// Creates a client of each version. They trust only `certificate`.
fn clients(certificate: &CertificateDer<'static>) -> impl Iterator<Item = Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    ALL_VERSIONS.iter().map(move |version| {
        let mut config = ClientConfig::builder_with_protocol_versions(&[version])
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        config.into()
    })
}

#[test]
fn clients_are_greeted_with_an_ecdsa_key() {
    SoftHsm::run("clients_are_greeted_with_an_ecdsa_key", |hsm| {
        let scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
        clients_are_greeted(hsm, &PKCS_ECDSA_P256_SHA256, scheme);
    });
}

#[test]
fn clients_are_greeted_with_an_rsa_key() {
    SoftHsm::run("clients_are_greeted_with_an_rsa_key", |hsm| {
        clients_are_greeted(hsm, &PKCS_RSA_SHA256, SignatureScheme::RSA_PSS_SHA256);
    });
}

fn clients_are_greeted(hsm: &SoftHsm, kind: &'static KeyKind, scheme: SignatureScheme) {
    let (_, key, certificate) = hsm.with_key(kind);
    key.check(&certificate).unwrap();
    let error = key.check(&generate(kind).1).unwrap_err().to_string();
    assert!(error.contains("does not match key"), "{error}");
    let shown = format!("{key:?}");
    assert!(shown.contains("demo") && !shown.contains(PIN), "{shown}");
    assert_eq!(key.choose_scheme(&[scheme]).unwrap().scheme(), scheme);
    assert!(key.choose_scheme(&[SignatureScheme::ED25519]).is_none());
    Runtime::new().unwrap().block_on(async {
        let address = testing::serve(server(&certificate, key));
        for client in clients(&certificate) {
            let greeting = greeting(&client, address).await;
            assert_eq!(greeting.unwrap().unwrap(), FULL, "{scheme:?}");
        }
    });
}

/// The user is logged out, or all sessions end, as if the token had been removed.
#[test]
fn lost_logins_and_sessions_are_replaced() {
    SoftHsm::run("lost_logins_and_sessions_are_replaced", |hsm| {
        let (_, key, _) = hsm.with_key(&PKCS_RSA_SHA256);
        key.make_signature(b"message").unwrap();
        for _ in 0..3 {
            hsm.session().logout().unwrap();
            key.make_signature(b"message").unwrap();

            hsm.module().finalize().unwrap();
            let error = key.make_signature(b"message").unwrap_err().to_string();
            assert!(error.contains("initialized"), "{error}");
            let arguments = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
            hsm.module().initialize(arguments).unwrap();
            key.make_signature(b"message").unwrap();
        }
    });
}

/// A token locks itself after a number of wrong PINs.
#[test]
fn a_wrong_pin_is_tried_once() {
    SoftHsm::run("a_wrong_pin_is_tried_once", |hsm| {
        let (_, key, _) = hsm.with_key(&PKCS_ECDSA_P256_SHA256);
        let [old, new] = [PIN, "5678"].map(AuthPin::from);
        let session = hsm.session();
        session.set_pin(&old, &new).unwrap();
        session.logout().unwrap();
        let error = key.make_signature(b"message").unwrap_err().to_string();
        assert!(error.contains("does not accept the PIN"), "{error}");

        // The PIN is right again, but is not tried.
        session.login(UserType::User, Some(&new)).unwrap();
        session.set_pin(&new, &old).unwrap();
        session.logout().unwrap();
        let error = key.make_signature(b"message").unwrap_err().to_string();
        assert!(error.contains("restart the server"), "{error}");
    });
}

/// The client gets an alert, and the server continues.
#[test]
fn a_removed_key_fails_only_handshakes() {
    SoftHsm::run("a_removed_key_fails_only_handshakes", |hsm| {
        let (file, key, certificate) = hsm.with_key(&PKCS_ECDSA_P256_SHA256);
        Runtime::new().unwrap().block_on(async {
            let address = testing::serve(server(&certificate, key));
            for client in clients(&certificate) {
                let greeted = greeting(&client, address).await.unwrap();
                assert_eq!(greeted.unwrap(), FULL);

                let session = hsm.session();
                let private = [Attribute::Class(ObjectClass::PRIVATE_KEY)];
                for object in session.find_objects(&private).unwrap() {
                    session.destroy_object(object).unwrap();
                }
                for _ in 0..2 {
                    let error = greeting(&client, address).await.unwrap().unwrap_err();
                    assert!(error.to_string().contains("InternalError"), "{error}");
                }
                hsm.import(&file);
            }
        });
    });
}
