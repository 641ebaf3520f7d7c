//! The devices of a fabric and their links: a header line for each device, and a line for each of its
//! ports with a link.

use std::collections::BTreeMap;

use super::EXPECTED;
use crate::cluster::read::infiniband_rate::link_rate;
use crate::files::InputError;
use crate::units::BytesPerSecond;

/// A fabric: every link has both its ends.
#[derive(Debug, Default)]
pub(super) struct Fabric {
    /// In the order of the file.
    pub(super) devices: Vec<Device>,
    /// Position in `devices`, by id.
    by_id: BTreeMap<String, usize>,
}

/// A switch, channel adapter or router.
#[derive(Debug)]
pub(super) struct Device {
    /// `S-` or `H-` or `R-` and its GUID.
    pub(super) id: String,
    pub(super) kind: Kind,
    /// The node description, or the name in a node name map.
    pub(super) description: String,
    /// Line number of its header, from 1.
    pub(super) line: usize,
    /// By port number: the ports with a link.
    pub(super) ports: BTreeMap<u32, Port>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    Adapter,
    Router,
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Port {
    /// Id of the device at the other end.
    pub(super) peer: String,
    /// Port number at the other end.
    pub(super) peer_port: u32,
    /// Data rate each way, where known.
    pub(super) rate: Option<BytesPerSecond>,
    /// Line number, from 1.
    line: usize,
}

impl Fabric {
    /// The devices at the other ends of a device's links; positions in `devices`.
    pub(super) fn peers(&self, device: usize) -> impl Iterator<Item = usize> + '_ {
        self.devices[device].ports.values().map(|port| self.by_id[&port.peer])
    }

    /// All links between two switches, each once: positions of the switches, and the data rate.
    pub(super) fn trunks(
        &self,
    ) -> impl Iterator<Item = (usize, usize, Option<BytesPerSecond>)> + '_ {
        let switches = self.devices.iter().enumerate().filter(|(_, d)| d.kind == Kind::Switch);
        switches.flat_map(move |(index, device)| {
            let ends = device.ports.values().map(|port| (self.by_id[&port.peer], port.rate));
            let ends = ends
                .filter(move |(peer, _)| *peer > index && self.devices[*peer].kind == Kind::Switch);
            ends.map(move |(peer, rate)| (index, peer, rate))
        })
    }

    fn add(&mut self, header: Header<'_>, line: usize) -> usize {
        if let Some(&index) = self.by_id.get(header.id) {
            return index;
        }
        self.by_id.insert(header.id.to_owned(), self.devices.len());
        self.devices.push(Device {
            id: header.id.to_owned(),
            kind: header.kind,
            description: header.description.to_owned(),
            line,
            ports: BTreeMap::new(),
        });
        self.devices.len() - 1
    }
}

/// Reads all devices and checks that every link has both its ends.
pub(super) fn parse(text: &str, file: &str) -> Result<Fabric, InputError> {
    let mut fabric = Fabric::default();
    let mut open = None;
    // A node name map gives names at the other ends of links only.
    let mut mapped: BTreeMap<String, String> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |actual: String| InputError::new(file, actual, EXPECTED).at_line(index + 1);
        let line = line.trim();
        if is_ignored(line) {
            continue;
        }
        if line.starts_with('[') {
            let shown = || wrong(format!("the line `{}`", shortened(line)));
            let (number, description, mut port) = port(line).ok_or_else(shown)?;
            let device: usize = open.ok_or_else(|| wrong("a port before any device".to_owned()))?;
            port.line = index + 1;
            mapped.insert(port.peer.clone(), description.to_owned());
            let device = &mut fabric.devices[device];
            // With grouping (-g), switches of a chassis occur twice.
            let same = device.ports.entry(number).or_insert_with(|| port.clone());
            if (&same.peer, same.peer_port) != (&port.peer, port.peer_port) {
                return Err(wrong(format!("a second link at port {number} of {}", device.id)));
            }
        } else {
            let shown = || wrong(format!("the line `{}`", shortened(line)));
            open = Some(fabric.add(header(line).ok_or_else(shown)?, index + 1));
        }
    }
    for device in &mut fabric.devices {
        if let Some(name) = mapped.remove(&device.id) {
            device.description = name;
        }
    }
    check_ends(&fabric, file)?;
    Ok(fabric)
}

/// Whether a line has no device and no link: comments, vendor and product numbers, titles of groups,
/// and warnings of ibnetdiscover.
fn is_ignored(line: &str) -> bool {
    const STARTS: [&str; 11] = [
        "#",
        "vendid=",
        "devid=",
        "sysimgguid=",
        "switchguid=",
        "caguid=",
        "rtguid=",
        "Chassis ",
        "Non-Chassis Nodes",
        "Hostname:",
        "ibwarn:",
    ];
    line.is_empty() || STARTS.iter().any(|start| line.starts_with(start))
}

fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

struct Header<'a> {
    id: &'a str,
    kind: Kind,
    description: &'a str,
}

/// `Switch 36 "S-ec0d9a0300ec8240" # "leaf1" base port 0 lid 48 lmc 0`.
fn header(line: &str) -> Option<Header<'_>> {
    let (kind, rest) = line.split_once(char::is_whitespace)?;
    let kind = match kind {
        "Switch" => Kind::Switch,
        "Ca" => Kind::Adapter,
        "Rt" => Kind::Router,
        _ => return None,
    };
    let (ports, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    ports.parse::<u32>().ok()?;
    let (id, rest) = identity(rest)?;
    (kind_of(id)? == kind).then_some(())?;
    let (_, comment) = rest.split_once('#')?;
    Some(Header { id, kind, description: quoted(comment)?.0 })
}

/// `[1](100001) "S-0000000000200000"[1] # lid 0 lmc 0 "leaf0" lid 0 4xSDR`, with or without GUIDs and
/// numbers of external ports: port number, description of the other end, and the port.
fn port(line: &str) -> Option<(u32, &str, Port)> {
    let (number, rest) = bracketed(line)?;
    let rest = &rest[rest.find('"')?..];
    let (id, rest) = identity(rest)?;
    kind_of(id)?;
    let (peer_port, rest) = bracketed(rest)?;
    let (_, comment) = rest.split_once('#')?;
    let (description, rest) = quoted(comment)?;
    let mut words = rest.split_whitespace();
    // A line without the LID of the other end is cut off.
    (words.next()? == "lid").then_some(())?;
    words.next()?.parse::<u32>().ok()?;
    let rate = words.next().and_then(link_rate);
    Some((number, description, Port { peer: id.to_owned(), peer_port, rate, line: 0 }))
}

/// The number in brackets at the beginning of a text, and the rest of the text.
fn bracketed(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

/// The quoted id at the beginning of a text, and the rest of the text.
fn identity(text: &str) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix('"')?.split_once('"')
}

/// The text between the first and the last quote, and the rest of the text.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    let (inside, after) = rest.rsplit_once('"')?;
    Some((inside.trim(), after))
}

fn kind_of(id: &str) -> Option<Kind> {
    match id.split_once('-')?.0 {
        "S" => Some(Kind::Switch),
        "H" => Some(Kind::Adapter),
        "R" => Some(Kind::Router),
        _ => None,
    }
}

fn check_ends(fabric: &Fabric, file: &str) -> Result<(), InputError> {
    for device in &fabric.devices {
        for (number, port) in &device.ports {
            let near_end = format!("port {number} of {}", device.id);
            let far_end = format!("port {} of {}", port.peer_port, port.peer);
            let wrong = |actual: String, expected: &str| {
                Err(InputError::new(file, actual, expected).at_line(port.line))
            };
            if port.peer == device.id {
                let actual = format!("a link from {} to itself", device.id);
                return wrong(actual, "links between two devices (is a loopback plug in a port?)");
            }
            let Some(&peer) = fabric.by_id.get(&port.peer) else {
                let actual =
                    format!("{} at {near_end}, which has no section of its own", port.peer);
                return wrong(actual, "a section for each device; the file seems to be cut off");
            };
            match fabric.devices[peer].ports.get(&port.peer_port) {
                Some(back) if back.peer == device.id && back.peer_port == *number => {}
                Some(back) => {
                    let other = format!("port {} of {}", back.peer_port, back.peer);
                    let actual =
                        format!("a link from {near_end} to {far_end}, which leads to {other}");
                    return wrong(actual, "the same link at both ends");
                }
                None => {
                    let actual = format!("a link from {near_end} to {far_end}, which has none");
                    return wrong(actual, "both ends of each link; the file seems to be cut off");
                }
            }
        }
    }
    Ok(())
}
