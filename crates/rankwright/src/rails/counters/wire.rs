//! How far counted bytes may be from predicted ones.
//!
//! Predictions are payload of messages. Counters have what passes the device: payload, the headers of
//! the MPI library and of each packet, acknowledgements of what came the other way, the messages by which
//! connections are made, and packets sent again.
//!
//! Measured over TCP with 1500 bytes a packet: 1.006 (packets cut by the device, so that one header is
//! counted for up to 64 KiB) to 1.054 (each packet counted), for programs with messages of some kB.
//! InfiniBand and RoCE add 26 to 70 bytes to packets of 1 to 4 KiB: 1.01 to 1.07. Less than the payload
//! is never counted, unless the program sent less than its profile.
//!
//! Bytes of collective calls are estimated: the library may use another algorithm than the one into
//! which the calls were expanded, and algorithms differ in bytes per rank by a factor of about two.

use super::record::Due;

/// Point-to-point bytes below this share of the prediction are too little.
const LEAST: f64 = 0.9;
/// As [`LEAST`], for estimated bytes.
const LEAST_ESTIMATED: f64 = 0.4;
/// Point-to-point bytes above this share of the prediction, beside what headers add, are too much.
const MOST: f64 = 1.1;
/// As [`MOST`], for estimated bytes.
const MOST_ESTIMATED: f64 = 2.5;
/// Bytes that a message adds: headers of the library and of a packet, and those of a rendezvous.
const PER_MESSAGE: f64 = 300.0;
/// Acknowledgements of a byte that came the other way: TCP sends 66 bytes for every second packet, which
/// has 1448 bytes.
const ACKNOWLEDGED: f64 = 0.03;
/// Bytes that any device may have beside the traffic of messages: connections, address resolution.
const BESIDE: f64 = 500e3;

/// What must be due before its absence is a fault, in bytes.
pub(super) const MIN_DUE: f64 = 1e6;
/// Below this share of what is due, a device carried nothing of it.
const NOTHING: f64 = 0.02;
/// Where the background is known no better than to this share of what is due, nothing can be told.
pub(super) const MOST_UNCERTAIN: f64 = 0.25;

/// The share by which background during a job may differ from that around it.
pub(super) const BACKGROUND_VARIES: f64 = 0.2;

/// What may be counted in a direction: at least, at most, in bytes. `opposite` was counted in the other
/// direction.
#[must_use]
pub(super) fn expected(due: &Due, opposite: f64) -> (f64, f64) {
    let certain = (due.bytes - due.estimated).max(0.0);
    let least = LEAST * certain + LEAST_ESTIMATED * due.estimated;
    let most = MOST * certain
        + MOST_ESTIMATED * due.estimated
        + PER_MESSAGE * due.messages
        + ACKNOWLEDGED * opposite
        + BESIDE;
    (least, most)
}

/// Whether a device carried nothing of what was due, only what acknowledges the other direction.
#[must_use]
pub(super) fn is_nothing(due: &Due, most_counted: f64, opposite: f64) -> bool {
    let beside = (ACKNOWLEDGED * opposite).min(due.bytes / 4.0);
    due.bytes >= MIN_DUE && most_counted < NOTHING * due.bytes + beside
}
