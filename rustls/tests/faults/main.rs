//! Whatever a connection calls may go wrong: transports block, fail, lie and panic, and so do the
//! callbacks of an application and its crypto provider. Nothing is lost, nothing is sent twice,
//! nothing is accepted that was not, and no key is used once a connection is over.

mod absurd;
mod acceptor;
mod bomb;
mod callbacks;
mod ends;
mod halves;
mod other_calls;
mod pieces;
mod rigged;
mod scripts;
mod splitting;
mod talk;
mod transport;
