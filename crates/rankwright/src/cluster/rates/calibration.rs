//! What `rankwright calibrate` measured besides the bandwidths and latencies of [`Rates`](super::Rates).

use serde::Serialize;

use super::super::{LevelKind, Nic};
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// A calibration: measurements between the ranks of an MPI program on the cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Calibration {
    /// The day of the measurement: `2026-11-23`.
    pub date: String,
    /// The version string of the MPI library that was measured.
    pub mpi: String,
    /// Rates of network devices by name; they precede those that the description states, which are
    /// those of the links.
    pub devices: Vec<DeviceRates>,
    /// The LogGP parameters of messages, by what sender and receiver share; each level once.
    pub messages: Vec<MessageRates>,
    /// Bandwidth of a network device one way, by the number of pairs of ranks that send through it at
    /// once: the number, ascending from 1, and the sum over the pairs. Figure 2 of the paper of 2009
    /// on mixed workloads.
    pub pairs: Vec<(u32, BytesPerSecond)>,
    /// As `pairs`, where each rank of a pair sends to the other at once; the sum of both ways.
    pub pairs_both_ways: Vec<(u32, BytesPerSecond)>,
    /// Bytes that a network device sends for each byte of long messages; at least 1. `None`: the
    /// device has no counters that could be read.
    pub wire_per_byte: Option<f64>,
    /// Bytes that a network device sends for a short message besides the message itself.
    pub wire_per_message: Option<Bytes>,
    /// The certainty of each rate.
    pub measured: Vec<MeasuredRate>,
}

/// The rates of network devices that are alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceRates {
    /// The names of the devices, on each node.
    pub names: Vec<String>,
    /// Payload of MPI messages per second, each way.
    pub bandwidth: BytesPerSecond,
    /// Half of a round trip of a short message, with the overheads of both ends.
    pub latency: Seconds,
    /// As `bandwidth`, for ranks in another NUMA node than those of the other measurements.
    pub far_bandwidth: Option<BytesPerSecond>,
    /// As `latency`, for such ranks.
    pub far_latency: Option<Seconds>,
}

/// The parameters of messages between two ranks, named as in LogGP (Alexandrov et al. 1995).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageRates {
    /// The least that sender and receiver share.
    pub level: LevelKind,
    /// L: time on the way, without the overheads of both ends.
    pub latency: Seconds,
    /// o_s: time in the call that sends a short message.
    pub send_overhead: Option<Seconds>,
    /// o_r: time in the call that receives a short message which has arrived.
    pub receive_overhead: Option<Seconds>,
    /// g: least time between two short messages of one rank; its inverse is the message rate.
    pub gap: Option<Seconds>,
    /// 1/G: bandwidth of long messages of one pair.
    pub bandwidth: Option<BytesPerSecond>,
    /// Longest message that is sent before its receive is posted; longer ones wait for it (rendezvous).
    pub eager_limit: Option<Bytes>,
}

/// How certain a measured rate is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredRate {
    /// The rate, by its field: `nic_bandwidth`, `messages.cluster.latency`.
    pub rate: String,
    /// Half of the distance between the quartiles of the samples, relative to their median.
    pub spread: f64,
    /// Number of samples.
    pub samples: u32,
}

impl Calibration {
    /// The measured rates of a device, if it was measured or is like one that was.
    #[must_use]
    pub fn device(&self, nic: &Nic) -> Option<&DeviceRates> {
        let named = |name: &String| *name == nic.name || nic.aliases.contains(name);
        self.devices.iter().find(|device| device.names.iter().any(named))
    }
}
