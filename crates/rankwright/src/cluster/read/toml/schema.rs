//! The tables of `cluster.toml` as written. Values keep their position in the file, so that errors
//! about their meaning can name the line.

use std::fmt;

use ::toml::Spanned;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A text with its position in the file.
pub(super) type Text = Spanned<String>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) format: Option<Spanned<u32>>,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) emulated: bool,
    pub(super) rates: Option<Spanned<RatesField>>,
    #[serde(default)]
    pub(super) node: Vec<Spanned<Node>>,
    #[serde(default)]
    pub(super) switch: Vec<Spanned<Switch>>,
}

/// `[[node]]`: nodes of one type.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    pub(super) names: Text,
    pub(super) processor: Option<String>,
    pub(super) topology: Option<Text>,
    pub(super) xml: Option<Text>,
    pub(super) cores: Option<Spanned<Vec<Text>>>,
    pub(super) cache_level: Option<Spanned<u8>>,
    pub(super) free: Option<Text>,
    pub(super) memory: Option<Text>,
    pub(super) speed: Option<Spanned<f64>>,
    pub(super) numa_distance: Option<Spanned<Vec<Vec<u32>>>>,
    pub(super) numa: Option<Spanned<Vec<Numa>>>,
    #[serde(default)]
    pub(super) nic: Vec<Nic>,
    #[serde(default)]
    pub(super) gpu: Vec<Gpu>,
}

/// `[[node.numa]]`: a NUMA node, in L# order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numa {
    pub(super) os_index: Option<u32>,
    pub(super) memory: Option<Text>,
    pub(super) package: Option<Spanned<usize>>,
    pub(super) package_numa_nodes: Option<Spanned<u32>>,
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) access: Vec<Spanned<Access>>,
}

/// `[[node.numa.access]]`: bandwidth and latency of a NUMA node for a set of cores.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Access {
    pub(super) cores: Option<Text>,
    pub(super) bandwidth: Option<Text>,
    pub(super) latency: Option<Text>,
}

/// `[[node.nic]]`: a network device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nic {
    pub(super) name: Text,
    pub(super) aliases: Option<Vec<String>>,
    pub(super) near: Option<Text>,
    pub(super) bandwidth: Option<Text>,
    pub(super) latency: Option<Text>,
    pub(super) contexts: Option<Spanned<u32>>,
    pub(super) pci: Option<Text>,
    pub(super) pci_id: Option<Text>,
    pub(super) pci_bandwidth: Option<Text>,
    pub(super) rail: Option<u32>,
    pub(super) mpi: Option<bool>,
    #[serde(default)]
    pub(super) port: Vec<Port>,
}

/// `[[node.nic.port]]`: a port of a network device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Port {
    pub(super) number: Spanned<u32>,
    pub(super) link: Option<Text>,
    pub(super) bandwidth: Option<Text>,
}

/// `[[node.gpu]]`: a GPU.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gpu {
    pub(super) name: Text,
    pub(super) near: Option<Text>,
    pub(super) pci: Option<Text>,
    pub(super) vendor: Option<Text>,
}

/// `[[switch]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Switch {
    pub(super) name: Text,
    pub(super) nodes: Option<Text>,
    pub(super) switches: Option<Text>,
    pub(super) uplink: Option<Text>,
}

/// `rates = "typical"` or `[rates]`.
#[derive(Debug)]
pub(super) enum RatesField {
    Name(String),
    Table(Box<RatesTable>),
}

/// `[rates]`; missing fields are those of its base.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RatesTable {
    pub(super) name: Option<String>,
    pub(super) base: Option<Text>,
    #[serde(default)]
    pub(super) calibrated: bool,
    pub(super) nic_bandwidth: Option<Text>,
    pub(super) nic_latency: Option<Text>,
    pub(super) memory_bandwidth: Option<Text>,
    pub(super) remote_memory_factor: Option<Spanned<f64>>,
    pub(super) memory_copies: Option<Spanned<u32>>,
    pub(super) cache_bandwidth: Option<Text>,
    pub(super) cache_limit: Option<Text>,
    pub(super) memory_accesses: Option<Text>,
    pub(super) memory_access_length: Option<Text>,
    pub(super) queue_pair: Option<Spanned<Vec<(Text, Text)>>>,
    pub(super) processing: Option<Spanned<Vec<(Text, Text)>>>,
    pub(super) inter_socket: Option<Spanned<Vec<(Text, Text)>>>,
    pub(super) calibration: Option<CalibrationTable>,
}

/// `[rates.calibration]`: what `rankwright calibrate` measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalibrationTable {
    pub(super) date: String,
    pub(super) mpi: Option<String>,
    #[serde(default)]
    pub(super) pairs: Vec<(Spanned<u32>, Text)>,
    #[serde(default)]
    pub(super) pairs_both_ways: Vec<(Spanned<u32>, Text)>,
    pub(super) wire_per_byte: Option<Spanned<f64>>,
    pub(super) wire_per_message: Option<Text>,
    #[serde(default)]
    pub(super) device: Vec<Device>,
    #[serde(default)]
    pub(super) messages: Vec<Messages>,
    #[serde(default)]
    pub(super) measured: Vec<(String, Spanned<f64>, Spanned<u32>)>,
}

/// `[[rates.calibration.device]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Device {
    pub(super) names: Vec<String>,
    pub(super) bandwidth: Text,
    pub(super) latency: Text,
    pub(super) far_bandwidth: Option<Text>,
    pub(super) far_latency: Option<Text>,
}

/// `[[rates.calibration.messages]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Messages {
    pub(super) level: Text,
    pub(super) latency: Text,
    pub(super) send_overhead: Option<Text>,
    pub(super) receive_overhead: Option<Text>,
    pub(super) gap: Option<Text>,
    pub(super) bandwidth: Option<Text>,
    pub(super) eager_limit: Option<Text>,
}

impl<'de> Deserialize<'de> for RatesField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = RatesField;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&super::rates::expected())
            }

            fn visit_str<E>(self, name: &str) -> Result<RatesField, E> {
                Ok(RatesField::Name(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RatesField, A::Error> {
                let table = RatesTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(RatesField::Table(Box::new(table)))
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}
