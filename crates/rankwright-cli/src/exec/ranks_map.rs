//! Reading one rank's line of a `ranks.map`; the library writes it.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::device_presence::NotSeen;
use crate::failure::Failure;
use crate::memory::Memory;
use crate::pu_list;

/// The size of the header line, its line end included.
const HEADER_BYTES: usize = 128;

/// The first read: the whole file of a small job.
const FIRST_READ: usize = 4096;

/// No line of ours is longer; a larger width is a damaged file.
const LARGEST_WIDTH: usize = 1 << 20;

/// What the map says of one rank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The host name of its node.
    pub(crate) host: String,
    /// Its PUs, P#, ascending.
    pub(crate) pus: Vec<u32>,
    /// Where it takes memory from; `None` leaves that to the system.
    pub(crate) memory: Option<Memory>,
    /// Whether the PUs are its own.
    pub(crate) bound: bool,
    /// Whether the PUs and devices do not really exist.
    pub(crate) emulated: bool,
    /// Its network devices and GPUs.
    pub(crate) devices: Vec<Device>,
    /// Variables for its program.
    pub(crate) variables: Vec<(String, OsString)>,
}

/// A network device or GPU.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// Its name, then its other names.
    names: Vec<String>,
    pci: Option<String>,
}

impl Line {
    /// Its devices that are not seen in `sys`, the `/sys` of this host.
    pub(crate) fn devices_not_seen(&self, sys: &Path) -> NotSeen {
        let devices = self.devices.iter().filter(|_| !self.emulated);
        NotSeen::of(
            devices.map(|one| (one.pci.as_deref(), one.names.iter().map(String::as_str).collect())),
            sys,
        )
    }
}

/// Reads the line of `rank`.
///
/// # Errors
/// If the file cannot be read, is no map of this version, or has no such rank.
pub(crate) fn read(path: &Path, rank: u32) -> Result<Line, Failure> {
    let name = path.display();
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::ours(format!(
            "{name}: {error}; the map must lie where every host of the job can read it"
        ))
    };
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut start = vec![0; FIRST_READ];
    let filled = read_up_to(&file, &mut start, 0).map_err(|error| unreadable(&error))?;
    start.truncate(filled);
    let header = Header::parse(&start).ok_or_else(|| {
        Failure::ours(format!(
            "{name}: found no header of a ranks.map of format 3; write it again with the \
             `rankwright` that belongs to this rankwright-exec"
        ))
    })?;
    if rank >= header.ranks {
        let (ranks, last) = (header.ranks, header.ranks.saturating_sub(1));
        return Err(Failure::ours(format!(
            "this is rank {rank}, but {name} has {ranks} ranks (0 to {last}): start as many \
             processes as were placed"
        )));
    }
    let from = HEADER_BYTES + rank as usize * header.width;
    let text = match start.get(from..from + header.width) {
        Some(text) => text.to_vec(),
        None => {
            let mut line = vec![0; header.width];
            let filled =
                read_up_to(&file, &mut line, from as u64).map_err(|error| unreadable(&error))?;
            line.truncate(filled);
            line
        }
    };
    parse_line(&text, rank, header.emulated).ok_or_else(|| {
        let line = u64::from(rank) + 2;
        let found = String::from_utf8_lossy(&text);
        let found = found.trim();
        Failure::ours(format!(
            "{name}:{line}: found `{found}`, expected `{rank} HOST PUS MEMORY bound|unbound \
             DEVICES [NAME=VALUE]...` in {} bytes: the file is damaged or of another version",
            header.width
        ))
    })
}

struct Header {
    ranks: u32,
    width: usize,
    emulated: bool,
}

impl Header {
    fn parse(start: &[u8]) -> Option<Self> {
        let (line_end, text) = start.get(..HEADER_BYTES)?.split_last()?;
        let text = std::str::from_utf8(text).ok().filter(|_| *line_end == b'\n')?;
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some("rankwright-ranks-map") || words.next() != Some("format=3") {
            return None;
        }
        let ranks = words.next()?.strip_prefix("ranks=")?.parse().ok()?;
        let width: usize = words.next()?.strip_prefix("width=")?.parse().ok()?;
        let emulated = match words.next()?.strip_prefix("emulated=")? {
            "yes" => true,
            "no" => false,
            _ => return None,
        };
        (1..=LARGEST_WIDTH).contains(&width).then_some(Self { ranks, width, emulated })
    }
}

fn parse_line(text: &[u8], rank: u32, emulated: bool) -> Option<Line> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('\n')?;
    let mut words = text.split_ascii_whitespace();
    if words.next()? != rank.to_string() {
        return None;
    }
    let host = words.next()?.to_owned();
    let pus = pu_list::parse(words.next()?)?;
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
    let line = Line { host, pus, memory, bound, emulated, devices, variables };
    (!line.pus.is_empty()).then_some(line)
}

/// `NAME[/NAME]...[@ADDRESS]`
fn device(word: &str) -> Option<Device> {
    let text = |word: &str| unescaped(word)?.into_string().ok();
    let (names, pci) = match word.split_once('@') {
        Some((names, address)) => (names, Some(text(address)?)),
        None => (word, None),
    };
    Some(Device { names: names.split('/').map(text).collect::<Option<_>>()?, pci })
}

/// `NAME=VALUE`, with `%20` for a blank in the value.
fn variable(word: &str) -> Option<(String, OsString)> {
    let (name, value) = word.split_once('=').filter(|(name, _)| !name.is_empty())?;
    Some((name.to_owned(), unescaped(value)?))
}

/// A text with `%20` for a blank.
fn unescaped(text: &str) -> Option<OsString> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok().filter(|byte| *byte != 0)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(OsString::from_vec(bytes))
}

/// Reads until the buffer is full or the file ends; the number of bytes read.
fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rankwright::placement::ranks_map::ranks_map;
    use rankwright::placement::{PlacementFile, Settings};

    use super::*;
    use crate::memory::Policy;

    /// A map of `ranks` ranks as the library writes it: rank r on host n(r % 3), PU P#(7r % 100).
    fn map(ranks: usize) -> String {
        let entries: Vec<String> = (0..ranks)
            .map(|rank| {
                format!(
                    r#"{{"rank": {rank}, "node": "n{}", "cores": [0], "pus": [{}],
                       "nics": ["port A"], "numa": {}, "bound": {}}}"#,
                    rank % 3,
                    rank * 7 % 100,
                    if rank % 2 == 0 { "0" } else { "null" },
                    rank % 5 != 0
                )
            })
            .collect();
        let nics = r#"[{"name": "mlx5_0", "aliases": ["port A"], "pci": "0000:99:00.0"}]"#;
        let node = |index| {
            format!(
                r#"{{"name": "n{index}", "cores": 9, "pus": 9, "numa_os": [4], "nics": {nics}}}"#
            )
        };
        let text = format!(
            r#"{{"format": 1, "strategy": "s", "workload_digest": "", "predicted": {{}},
               "cluster": {{"name": "c", "digest": "", "emulated": true}},
               "nodes": [{}, {}, {}], "jobs": [{{"name": "j", "ranks": [{}]}}]}}"#,
            node(0),
            node(1),
            node(2),
            entries.join(",").replace("\"bound\": true", "\"bound\": false")
        );
        let placement = PlacementFile::parse(&text, "test").expect("it is a placement");
        let mut settings = Settings::NOTHING;
        settings.set(2, "SELECTION", "100 % \u{e9}");
        ranks_map(&placement, &placement.jobs[0], &settings)
    }

    fn read_text(text: &[u8], rank: u32) -> Result<Line, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        read(file.path(), rank).map_err(|failure| failure.text)
    }

    #[test]
    fn every_rank_finds_the_line_that_the_library_wrote() {
        let text = map(1000);
        for rank in [0, 1, 2, 99, 100, 500, 999] {
            let line = read_text(text.as_bytes(), rank).unwrap();
            assert_eq!(line.host, format!("n{}", rank % 3));
            assert_eq!(line.pus, [rank * 7 % 100]);
            let preferred = Memory { policy: Policy::Preferred, node: 4 };
            assert_eq!(line.memory, (rank % 2 == 0).then_some(preferred));
            let selection = ("SELECTION".to_owned(), OsString::from("100 % \u{e9}"));
            assert_eq!(line.variables, Vec::from_iter((rank == 2).then_some(selection)));
            let names = ["mlx5_0", "port A"].map(str::to_owned).to_vec();
            assert_eq!(line.devices, [Device { names, pci: Some("0000:99:00.0".to_owned()) }]);
            assert!(line.emulated && !line.bound);
        }
        let error = read_text(text.as_bytes(), 1000).unwrap_err();
        assert!(error.contains("this is rank 1000") && error.contains("1000 ranks (0 to 999)"));
    }

    #[test]
    fn damaged_maps_are_errors() {
        let text = map(8);
        assert!(read_text(b"", 0).unwrap_err().contains("found no header"));
        assert!(read_text(b"rank 0=n0 slot=0\n", 0).unwrap_err().contains("found no header"));
        let newer = text.replace("format=3", "format=4");
        assert!(read_text(newer.as_bytes(), 0).unwrap_err().contains("found no header"));
        let huge = text.replace("width=", "width=99999999999");
        assert!(read_text(huge.as_bytes(), 0).unwrap_err().contains("found no header"));
        let cut = &text.as_bytes()[..text.len() - 3];
        assert!(read_text(cut, 7).unwrap_err().contains(":9: found `7 n1"));
        assert!(read_text(&cut[..150], 7).unwrap_err().contains(":9: found ``"));
        for (right, wrong, rank) in [
            ("unbound", "loosely", 3),
            ("preferred:4", "preferred:x", 4),
            ("preferred:4", "possibly:04", 4),
            ("=100%20%25", "=100%2x%25", 2),
            ("SELECTION=", "SELECTION+", 2),
            ("port%20A", "port%2xA", 2),
        ] {
            let text = text.replace(right, wrong);
            let error = read_text(text.as_bytes(), rank).unwrap_err();
            assert!(error.contains(&format!(":{}: found `{rank} n", rank + 2)), "{wrong}: {error}");
        }
    }
}
