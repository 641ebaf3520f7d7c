//! A tree of switches: `4x4:200Mbit/s`.

use std::fmt;
use std::str::FromStr;

use rankwright::units::BytesPerSecond;

use super::addresses::{MOST_NODES, padded};
use crate::rate::parse_rate;

/// What the tiers of switches below the spine are called, the lowest last.
const TIERS: [&str; 2] = ["pod", "leaf"];

/// A tree of switches with as many nodes at each of the lowest ones.
#[derive(Debug, Clone)]
pub struct Tiers {
    text: String,
    /// From the top down: how many switches are below each one; last how many nodes.
    widths: Vec<u32>,
    /// The rate of the uplinks of each tier below the spine; `None` where they are not shaped.
    uplinks: Vec<Option<BytesPerSecond>>,
}

/// A switch of the tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TreeSwitch {
    /// Its name, which is that of its bridge.
    pub(crate) name: String,
    /// The index of the switch above; `None` for the spine.
    pub(crate) parent: Option<usize>,
    /// The rate of the link to the switch above, each way, if it is limited.
    pub(crate) uplink: Option<BytesPerSecond>,
}

impl FromStr for Tiers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (shape, rates) = text.split_once(':').map_or((text, None), |(s, r)| (s, Some(r)));
        let width = |word: &str| word.trim().parse().ok().filter(|width| *width > 0);
        let widths: Option<Vec<u32>> = shape.split('x').map(width).collect();
        let expected = "expected switches x nodes like 4x4:200Mbit/s, or pods x leaves x nodes \
                        like 2x2x4:400Mbit/s,200Mbit/s";
        let widths = widths.filter(|widths| (2..=3).contains(&widths.len())).ok_or(expected)?;
        let nodes = widths.iter().try_fold(1_u32, |nodes, width| nodes.checked_mul(*width));
        if nodes.is_none_or(|nodes| nodes > MOST_NODES) {
            let nodes = nodes.map_or_else(|| "more".to_owned(), |nodes| nodes.to_string());
            return Err(format!("found {nodes} nodes, expected at most {MOST_NODES} in all"));
        }
        let tiers = widths.len() - 1;
        let uplinks = match rates {
            None => vec![None; tiers],
            Some(rates) => {
                let rates: Result<Vec<_>, _> = rates.split(',').map(parse_rate).collect();
                let rates: Vec<_> = rates?.into_iter().map(Some).collect();
                match rates[..] {
                    [rate] => vec![rate; tiers],
                    _ if rates.len() == tiers => rates,
                    _ => return Err(format!("found {} rates, {expected}", rates.len())),
                }
            }
        };
        Ok(Self { text: text.to_owned(), widths, uplinks })
    }
}

impl fmt::Display for Tiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Tiers {
    /// Number of nodes below the spine.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.widths.iter().product()
    }

    /// The switches, the spine first, then each tier in order.
    pub(crate) fn switches(&self) -> Vec<TreeSwitch> {
        let spine = TreeSwitch { name: "spine".to_owned(), parent: None, uplink: None };
        let mut switches = vec![spine];
        let (mut above, mut count) = (0, 1);
        let kinds = &TIERS[TIERS.len() - self.uplinks.len()..];
        for ((kind, width), uplink) in kinds.iter().zip(&self.widths).zip(&self.uplinks) {
            let below = count * width;
            for index in 0..below {
                let parent = Some(above + (index / width) as usize);
                switches.push(TreeSwitch {
                    name: padded(kind, index, below),
                    parent,
                    uplink: *uplink,
                });
            }
            (above, count) = (above + count as usize, below);
        }
        switches
    }

    /// How many nodes are at each of the lowest switches.
    pub(crate) fn nodes_per_leaf(&self) -> u32 {
        self.widths.last().copied().unwrap_or(1)
    }

    /// The index of the switch of a node among [`switches`](Self::switches).
    pub(crate) fn switch_of(&self, node: usize) -> usize {
        let leaves = (self.nodes() / self.nodes_per_leaf()) as usize;
        self.switches().len() - leaves + node / self.nodes_per_leaf() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parents(tiers: &Tiers) -> Vec<(String, Option<usize>)> {
        tiers.switches().into_iter().map(|switch| (switch.name, switch.parent)).collect()
    }

    #[test]
    fn leaves_hang_below_the_spine() {
        let tiers: Tiers = "2x4:200Mbit/s".parse().unwrap();
        assert_eq!((tiers.nodes(), tiers.to_string().as_str()), (8, "2x4:200Mbit/s"));
        let names = [("spine", None), ("leaf0", Some(0)), ("leaf1", Some(0))];
        assert_eq!(parents(&tiers), names.map(|(name, parent)| (name.to_owned(), parent)));
        assert_eq!(tiers.switches()[2].uplink, Some(BytesPerSecond(25e6)));
        assert_eq!([0, 3, 4, 7].map(|node| tiers.switch_of(node)), [1, 1, 2, 2]);
    }

    #[test]
    fn three_numbers_are_three_tiers() {
        let tiers: Tiers = "2x3x4:1Gbit/s,200 Mbit/s".parse().unwrap();
        let names: Vec<String> = parents(&tiers).into_iter().map(|(name, _)| name).collect();
        let expected = "spine pod0 pod1 leaf0 leaf1 leaf2 leaf3 leaf4 leaf5";
        assert_eq!(names.join(" "), expected);
        let switches = tiers.switches();
        assert_eq!([3, 5, 6].map(|leaf: usize| switches[leaf].parent), [Some(1), Some(1), Some(2)]);
        assert_eq!(switches[1].uplink, Some(BytesPerSecond(125e6)));
        assert_eq!(switches[8].uplink, Some(BytesPerSecond(25e6)));
        assert_eq!(tiers.switch_of(23), 8);
    }

    #[test]
    fn trees_that_cannot_be_are_refused() {
        for text in ["", "4", "x4", "0x4", "4x4x4x4", "4x4:", "4x4:fast", "4x4:1Gbit/s,1Gbit/s"] {
            assert!(text.parse::<Tiers>().is_err(), "{text}");
        }
        assert!("4x64".parse::<Tiers>().unwrap_err().contains("found 256 nodes"));
        assert!("99999x99999".parse::<Tiers>().unwrap_err().contains("at most 250"));
    }
}
