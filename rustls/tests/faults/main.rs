//! Failures of everything that a connection calls. Transports, and callbacks of the application and
//! its crypto provider, block, fail, lie and panic. Data is neither lost nor sent twice, nothing
//! invalid is accepted, and a failed connection uses no more keys.

mod absurd;
mod acceptor;
mod bomb;
mod callbacks;
mod ends;
mod guards;
mod halves;
mod liars;
mod other_calls;
mod pieces;
mod rigged;
mod scripts;
mod splitting;
mod stores;
mod talk;
mod transport;
mod unpolled;
