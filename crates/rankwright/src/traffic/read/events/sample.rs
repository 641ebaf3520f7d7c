//! Events for tests, encoded as the tracer does it.

use std::path::{Path, PathBuf};

use crate::traffic::profile::{Profile, RankRecord};
use crate::traffic::read::profile_file;

/// The payload of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Payload {
    pub(crate) bytes: Vec<u8>,
    pub(crate) events: u64,
}

impl Payload {
    /// Starts with the record of `MPI_COMM_WORLD`.
    pub(crate) fn new(ranks: u64) -> Self {
        Self::default().record(2, &[0, 0, 1, 1, 0, 2, ranks, 0])
    }

    /// Adds a record that is not an event.
    pub(crate) fn record(mut self, kind: u8, numbers: &[u64]) -> Self {
        self.bytes.push(kind);
        for &number in numbers {
            let mut rest = number;
            while rest >= 0x80 {
                self.bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
                rest >>= 7;
            }
            self.bytes.push(u8::try_from(rest).unwrap());
        }
        self
    }

    /// Adds an event of 10 ticks after a gap of 1000 ticks.
    pub(crate) fn event(mut self, kind: u8, numbers: &[u64]) -> Self {
        self.events += 1;
        let numbers: Vec<u64> = [1000, 10].into_iter().chain(numbers.iter().copied()).collect();
        self.record(kind, &numbers)
    }
}

/// The file of a rank: a single closed block, marked as the last if `whole`.
pub(crate) fn file(rank: u32, ranks: u32, payload: &Payload, whole: bool) -> Vec<u8> {
    let mut bytes = b"RWEVENT\n".to_vec();
    for number in [1, 64, rank, ranks] {
        bytes.extend(u32::to_le_bytes(number));
    }
    bytes.extend(u64::to_le_bytes(77));
    bytes.extend([0; 8 + 8]);
    bytes.extend([0; 16]);
    let length = payload.bytes.len() as u64;
    bytes.extend(0x4b4c_4256_u32.to_le_bytes());
    bytes.extend((if whole { 3_u32 } else { 1 }).to_le_bytes());
    for number in [56 + length, length, payload.events, 5_000_000, 5_000_000] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(crc32fast::hash(&payload.bytes).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(&payload.bytes);
    bytes
}

/// Writes the files of all ranks into a folder.
pub(crate) fn write_files(folder: &Path, payloads: &[Payload]) -> Vec<PathBuf> {
    let ranks = u32::try_from(payloads.len()).unwrap();
    let write = |(rank, payload): (u32, &Payload)| {
        let path = folder.join(format!("rank-{rank}.events"));
        crate::files::write_atomically(&path, &file(rank, ranks, payload, true)).unwrap();
        path
    };
    (0..).zip(payloads).map(write).collect()
}

/// Writes a profile of `ranks` ranks without traffic.
pub(crate) fn write_profile(folder: &Path, ranks: usize) -> PathBuf {
    let path = folder.join("app.rwp");
    let profile = Profile { ranks: vec![RankRecord::default(); ranks], ..Profile::default() };
    profile_file::write(&profile, &path).unwrap();
    path
}
