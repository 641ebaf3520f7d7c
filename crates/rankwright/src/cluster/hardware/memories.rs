//! Rates of memories by processor.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Origin, Rated};
use crate::cluster::{Machine, NumaNode};
use crate::ids::CoreId;
use crate::units::BytesPerSecond;

/// The share of the memory's peak rate that STREAM (triad) reaches: assumed for all processors.
const STREAM: f64 = 0.8;

/// Bytes of a transfer on one memory channel.
const CHANNEL_BYTES: f64 = 8.0;

/// Processors: how the model's name matches, memory channels of a package, millions of transfers per
/// second, those of the fastest memory that the series allows; the first row that matches counts.
/// Checked against manuals of servers: three channels of E5-24xx, four of E5-26xx with DDR3-1600, DDR3-1866
/// (v2), DDR4-2133 (v3) and DDR4-2400 (v4). The other rows are assumed: not compared with a source.
const PROCESSORS: [(Name, f64, f64); 55] = [
    (Name("Xeon", &["E5-24"]), 3.0, 1600.0),
    (Name("Xeon", &["E5-", " v4"]), 4.0, 2400.0),
    (Name("Xeon", &["E5-", " v3"]), 4.0, 2133.0),
    (Name("Xeon", &["E5-", " v2"]), 4.0, 1866.0),
    (Name("Xeon", &["E5-"]), 4.0, 1600.0),
    (Name("Xeon", &["E7-", " v4"]), 4.0, 1866.0),
    (Name("Xeon", &["E7-", " v3"]), 4.0, 1866.0),
    (Name("Xeon", &["X55"]), 3.0, 1333.0),
    (Name("Xeon", &["E55"]), 3.0, 1066.0),
    (Name("Xeon", &["X56"]), 3.0, 1333.0),
    (Name("Xeon", &["E56"]), 3.0, 1066.0),
    // Knights Landing and Knights Mill: the six DDR4 channels; MCDRAM has a row of its own below.
    (Name("Xeon Phi", &[" 72"]), 6.0, 2400.0),
    // Scalable processors: the second digit is the generation.
    (Name("Xeon", &["Max 94"]), 8.0, 4800.0),
    (Name("Xeon", &["Platinum 92"]), 12.0, 2933.0),
    (Name("Xeon", &["Platinum 81"]), 6.0, 2666.0),
    (Name("Xeon", &["Gold 61"]), 6.0, 2666.0),
    (Name("Xeon", &["Gold 5122"]), 6.0, 2666.0),
    (Name("Xeon", &["Gold 51"]), 6.0, 2400.0),
    (Name("Xeon", &["Silver 41"]), 6.0, 2400.0),
    (Name("Xeon", &["Bronze 31"]), 6.0, 2133.0),
    (Name("Xeon", &["Platinum 82"]), 6.0, 2933.0),
    (Name("Xeon", &["Gold 62"]), 6.0, 2933.0),
    (Name("Xeon", &["Gold 5222"]), 6.0, 2933.0),
    (Name("Xeon", &["Gold 52"]), 6.0, 2666.0),
    (Name("Xeon", &["Silver 42"]), 6.0, 2400.0),
    (Name("Xeon", &["Bronze 32"]), 6.0, 2133.0),
    // Cooper Lake (a number that ends in H) has six channels.
    (Name("Xeon", &["Platinum 83", "H "]), 6.0, 3200.0),
    (Name("Xeon", &["Gold 63", "H "]), 6.0, 2933.0),
    (Name("Xeon", &["Gold 53", "H "]), 6.0, 2666.0),
    (Name("Xeon", &["Platinum 83"]), 8.0, 3200.0),
    (Name("Xeon", &["Gold 63"]), 8.0, 3200.0),
    (Name("Xeon", &["Gold 53"]), 8.0, 2933.0),
    (Name("Xeon", &["Silver 43"]), 8.0, 2666.0),
    (Name("Xeon", &["Platinum 84"]), 8.0, 4800.0),
    (Name("Xeon", &["Gold 64"]), 8.0, 4800.0),
    (Name("Xeon", &["Gold 54"]), 8.0, 4400.0),
    (Name("Xeon", &["Silver 44"]), 8.0, 4000.0),
    (Name("Xeon", &["Bronze 34"]), 8.0, 4000.0),
    (Name("Xeon", &["Platinum 85"]), 8.0, 5600.0),
    (Name("Xeon", &["Gold 65"]), 8.0, 5200.0),
    (Name("Xeon", &["Gold 55"]), 8.0, 4800.0),
    (Name("Xeon", &["Silver 45"]), 8.0, 4400.0),
    (Name("Xeon", &["Bronze 35"]), 8.0, 4400.0),
    (Name("Xeon", &[" 69", "P"]), 12.0, 6400.0),
    (Name("Xeon", &[" 67", "P"]), 8.0, 6400.0),
    (Name("EPYC", &[" 7", "1 "]), 8.0, 2666.0),
    // Rome (7xx2), Milan (7xx3), Trento (7A53).
    (Name("EPYC", &[" 7"]), 8.0, 3200.0),
    (Name("EPYC", &[" 8"]), 6.0, 4800.0),
    (Name("EPYC", &[" 9", "5 "]), 12.0, 6000.0),
    (Name("EPYC", &[" 9", "5F"]), 12.0, 6000.0),
    (Name("EPYC", &[" 9"]), 12.0, 4800.0),
    (Name("Opteron", &[" 22"]), 2.0, 667.0),
    (Name("Opteron", &[" 61"]), 4.0, 1333.0),
    (Name("Opteron", &[" 6"]), 4.0, 1866.0),
    (Name("POWER9", &[]), 8.0, 2666.0),
];

/// Models whose fastest memory is slower than that of their series: numbers as in the model's name,
/// channels, millions of transfers per second. Assumed, as most rows above.
const SLOWER: [(&[&str], f64, f64); 12] = [
    (&["E5-2603 v4", "E5-2608L v4", "E5-2609 v4"], 4.0, 1866.0),
    (&["E5-2618L v4", "E5-2620 v4", "E5-2623 v4", "E5-2628L v4"], 4.0, 2133.0),
    (&["E5-2630 v4", "E5-2630L v4", "E5-2640 v4"], 4.0, 2133.0),
    (&["E5-2603 v3", "E5-2609 v3"], 4.0, 1600.0),
    (&["E5-2608L v3", "E5-2618L v3", "E5-2620 v3", "E5-2623 v3"], 4.0, 1866.0),
    (&["E5-2628L v3", "E5-2630 v3", "E5-2630L v3", "E5-2640 v3"], 4.0, 1866.0),
    (&["E5-2603 v2", "E5-2609 v2", "E5-2618L v2"], 4.0, 1333.0),
    (&["E5-2620 v2", "E5-2630 v2", "E5-2630L v2", "E5-2640 v2", "E5-2650L v2"], 4.0, 1600.0),
    // The first generation, whose names have a 0 in this place.
    (&["E5-2603 0", "E5-2609 0"], 4.0, 1066.0),
    (&["E5-2620 0", "E5-2630 0", "E5-2630L 0", "E5-2640 0"], 4.0, 1333.0),
    (&["EPYC 7251"], 8.0, 2400.0),
    // AMD: 85.3 GB/s of a package, that of four channels.
    (&["EPYC 7232P", "EPYC 7252", "EPYC 7272", "EPYC 7282"], 4.0, 2666.0),
];

/// Xeon Phi 7210 and 7210F: DDR4-2133, and MCDRAM with 6.4 in place of 7.2 GT/s; assumed.
const PHI_7210: Name = Name("Xeon Phi", &[" 7210"]);

/// Processors whose memory is not on DDR channels, or whose channels a description does not tell; GB/s of
/// a package, which STREAM is assumed to reach. The numbers of an Arm processor are those of its core,
/// which several vendors use.
const BY_PACKAGE: [(&[Name], f64); 10] = [
    // Four stacks of HBM2 with 1024 GB/s.
    (&[Name(ARM, &["0x46", "0x001"]), Name("A64FX", &[])], 830.0),
    // AMD MI300A: the links of its three CPU chiplets limit what they reach of 5.3 TB/s of HBM3.
    (&[Name("MI300A", &[])], 200.0),
    // Neoverse V2. NVIDIA Grace: LPDDR5X with 512 GB/s. Graviton 4: twelve channels of DDR5-5600.
    (&[Name(ARM, &["0x41", "0xd4f"]), Name("Grace", &[]), Name("Neoverse-V2", &[])], 450.0),
    (&[Name("Graviton4", &[])], 430.0),
    // Neoverse N1. Ampere Altra, Graviton 2: eight channels of DDR4-3200.
    (
        &[
            Name(ARM, &["0x41", "0xd0c"]),
            Name("Altra", &[]),
            Name("Graviton2", &[]),
            Name("Neoverse-N1", &[]),
        ],
        170.0,
    ),
    // AmpereOne: eight channels of DDR5-5200.
    (&[Name(ARM, &["0xc0", "0xac3"]), Name("AmpereOne", &[])], 265.0),
    // Neoverse V1: Graviton 3, eight channels of DDR5-4800.
    (&[Name(ARM, &["0x41", "0xd40"]), Name("Graviton3", &[]), Name("Neoverse-V1", &[])], 245.0),
    // Marvell ThunderX2: eight channels of DDR4-2666.
    (&[Name(ARM, &["0x43", "0x0af"]), Name("ThunderX2", &[])], 120.0),
    // HiSilicon Kunpeng 920: eight channels of DDR4-2933.
    (&[Name(ARM, &["0x48", "0xd01"]), Name("Kunpeng-920", &[]), Name("Kunpeng 920", &[])], 150.0),
    // IBM S822LC: four memory buffers at a socket.
    (&[Name("POWER8", &[])], 115.0),
];

/// How a description names processors that have numbers instead of a model:
/// `Arm implementer 0x46 part 0x001`.
pub(in crate::cluster) const ARM: &str = "Arm implementer";

/// MCDRAM of Xeon Phi 72xx, GB/s of a package; assumed.
const MCDRAM: f64 = 480.0;
/// HBM2e of Xeon Max, GB/s of a package; assumed.
const XEON_MAX_HBM: f64 = 700.0;
/// Six Optane DIMMs, between the rates of reading and of writing; assumed.
const PERSISTENT: f64 = 25.0;
/// One CXL device on eight lanes of PCIe 5; assumed.
const CXL: f64 = 25.0;
/// DRAM of an unknown processor, GB/s of a core: within a factor of two of most processors above. Assumed.
const PER_CORE: f64 = 4.0;
/// At least this for a package: two channels of DDR4-3200, because few cores do not mean few channels.
const PER_PACKAGE: f64 = 40.0;

/// A part of the model's name, and further parts in this order behind it; case does not matter, because
/// some processors write their name in capitals.
struct Name(&'static str, &'static [&'static str]);

impl Name {
    fn is_of(&self, model: &str) -> bool {
        let Self(family, parts) = self;
        let model = model.to_ascii_uppercase();
        let mut rest = model.as_str();
        std::iter::once(family).chain(*parts).all(|part| {
            let after = rest.split_once(&part.to_ascii_uppercase()).map(|(_, after)| after);
            rest = after.unwrap_or_default();
            after.is_some()
        })
    }
}

/// The bandwidth of each NUMA node of a machine.
pub(super) fn bandwidths(machine: &Machine) -> Vec<Rated<BytesPerSecond>> {
    let beside = machine.packages_beside();
    let model = machine.processor.as_deref().unwrap_or_default();
    let cores = machine.cores_by_numa();
    let numa_nodes = machine.numa_nodes.iter().zip(&beside);
    let rated = numa_nodes.zip(&cores).map(|((node, package), own)| {
        // The NUMA nodes of this kind that share the package's memory. DRAM without cores belongs to
        // packages that this description leaves out.
        let alike = machine.numa_nodes.iter().zip(&beside).zip(&cores);
        let is_alike = |((other, at), cores): &((&NumaNode, &Option<usize>), &Vec<CoreId>)| {
            other.kind == node.kind && *at == package && (other.kind.is_some() || !cores.is_empty())
        };
        let visible = alike.filter(is_alike).count().max(1);
        let alike = visible.max(node.package_numa_nodes.map_or(1, |all| all as usize));
        // A memory of several packages is that of each of them.
        let packages = match package {
            Some(_) => 1,
            None => packages_of(machine, own),
        };
        let (gigabytes, what) = match node.kind.as_deref() {
            None => dram(machine, model, packages),
            Some(kind) => (of_kind(kind, model) * packages as f64, Cow::Owned(kind.to_owned())),
        };
        let value = BytesPerSecond(gigabytes * 1e9 / alike as f64);
        Rated { value, origin: Origin::Hardware(what) }
    });
    rated.collect()
}

/// The number of packages of these cores.
fn packages_of(machine: &Machine, cores: &[CoreId]) -> usize {
    let packages: BTreeSet<usize> =
        cores.iter().map(|core| machine.cores[core.index()].package).collect();
    packages.len().max(1)
}

/// The memory bandwidth of this many packages together, in GB/s, and its source.
fn dram(machine: &Machine, model: &str, packages: usize) -> (f64, Cow<'static, str>) {
    let Some(gigabytes) = by_package(model).or_else(|| by_channels(model)) else {
        let cores = machine.cores.len() * packages / machine.packages.max(1);
        // Virtual machines may have a package for each core: the floor counts once.
        let gigabytes = (PER_CORE * cores as f64).max(PER_PACKAGE);
        return (gigabytes, Cow::Borrowed("unknown processor"));
    };
    (gigabytes * packages as f64, Cow::Owned(model.to_owned()))
}

/// GB/s of a package.
fn by_package(model: &str) -> Option<f64> {
    let is_one = |names: &[Name]| names.iter().any(|name| name.is_of(model));
    BY_PACKAGE.iter().find(|(names, _)| is_one(names)).map(|(_, gigabytes)| *gigabytes)
}

/// GB/s of a package.
fn by_channels(model: &str) -> Option<f64> {
    // A space ends the number of a model at the end of the text.
    let spaced = format!("{} ", model.to_ascii_uppercase());
    let has = |number: &str| spaced.contains(&format!("{} ", number.to_ascii_uppercase()));
    let slower = SLOWER.iter().find(|(numbers, ..)| numbers.iter().any(|number| has(number)));
    let of_phi = || PHI_7210.is_of(model).then_some((6.0, 2133.0));
    let of_series = || {
        let row = PROCESSORS.iter().find(|(name, ..)| name.is_of(&spaced));
        row.map(|(_, channels, megatransfers)| (*channels, *megatransfers))
    };
    let slower = slower.map(|(_, channels, megatransfers)| (*channels, *megatransfers));
    let (channels, megatransfers) = slower.or_else(of_phi).or_else(of_series)?;
    Some(STREAM * channels * megatransfers * CHANNEL_BYTES / 1e3)
}

/// GB/s of a package.
fn of_kind(kind: &str, model: &str) -> f64 {
    match kind {
        "MCDRAM" | "HBM" if PHI_7210.is_of(model) => MCDRAM * 6.4 / 7.2,
        "MCDRAM" => MCDRAM,
        "HBM" if model.contains("Phi") => MCDRAM,
        // hwloc may call the only memory of A64FX and MI300A so.
        "HBM" => by_package(model).unwrap_or(XEON_MAX_HBM),
        "NVM" => PERSISTENT,
        _ => CXL,
    }
}
