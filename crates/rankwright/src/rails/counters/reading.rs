//! What the counters of a node's network devices say.

use serde::{Deserialize, Serialize};

/// The counters of a node, read at several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeReading {
    /// The node, as it names itself.
    pub host: String,
    /// The kernel's number of this boot; empty where it has none.
    #[serde(default)]
    pub boot: String,
    /// By ascending time; the first and the last bound an idle interval.
    pub samples: Vec<Sample>,
}

/// All devices of a node at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the node was started.
    pub uptime_s: f64,
    /// In alphabetical order.
    pub devices: Vec<DeviceSample>,
}

/// The counters of a device at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceSample {
    /// The name that libraries use.
    pub name: String,
    /// Further names of the same device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The interfaces below one without hardware of its own, such as a bond, a VLAN or a bridge. They
    /// count its bytes, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// Its driver; empty where the kernel names none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver: String,
    /// How its counters become its bytes.
    pub combined: Combination,
    /// Empty for a device without counters that are known.
    pub counters: Vec<Counter>,
}

/// How the counters of a device become its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Combination {
    /// Each counts other bytes.
    Sum,
    /// Each may count all bytes: the one that grew most does.
    Largest,
}

/// Bytes since the device was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// The files that were read.
    pub source: String,
    /// Bytes that left the node; `None` if unknown.
    pub out: Option<u64>,
    /// Bytes that came into the node; `None` if unknown.
    #[serde(rename = "in")]
    pub incoming: Option<u64>,
    /// Why bytes are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

impl DeviceSample {
    /// Whether this is one of its names.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// What was read, in a few words.
    #[must_use]
    pub fn source(&self) -> String {
        let sources: Vec<&str> = self.counters.iter().map(|c| c.source.as_str()).collect();
        match self.combined {
            Combination::Sum => sources.join(" + "),
            Combination::Largest => sources.join(" or "),
        }
    }
}

impl Sample {
    /// The device with one of these names.
    pub(super) fn device<'a>(
        &self,
        mut names: impl Iterator<Item = &'a str>,
    ) -> Option<&DeviceSample> {
        names.find_map(|name| self.devices.iter().find(|device| device.is_called(name)))
    }
}
