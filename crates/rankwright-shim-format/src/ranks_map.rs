//! `ranks.map`: where each rank of one job runs. A header line, then one line per rank, all padded
//! with blanks to one width, so that every rank finds its line with one read at a computed offset.
//! The format is described in `docs/src/formats.md`.
//!
//! ```text
//! rankwright-ranks-map format=3 ranks=2 width=69 emulated=no
//! 0 n0 0-1 preferred:0 bound mlx5_0/ib0@0000:41:00.0 OMP_NUM_THREADS=2
//! 1 n1 0-1 preferred:0 bound mlx5_0/ib0@0000:41:00.0 OMP_NUM_THREADS=2
//! ```

use std::ffi::OsString;
use std::fmt::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::str::FromStr;

use crate::escape::{escaped, unescaped};
use crate::pu_list;

/// The size of the header line in bytes, its line end included.
pub const HEADER_BYTES: usize = 128;

/// The version of the format.
pub const FORMAT: u32 = 3;

/// The syntax of a line, for messages.
pub const EXPECTED_LINE: &str = "HOST PUS MEMORY bound|unbound DEVICES [NAME=VALUE]...";

/// The first word of the header.
const TAG: &str = "rankwright-ranks-map";

/// The largest valid width of a line, in bytes.
const LARGEST_WIDTH: usize = 1 << 20;

/// The header line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Number of ranks.
    pub ranks: u32,
    /// Length of every line behind the header, in bytes, with the line end.
    pub width: usize,
    /// Whether the cluster is emulated: its PUs and devices do not exist.
    pub emulated: bool,
}

/// The line of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The rank within its job.
    pub rank: u32,
    /// The host name of its node.
    pub host: String,
    /// Its PUs, P#, ascending.
    pub pus: Vec<u32>,
    /// Its memory policy; `None` for the system's default.
    pub memory: Option<Memory>,
    /// Whether the rank is bound to the PUs.
    pub bound: bool,
    /// Its network devices and GPUs.
    pub devices: Vec<Device>,
    /// Variables for its program.
    pub variables: Vec<(String, OsString)>,
}

/// A network device or GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name, then its other names.
    pub names: Vec<String>,
    /// Its PCI address, where known.
    pub pci: Option<String>,
}

/// A memory policy: `preferred:0`, `bind:8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// How strictly the node is used.
    pub policy: Policy,
    /// The NUMA node, P#.
    pub node: u32,
}

/// How strictly a NUMA node is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Memory of that node, of other nodes when it is full.
    Preferred,
    /// Memory of that node only.
    Bind,
}

/// The whole map of one job.
#[must_use]
pub fn write(lines: impl Iterator<Item = Line>, emulated: bool) -> String {
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    let width = lines.iter().map(String::len).max().unwrap_or_default() + 1;
    let ranks = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let header = Header { ranks, width, emulated }.to_string();
    let mut text = format!("{header:<0$}\n", HEADER_BYTES - 1);
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line:<0$}", width - 1);
    }
    text
}

impl Header {
    /// Where the line of a rank begins, in bytes.
    #[must_use]
    pub fn line_start(&self, rank: u32) -> usize {
        HEADER_BYTES + rank as usize * self.width
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ranks, width, emulated } = self;
        let emulated = if *emulated { "yes" } else { "no" };
        write!(f, "{TAG} format={FORMAT} ranks={ranks} width={width} emulated={emulated}")
    }
}

impl FromStr for Header {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some(TAG) {
            return Err(());
        }
        let mut field = |name: &str| {
            let value = words.next().and_then(|word| word.strip_prefix(name));
            value.and_then(|value| value.strip_prefix('=')).ok_or(())
        };
        if field("format")?.parse() != Ok(FORMAT) {
            return Err(());
        }
        let ranks = field("ranks")?.parse().map_err(|_| ())?;
        let width: usize = field("width")?.parse().map_err(|_| ())?;
        let emulated = match field("emulated")? {
            "yes" => true,
            "no" => false,
            _ => return Err(()),
        };
        if !(1..=LARGEST_WIDTH).contains(&width) {
            return Err(());
        }
        Ok(Self { ranks, width, emulated })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = self.memory.map_or("-".to_owned(), |memory| memory.to_string());
        let bound = if self.bound { "bound" } else { "unbound" };
        let devices: Vec<String> = self.devices.iter().map(ToString::to_string).collect();
        let devices = if devices.is_empty() { "-".to_owned() } else { devices.join(",") };
        let pus = pu_list::format(&self.pus);
        write!(f, "{} {} {pus} {memory} {bound} {devices}", self.rank, self.host)?;
        for (name, value) in &self.variables {
            write!(f, " {name}={}", escaped(value.as_bytes(), b""))?;
        }
        Ok(())
    }
}

impl Line {
    /// Reads a line, with or without the blanks behind it; `None` if it is damaged.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let rank = words.next()?.parse().ok()?;
        let host = words.next()?.to_owned();
        let pus = pu_list::parse(words.next()?).filter(|pus| !pus.is_empty())?;
        let memory = match words.next()? {
            "-" => None,
            memory => Some(memory.parse().ok()?),
        };
        let bound = match words.next()? {
            "bound" => true,
            "unbound" => false,
            _ => return None,
        };
        let devices = match words.next()? {
            "-" => Vec::new(),
            devices => devices.split(',').map(device).collect::<Option<_>>()?,
        };
        let variables = words.map(variable).collect::<Option<_>>()?;
        Some(Self { rank, host, pus, memory, bound, devices, variables })
    }
}

impl fmt::Display for Device {
    /// `mlx5_0/ib0@0000:41:00.0`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |text: &String| escaped(text.as_bytes(), b",/@");
        let names: Vec<String> = self.names.iter().map(escaped).collect();
        f.write_str(&names.join("/"))?;
        self.pci.as_ref().map_or(Ok(()), |pci| write!(f, "@{}", escaped(pci)))
    }
}

/// `NAME[/NAME]...[@ADDRESS]`
fn device(word: &str) -> Option<Device> {
    let text = |word: &str| value(word)?.into_string().ok();
    let (names, pci) = match word.split_once('@') {
        Some((names, address)) => (names, Some(text(address)?)),
        None => (word, None),
    };
    Some(Device { names: names.split('/').map(text).collect::<Option<_>>()?, pci })
}

/// `NAME=VALUE`
fn variable(word: &str) -> Option<(String, OsString)> {
    let (name, text) = word.split_once('=').filter(|(name, _)| !name.is_empty())?;
    Some((name.to_owned(), value(text)?))
}

/// A value of a variable: bytes without a zero.
fn value(text: &str) -> Option<OsString> {
    unescaped(text).filter(|bytes| !bytes.contains(&0)).map(OsString::from_vec)
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = match self.policy {
            Policy::Preferred => "preferred",
            Policy::Bind => "bind",
        };
        write!(f, "{policy}:{}", self.node)
    }
}

impl FromStr for Memory {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (policy, node) = text.split_once(':').ok_or(())?;
        let policy = match policy {
            "preferred" => Policy::Preferred,
            "bind" => Policy::Bind,
            _ => return Err(()),
        };
        Ok(Self { policy, node: node.parse().map_err(|_| ())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_as_written() {
        let names = ["mlx5_0", "left, front"].map(str::to_owned).to_vec();
        let line = Line {
            rank: 7,
            host: "n0".to_owned(),
            pus: vec![10, 26],
            memory: Some(Memory { policy: Policy::Bind, node: 8 }),
            bound: true,
            devices: vec![Device { names, pci: Some("0000:41:00.0".to_owned()) }],
            variables: vec![("A".to_owned(), "100 % \u{e9}".into())],
        };
        let text = line.to_string();
        let devices = "mlx5_0/left%2C%20front@0000:41:00.0";
        assert_eq!(text, format!("7 n0 10,26 bind:8 bound {devices} A=100%20%25%20%C3%A9"));
        assert_eq!(Line::parse(&format!("{text}   \n")), Some(line.clone()));
        let plain = Line { memory: None, bound: false, devices: vec![], variables: vec![], ..line };
        assert_eq!(plain.to_string(), "7 n0 10,26 - unbound -");
        assert_eq!(Line::parse(&plain.to_string()), Some(plain));
    }

    #[test]
    fn headers_read_back_as_written_and_of_another_format_are_none() {
        let header = Header { ranks: 2, width: 69, emulated: true };
        assert_eq!(header.to_string().parse(), Ok(header));
        assert_eq!(header.line_start(1), HEADER_BYTES + 69);
        for (right, wrong) in [
            ("format=3", "format=4"),
            ("ranks=2", "ranks=-2"),
            ("width=69", "width=0"),
            ("width=69", "width=99999999999"),
            ("emulated=yes", "emulated=perhaps"),
            ("ranks-map", "map"),
        ] {
            let text = header.to_string().replace(right, wrong);
            assert_eq!(text.parse::<Header>(), Err(()), "{text}");
        }
    }

    #[test]
    fn damaged_lines_are_none() {
        for text in [
            "",
            "0 n0 0-1 - bound",
            "0 n0 0-1 - loosely -",
            "0 n0 1-0 - bound -",
            "0 n0 0-1 preferred:x bound -",
            "0 n0 0-1 possibly:0 bound -",
            "0 n0 0-1 - bound - A+1",
            "0 n0 0-1 - bound - A=%2x",
            "0 n0 0-1 - bound - A=%00",
            "0 n0 0-1 - bound port%2xA",
        ] {
            assert_eq!(Line::parse(text), None, "{text}");
        }
    }
}
