//! The limit on open files.

use std::io;

/// Raises this process's soft limit on open files to `needed`, if the hard limit allows it.
#[cfg(unix)]
pub(crate) fn allow(needed: usize) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let needed = needed as u64;
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < needed) {
        let most = limit.maximum.unwrap_or_default();
        return Err(io::Error::other(format!(
            "this needs {needed} open files, but the limit is {most}: use fewer connections, or raise `ulimit -Hn`"
        )));
    }
    let raised = Rlimit {
        current: Some(needed),
        ..limit
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// No limit is known on this platform.
#[cfg(not(unix))]
pub(crate) fn allow(_: usize) -> io::Result<()> {
    Ok(())
}
