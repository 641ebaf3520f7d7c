//! Reads one rank's line of a `ranks.map`, which the library writes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rankwright_shim_format::devices::NotSeen;
use rankwright_shim_format::ranks_map::{EXPECTED_LINE, HEADER_BYTES, Header, Line};

use crate::failure::Failure;

/// The size of the first read, which covers the whole file of a small job.
const FIRST_READ: usize = 4096;

/// The line of one rank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) line: Line,
    /// Whether the PUs and devices do not really exist.
    pub(crate) emulated: bool,
}

impl Entry {
    /// Those of its devices that are not in `sys`, the `/sys` of this host.
    pub(crate) fn devices_not_seen(&self, sys: &Path) -> NotSeen {
        let devices = self.line.devices.iter().filter(|_| !self.emulated);
        NotSeen::of(
            devices.map(|device| {
                (device.pci.as_deref(), device.names.iter().map(String::as_str).collect())
            }),
            sys,
        )
    }
}

/// Reads the line of `rank`.
///
/// # Errors
/// If the file cannot be read, is not a map of this version, or does not have the rank.
pub(crate) fn read(path: &Path, rank: u32) -> Result<Entry, Failure> {
    let name = path.display();
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::ours(format!(
            "{name}: {error}; put the map into a folder that every host of the job can read"
        ))
    };
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut start = vec![0; FIRST_READ];
    let filled = read_up_to(&file, &mut start, 0).map_err(|error| unreadable(&error))?;
    start.truncate(filled);
    let header = header(&start).ok_or_else(|| {
        Failure::ours(format!(
            "{name}: no header of a ranks.map of format 3; write the file again with the \
             `rankwright` that belongs to this rankwright-exec"
        ))
    })?;
    if rank >= header.ranks {
        let (ranks, last) = (header.ranks, header.ranks.saturating_sub(1));
        return Err(Failure::ours(format!(
            "this is rank {rank}, but {name} has {ranks} ranks (0 to {last}): start {ranks} \
             processes"
        )));
    }
    let from = header.line_start(rank);
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
    let emulated = header.emulated;
    parse_line(&text, rank).map(|line| Entry { line, emulated }).ok_or_else(|| {
        let line = u64::from(rank) + 2;
        let shown = String::from_utf8_lossy(&text);
        let shown = shown.trim();
        Failure::ours(format!(
            "{name}:{line}: found `{shown}`, expected `{rank} {EXPECTED_LINE}` in {} bytes: the file \
             is damaged or of another version",
            header.width
        ))
    })
}

fn header(start: &[u8]) -> Option<Header> {
    let (line_end, text) = start.get(..HEADER_BYTES)?.split_last()?;
    std::str::from_utf8(text).ok().filter(|_| *line_end == b'\n')?.parse().ok()
}

fn parse_line(text: &[u8], rank: u32) -> Option<Line> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('\n')?;
    Line::parse(text).filter(|line| line.rank == rank)
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
    use std::ffi::OsString;
    use std::io::Write;

    use rankwright::placement::ranks_map::ranks_map;
    use rankwright::placement::{PlacementFile, Settings};
    use rankwright_shim_format::ranks_map::{Device, Memory, Policy};

    use super::*;

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

    fn read_text(text: &[u8], rank: u32) -> Result<Entry, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        read(file.path(), rank).map_err(|failure| failure.text)
    }

    #[test]
    fn every_rank_finds_the_line_that_the_library_wrote() {
        let text = map(1000);
        for rank in [0, 1, 2, 99, 100, 500, 999] {
            let Entry { line, emulated } = read_text(text.as_bytes(), rank).unwrap();
            assert_eq!(line.host, format!("n{}", rank % 3));
            assert_eq!(line.pus, [rank * 7 % 100]);
            let preferred = Memory { policy: Policy::Preferred, node: 4 };
            assert_eq!(line.memory, (rank % 2 == 0).then_some(preferred));
            let selection = ("SELECTION".to_owned(), OsString::from("100 % \u{e9}"));
            assert_eq!(line.variables, Vec::from_iter((rank == 2).then_some(selection)));
            let names = ["mlx5_0", "port A"].map(str::to_owned).to_vec();
            assert_eq!(line.devices, [Device { names, pci: Some("0000:99:00.0".to_owned()) }]);
            assert!(emulated && !line.bound);
        }
        let error = read_text(text.as_bytes(), 1000).unwrap_err();
        assert!(error.contains("this is rank 1000") && error.contains("1000 ranks (0 to 999)"));
    }

    #[test]
    fn damaged_maps_are_errors() {
        let text = map(8);
        assert!(read_text(b"", 0).unwrap_err().contains("no header"));
        assert!(read_text(b"rank 0=n0 slot=0\n", 0).unwrap_err().contains("no header"));
        let newer = text.replace("format=3", "format=4");
        assert!(read_text(newer.as_bytes(), 0).unwrap_err().contains("no header"));
        let huge = text.replace("width=", "width=99999999999");
        assert!(read_text(huge.as_bytes(), 0).unwrap_err().contains("no header"));
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
