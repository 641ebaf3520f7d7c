//! The policies that select network devices, and how users name them.

use std::fmt;
use std::str::FromStr;

use crate::named_options::{NamedOption, NamedOptions, one_of};

/// A row of [`SELECTIONS`].
#[derive(Debug)]
pub struct SelectionEntry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    pub(super) policy: Policy,
    /// The options it takes beside `devices`.
    pub options: &'static [&'static str],
}

/// The selections that users can name.
pub const SELECTIONS: [SelectionEntry; 8] = [
    SelectionEntry {
        name: "by-load",
        summary: "so that the busiest device is least busy, by the traffic between nodes",
        policy: Policy::ByLoad,
        options: &[],
    },
    SelectionEntry {
        name: "device-affinity",
        summary: "the least used device beside the rank's cores, else the nearest one",
        policy: Policy::DeviceAffinity,
        options: &["unit", "rails"],
    },
    SelectionEntry {
        name: "paper-2017",
        summary: "the algorithms of Ganapathi et al. 2017 as they are printed",
        policy: Policy::Paper2017,
        options: &["unit", "rails"],
    },
    SelectionEntry {
        name: "round-robin",
        summary: "in turn among the devices beside the rank's NUMA node, else among all",
        policy: Policy::RoundRobin,
        options: &[],
    },
    SelectionEntry {
        name: "packed",
        summary: "fill the contexts of the first device, then those of the next",
        policy: Policy::Packed,
        options: &[],
    },
    SelectionEntry {
        name: "round-robin-all",
        summary: "in turn among all devices of the node",
        policy: Policy::RoundRobinAll,
        options: &[],
    },
    SelectionEntry {
        name: "psm2-default",
        summary: "what PSM2 did before 2017: the device with most free contexts, wherever it is",
        policy: Policy::Psm2Default,
        options: &[],
    },
    SelectionEntry {
        name: "none",
        summary: "leave the choice to the library",
        policy: Policy::None,
        options: &[],
    },
];

/// How devices are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// [`super::by_load`].
    ByLoad,
    /// Our version of the algorithms of Ganapathi et al. 2017.
    DeviceAffinity,
    /// These algorithms as printed.
    Paper2017,
    /// [`super::psm2_modes`], as the next three.
    RoundRobin,
    Packed,
    RoundRobinAll,
    Psm2Default,
    /// The library's default.
    None,
}

/// How many devices a rank uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rails {
    /// One.
    #[default]
    One,
    /// All beside its NUMA node.
    Near,
    /// All of its node.
    All,
}

/// A selection with its options, as users write it: `device-affinity:rails=near`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub(super) policy: Policy,
    /// The unit that the user wants: the number at the end of the device's name.
    pub unit: Option<u32>,
    /// How many devices each rank uses.
    pub rails: Rails,
    /// The only devices that may be used, by name; empty for those of the best kind.
    pub devices: Vec<String>,
}

/// What is wrong with the text of a selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`, expected {expected}")]
pub struct SelectionParseError {
    /// The offending part.
    pub found: String,
    /// What could stand there.
    pub expected: String,
}

impl Selection {
    /// The library's default.
    pub const NONE: Self =
        Self { policy: Policy::None, unit: None, rails: Rails::One, devices: Vec::new() };

    /// Whether it is `by-load`: then a search can choose devices together with slots.
    #[must_use]
    pub(crate) fn is_by_load(&self) -> bool {
        self.policy == Policy::ByLoad
    }

    /// Whether it is the library's default.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.policy == Policy::None
    }
}

impl FromStr for Selection {
    type Err = SelectionParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = NamedOptions::new(text);
        let wrong = |found: &str, expected: String| SelectionParseError {
            found: found.to_owned(),
            expected,
        };
        let entry = SELECTIONS.iter().find(|entry| entry.name == named.name);
        let entry = entry
            .ok_or_else(|| wrong(named.name, one_of(SELECTIONS.iter().map(|entry| entry.name))))?;
        let mut selection = Self { policy: entry.policy, ..Self::NONE };
        for NamedOption { text: option, key: name, value } in named.options() {
            let value = value.unwrap_or_default();
            if name != "devices" && !entry.options.contains(&name) {
                let options: Vec<&str> = entry.options.iter().copied().chain(["devices"]).collect();
                let expected = format!("an option of {}: {}", entry.name, options.join(", "));
                return Err(wrong(option, expected));
            }
            match name {
                "unit" => {
                    let unit = value.parse();
                    selection.unit =
                        Some(unit.map_err(|_| wrong(option, "unit=0, unit=1, ..".to_owned()))?);
                }
                "rails" => {
                    selection.rails = match value {
                        "one" => Rails::One,
                        "near" => Rails::Near,
                        "all" => Rails::All,
                        _ => return Err(wrong(option, "rails=one, near or all".to_owned())),
                    }
                }
                _ if value.split('+').any(str::is_empty) => {
                    return Err(wrong(option, "devices=NAME or devices=NAME+NAME".to_owned()));
                }
                _ => selection.devices = value.split('+').map(str::to_owned).collect(),
            }
        }
        Ok(selection)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = SELECTIONS.iter().find(|entry| entry.policy == self.policy);
        f.write_str(entry.map_or("none", |entry| entry.name))?;
        let mut options = Vec::new();
        options.extend(self.unit.map(|unit| format!("unit={unit}")));
        match self.rails {
            Rails::One => {}
            Rails::Near => options.push("rails=near".to_owned()),
            Rails::All => options.push("rails=all".to_owned()),
        }
        if !self.devices.is_empty() {
            options.push(format!("devices={}", self.devices.join("+")));
        }
        if options.is_empty() { Ok(()) } else { write!(f, ":{}", options.join(",")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in [
            "by-load",
            "none",
            "device-affinity:unit=0",
            "paper-2017:rails=near",
            "device-affinity:rails=all,devices=mlx5_0+mlx5_2",
        ] {
            assert_eq!(text.parse::<Selection>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_known() {
        for (text, wanted) in [
            ("nearest", "found `nearest`, expected one of by-load, device-affinity, paper-2017, "),
            ("packed:unit=1", "found `unit=1`, expected an option of packed: devices"),
            ("paper-2017:rails=2", "found `rails=2`, expected rails=one, near or all"),
            ("by-load:devices=", "found `devices=`, expected devices=NAME"),
            ("paper-2017:unit=x", "found `unit=x`, expected unit=0, unit=1, .."),
        ] {
            let error = text.parse::<Selection>().expect_err(text).to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
