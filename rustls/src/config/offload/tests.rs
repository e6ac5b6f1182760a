use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::task::Wake;
use std::{thread, vec};

use super::*;

/// A key that does what its message says: it panics or fails. Otherwise it returns the message
/// reversed. It counts its signatures.
#[derive(Clone, Debug, Default)]
struct Reversing(Arc<AtomicUsize>);

impl Reversing {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl SigningKey for Reversing {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_offered = offered.contains(&SignatureScheme::ED25519);
        is_offered.then(|| -> Box<dyn Signer> { Box::new(self.clone()) })
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(vec![1, 2, 3].into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Reversing {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.0.fetch_add(1, Ordering::SeqCst);
        match message {
            b"panic" => panic!("as the message says"),
            b"fail" => Err(Error::FailedToGetRandomBytes),
            _ => Ok(message.iter().rev().copied().collect()),
        }
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

/// A task that counts how often it is woken, and unparks its thread.
struct Task {
    thread: thread::Thread,
    woken: AtomicUsize,
}

impl Task {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            thread: thread::current(),
            woken: AtomicUsize::new(0),
        })
    }

    fn woken(&self) -> usize {
        self.woken.load(Ordering::SeqCst)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::SeqCst);
        self.thread.unpark();
    }
}

type Signature = BoxFuture<Result<Vec<u8>, Error>>;

fn poll(signature: &mut Signature, task: &Arc<Task>) -> Poll<Result<Vec<u8>, Error>> {
    let waker = Waker::from(task.clone());
    signature.as_mut().poll(&mut Context::from_waker(&waker))
}

/// Parks the thread until the signature is ready.
fn wait(mut signature: Signature) -> Result<Vec<u8>, Error> {
    let task = Task::new();
    loop {
        match poll(&mut signature, &task) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

fn signer(key: &dyn SigningKey) -> Box<dyn Signer> {
    key.choose_scheme(&[SignatureScheme::ED25519]).unwrap()
}

/// Creates a signer whose jobs arrive at the returned end of the queue.
fn queued(key: Reversing) -> (Box<dyn Signer>, Receiver<Job>) {
    let (queue, jobs) = mpsc::channel();
    let key = Offload::new(key, move |job| {
        let _ = queue.send(job);
    });
    (signer(&key), jobs)
}

fn is_general(result: &Poll<Result<Vec<u8>, Error>>, part: &str) -> bool {
    matches!(result, Poll::Ready(Err(Error::General(text))) if text.contains(part))
}

#[test]
fn an_offloaded_key_has_the_properties_of_its_key() {
    let shared: Arc<dyn SigningKey> = Arc::new(Reversing::default());
    let key = Offload::new(shared, |job: Job| job());
    assert_eq!(key.public_key(), Some(vec![1, 2, 3].into()));
    assert_eq!(key.algorithm(), SignatureAlgorithm::ED25519);
    assert!(key.choose_scheme(&[]).is_none());
    assert_eq!(signer(&key).scheme(), SignatureScheme::ED25519);
    assert_eq!(std::format!("{key:?}"), "Offload(Reversing(0))");
    let key: Arc<dyn SigningKey> = Arc::new(key);
    let signature = signer(&key).sign_async(b"abc").unwrap();
    assert_eq!(wait(signature), Ok(b"cba".to_vec()));
}

#[test]
fn sign_does_not_use_the_pool() {
    let (signer, jobs) = queued(Reversing::default());
    assert_eq!(signer.sign(b"abc"), Ok(b"cba".to_vec()));
    assert!(jobs.try_recv().is_err());
}

#[test]
fn a_job_is_queued_by_the_first_poll_and_wakes_the_last_task() {
    let (signer, jobs) = queued(Reversing::default());
    let mut signature = signer.sign_async(b"abc").unwrap();
    drop(signer);
    assert!(jobs.try_recv().is_err());
    let [first, last] = [Task::new(), Task::new()];
    assert!(poll(&mut signature, &first).is_pending());
    let job = jobs.try_recv().unwrap();
    assert!(poll(&mut signature, &first).is_pending());
    assert!(poll(&mut signature, &last).is_pending());
    assert!(jobs.try_recv().is_err());

    thread::spawn(job).join().unwrap();
    assert_eq!([first.woken(), last.woken()], [0, 1]);
    let result = poll(&mut signature, &first);
    assert_eq!(result, Poll::Ready(Ok(b"cba".to_vec())));
    assert_eq!([first.woken(), last.woken()], [0, 1]);
    // a task that is no longer polled is not kept alive
    assert_eq!(Arc::strong_count(&last), 1);
}

#[test]
fn a_dropped_job_is_an_error() {
    let (signer, jobs) = queued(Reversing::default());
    let (task, mut signature) = (Task::new(), signer.sign_async(b"abc").unwrap());
    assert!(poll(&mut signature, &task).is_pending());
    drop(jobs.try_recv().unwrap());
    assert_eq!(task.woken(), 1);
    assert!(is_general(&poll(&mut signature, &task), "dropped the job"));

    // a pool that has already been shut down
    drop(jobs);
    let mut signature = signer.sign_async(b"abc").unwrap();
    assert!(is_general(&poll(&mut signature, &task), "dropped the job"));
}

#[test]
fn a_panic_of_the_key_is_an_error_and_leaves_the_thread_alive() {
    let (signer, jobs) = queued(Reversing::default());
    let (task, mut signature) = (Task::new(), signer.sign_async(b"panic").unwrap());
    assert!(poll(&mut signature, &task).is_pending());
    thread::spawn(jobs.try_recv().unwrap()).join().unwrap();
    assert_eq!(task.woken(), 1);
    assert!(is_general(&poll(&mut signature, &task), "panicked"));
}

#[test]
fn an_error_of_the_key_is_returned() {
    let key = Offload::new(Reversing::default(), |job: Job| job());
    let mut signature = signer(&key).sign_async(b"fail").unwrap();
    let result = poll(&mut signature, &Task::new());
    assert_eq!(result, Poll::Ready(Err(Error::FailedToGetRandomBytes)));
}

#[test]
fn a_job_of_a_dropped_future_does_not_sign() {
    let key = Reversing::default();
    let (signer, jobs) = queued(key.clone());
    let (task, mut signature) = (Task::new(), signer.sign_async(b"abc").unwrap());
    assert!(poll(&mut signature, &task).is_pending());
    drop(signature);
    assert_eq!(Arc::strong_count(&task), 1);
    jobs.try_recv().unwrap()();
    assert_eq!([key.count(), task.woken()], [0, 0]);
}

/// A key that drops a future while it signs.
struct Dropping(Arc<Mutex<Option<Signature>>>);

impl fmt::Debug for Dropping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dropping")
    }
}

impl SigningKey for Dropping {
    fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(Self(self.0.clone())))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Dropping {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let dropped = self.0.lock().unwrap().take();
        assert!(dropped.is_some());
        drop(dropped);
        Ok(message.to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

#[test]
fn a_future_may_be_dropped_while_the_key_signs() {
    let (queue, jobs) = mpsc::channel();
    let place = Arc::new(Mutex::new(None));
    let key = Offload::new(Dropping(place.clone()), move |job| {
        let _ = queue.send(job);
    });
    let (task, mut signature) = (Task::new(), signer(&key).sign_async(b"abc").unwrap());
    assert!(poll(&mut signature, &task).is_pending());
    *place.lock().unwrap() = Some(signature);
    thread::spawn(jobs.try_recv().unwrap()).join().unwrap();
    assert!(place.lock().unwrap().is_none());
    assert_eq!([task.woken(), Arc::strong_count(&task)], [0, 1]);
}

/// The task may be executed, and dropped, by the waker.
#[test]
fn a_waker_may_drop_the_future() {
    struct Owner(Mutex<Option<Signature>>);
    impl Wake for Owner {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take());
        }
    }

    let (signer, jobs) = queued(Reversing::default());
    let owner = Arc::new(Owner(Mutex::new(None)));
    let mut signature = signer.sign_async(b"abc").unwrap();
    let waker = Waker::from(owner.clone());
    let polled = signature.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    *owner.0.lock().unwrap() = Some(signature);
    jobs.try_recv().unwrap()();
    assert!(owner.0.lock().unwrap().is_none());
}

#[test]
fn many_signatures_are_made_at_the_same_time() {
    let (signer, jobs) = queued(Reversing::default());
    let jobs = Mutex::new(jobs);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let next = || jobs.lock().unwrap().recv().ok();
                while let Some(job) = next() {
                    job();
                }
            });
        }
        // the workers end when the last caller drops the signer, and with it the queue
        let signer: Arc<dyn Signer> = signer.into();
        for caller in 0..4_u32 {
            let signer = signer.clone();
            scope.spawn(move || {
                for at in 0..500 {
                    let message = (caller * 1000 + at).to_be_bytes();
                    let reversed = message.iter().rev().copied().collect();
                    let signature = signer.sign_async(&message).unwrap();
                    assert_eq!(wait(signature), Ok(reversed));
                }
            });
        }
    });
}
