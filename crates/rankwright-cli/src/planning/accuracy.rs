//! The record of accuracy: what was predicted for runs on this account, beside what was measured. One line
//! of JSON per run, in the user's state folder. It is told on standard error only, so that results do not
//! depend on it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rankwright::files::{describe, write_atomically};
use rankwright::placement::{PREDICTED_RUN_TIME, PlacementFile};
use rankwright::statistics::median;
use rankwright::units::counted;
use serde::{Deserialize, Serialize};

use crate::host::user_folders;
use crate::options::site::Defaults;
use crate::output::{Verbosity, note, warn};

/// The version of the lines.
const VERSION: u32 = 1;

/// The file in the state folder, and the one that is locked while it is changed.
const FILE: &str = "rankwright/predictions.jsonl";
const LOCK: &str = "rankwright/predictions.lock";

/// Above this size the older half of the lines is removed; about 4000 runs.
const MOST_BYTES: u64 = 1 << 20;

/// How long a run waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was measured of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// The run time; of several runs the median.
    pub(crate) seconds: f64,
    /// The number of runs.
    pub(crate) runs: usize,
    /// Predicted and counted bytes out of all nodes, if they were counted.
    pub(crate) bytes: Option<[u64; 2]>,
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    version: u32,
    /// Seconds since 1970.
    time: u64,
    /// `sha256:...` of the cluster description.
    cluster: String,
    /// `sha256:...` of the workload.
    workload: String,
    strategy: String,
    ranks: usize,
    nodes: usize,
    runs: usize,
    predicted_s: Option<f64>,
    measured_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    predicted_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted_bytes: Option<u64>,
}

/// Whether runs are kept: not if the site or the environment says no. Without valid defaults the answer is
/// no, because the site may have meant that.
pub(crate) fn is_wanted() -> bool {
    Defaults::read().is_ok_and(|defaults| defaults.keeps_record())
}

/// Keeps a run that was predicted. A failure is a warning: the program has run.
///
/// One job of several is not kept: the predicted run time is that of all of them together.
pub(crate) fn keep(placement: &PlacementFile, measured: Measured, verbosity: &Verbosity) {
    let [job] = &placement.jobs[..] else { return };
    let predicted = placement.predicted.get(PREDICTED_RUN_TIME).copied();
    if predicted.is_none() && measured.bytes.is_none() {
        return;
    }
    let Some(folder) = user_folders::state() else { return };
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let line = Line {
        version: VERSION,
        time,
        cluster: placement.cluster.digest.clone(),
        workload: placement.workload_digest.clone(),
        strategy: placement.strategy.clone(),
        ranks: job.ranks.len(),
        nodes: placement.nodes.len(),
        runs: measured.runs,
        predicted_s: predicted,
        measured_s: measured.seconds,
        predicted_bytes: measured.bytes.map(|bytes| bytes[0]),
        counted_bytes: measured.bytes.map(|bytes| bytes[1]),
    };
    if let Err(error) = append(&folder, &line) {
        let file = folder.join(FILE);
        let text = format!(
            "{}: {}; this run is not in the record of accuracy (--no-record)",
            file.display(),
            describe(&error)
        );
        warn(verbosity, text);
    }
}

/// Tells how good the predictions on a cluster were, if there are any.
pub(crate) fn quote(cluster: &str, verbosity: &Verbosity) {
    let Some(file) = user_folders::state().map(|folder| folder.join(FILE)) else { return };
    let lines = match fs::read(&file) {
        Ok(bytes) => lines(&bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            warn(verbosity, format_args!("{}: {}", file.display(), describe(&error)));
            return;
        }
    };
    if let Some(first) = lines.damaged {
        let text = format!(
            "{}:{first}: found a damaged line or another version, expected version {VERSION} of a \
             prediction; such lines are left out; delete them",
            file.display()
        );
        warn(verbosity, text);
    }
    if let Some(text) = sentence(&lines.whole, cluster) {
        note(verbosity, text);
    }
}

/// `6 predictions on this cluster: 4 % median error`, and what the measured times have that the predicted
/// ones do not.
fn sentence(lines: &[Line], cluster: &str) -> Option<String> {
    let error = |line: &Line| {
        let predicted = line.predicted_s?;
        (line.measured_s > 0.0).then(|| (predicted - line.measured_s).abs() / line.measured_s)
    };
    let here = lines.iter().filter(|line| line.cluster == cluster);
    let errors: Vec<f64> = here.filter_map(error).collect();
    if errors.is_empty() {
        return None;
    }
    let count = counted(errors.len(), "prediction");
    Some(format!(
        "{count} on this cluster: {:.0} % median error, of runs with any arguments and mostly with the start \
         of the launcher",
        100.0 * median(&errors)
    ))
}

/// The lines of a file.
struct Lines {
    whole: Vec<Line>,
    /// The number of the first line that is none, from 1.
    damaged: Option<usize>,
}

fn lines(bytes: &[u8]) -> Lines {
    let mut lines = Lines { whole: Vec::new(), damaged: None };
    let texts = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    for (number, text) in texts.filter(|(_, text)| !text.is_empty()) {
        match serde_json::from_slice::<Line>(text) {
            Ok(line) if line.version == VERSION => lines.whole.push(line),
            Ok(_) | Err(_) => lines.damaged = lines.damaged.or(Some(number)),
        }
    }
    lines
}

/// Adds a line, alone among all runs of this account.
fn append(folder: &Path, line: &Line) -> io::Result<()> {
    let (path, lock) = (folder.join(FILE), folder.join(LOCK));
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    let lock = File::options().create(true).truncate(false).write(true).open(lock)?;
    let deadline = Instant::now() + PATIENCE;
    // Only a lock of another run goes away: file systems without locks say so at once.
    while let Err(error) = lock.try_lock() {
        if !matches!(error, TryLockError::WouldBlock) || Instant::now() >= deadline {
            return Err(error.into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    let mut file = File::options().create(true).read(true).append(true).open(&path)?;
    let size = file.metadata()?.len();
    let mut text = Vec::new();
    // A line that was cut off, by a full disk, must not swallow this one.
    if size > 0 && last_byte(&mut file)? != b'\n' {
        text.push(b'\n');
    }
    text.extend(serde_json::to_vec(line)?);
    text.push(b'\n');
    if size + text.len() as u64 > MOST_BYTES {
        let mut all = fs::read(&path)?;
        all.extend(text);
        return write_atomically(&path, newer_half(&all)).map_err(|error| error.why);
    }
    file.write_all(&text)
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0])
}

/// The lines of the second half.
fn newer_half(all: &[u8]) -> &[u8] {
    let half = all.len() / 2;
    let end_of_line = all[half..].iter().position(|byte| *byte == b'\n');
    end_of_line.map_or(&[][..], |at| &all[half + at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cluster: &str, predicted_s: Option<f64>, measured_s: f64) -> Line {
        Line {
            version: VERSION,
            time: 1,
            cluster: cluster.to_owned(),
            workload: "sha256:w".to_owned(),
            strategy: "blocked".to_owned(),
            ranks: 4,
            nodes: 2,
            runs: 1,
            predicted_s,
            measured_s,
            predicted_bytes: None,
            counted_bytes: None,
        }
    }

    #[test]
    fn the_median_is_over_predictions_on_the_same_cluster() {
        let all = [
            line("a", Some(1.0), 1.0),
            line("a", Some(1.1), 1.0),
            line("a", Some(4.0), 5.0),
            line("a", None, 5.0),
            line("b", Some(9.0), 1.0),
        ];
        let said = |cluster: &str| sentence(&all, cluster).unwrap();
        let expected =
            "3 predictions on this cluster: 10 % median error, of runs with any arguments";
        assert!(said("a").starts_with(expected), "{}", said("a"));
        assert!(said("b").starts_with("1 prediction on this cluster: 800 % median error, of"));
        assert_eq!(sentence(&all, "c"), None);
    }

    #[test]
    fn a_damaged_line_is_named_and_swallows_no_other() {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), &line("a", Some(1.0), 1.0)).unwrap();
        let path = folder.path().join(FILE);
        let mut cut = fs::read(&path).unwrap();
        cut.extend(b"{\"version\":1,\"ti");
        fs::write(&path, cut).unwrap();
        append(folder.path(), &line("b", Some(1.0), 1.0)).unwrap();
        let read = lines(&fs::read(&path).unwrap());
        assert_eq!(read.damaged, Some(2));
        let clusters: Vec<&str> = read.whole.iter().map(|line| line.cluster.as_str()).collect();
        assert_eq!(clusters, ["a", "b"]);
    }

    #[test]
    fn runs_that_end_at_once_lose_no_line() {
        let folder = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        append(folder.path(), &line("a", Some(1.0), 1.0)).unwrap();
                    }
                });
            }
        });
        let read = lines(&fs::read(folder.path().join(FILE)).unwrap());
        assert_eq!((read.whole.len(), read.damaged), (100, None));
    }

    #[test]
    fn the_file_keeps_its_newer_half() {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), &line("old", Some(1.0), 1.0)).unwrap();
        let path = folder.path().join(FILE);
        let one = fs::read(&path).unwrap();
        let many = usize::try_from(MOST_BYTES).unwrap() / one.len();
        fs::write(&path, one.repeat(many)).unwrap();
        append(folder.path(), &line("new", Some(1.0), 1.0)).unwrap();
        let read = lines(&fs::read(&path).unwrap());
        assert!((many / 2 - 2..many / 2 + 2).contains(&read.whole.len()), "{}", read.whole.len());
        assert_eq!((read.whole.last().unwrap().cluster.as_str(), read.damaged), ("new", None));
    }
}
