//! The record of accuracy: what was predicted for runs on this account, beside what was measured. One line
//! of JSON per run, in the user's state folder. It is told on standard error only, so that results do not
//! depend on it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rankwright::files::{describe, write_atomically};
use rankwright::placement::{PREDICTED_RUN_TIME, PlacementFile, digest};
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

/// Seconds: of runs that take less, the start of a launcher (about half a second) is a tenth or more.
pub(crate) const SHORT: f64 = 5.0;

/// What was measured of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured<'a> {
    /// The program and its arguments, or those of several programs.
    pub(crate) program: &'a [String],
    /// The run time; of several runs the median.
    pub(crate) seconds: f64,
    /// Whether the run time has the start of the launcher, which no prediction has.
    pub(crate) with_start: bool,
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
    /// `sha256:...` of the words of the program line; a run of an earlier version has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<String>,
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
pub(crate) fn keep(placement: &PlacementFile, measured: Measured<'_>, verbosity: &Verbosity) {
    let Some(line) = line_of(placement, measured) else { return };
    let Some(folder) = user_folders::state() else { return };
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

/// The line of a run; `None` if nothing was predicted that was measured.
///
/// One job of several has none: the predicted run time is that of all of them together. The run time of a run
/// that is short beside the start of the launcher is not compared: no prediction has that start.
fn line_of(placement: &PlacementFile, measured: Measured<'_>) -> Option<Line> {
    let [job] = &placement.jobs[..] else { return None };
    let is_comparable = !measured.with_start || measured.seconds >= SHORT;
    let predicted = placement.predicted.get(PREDICTED_RUN_TIME).copied();
    let predicted = predicted.filter(|_| is_comparable);
    if predicted.is_none() && measured.bytes.is_none() {
        return None;
    }
    Some(Line {
        version: VERSION,
        time: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        cluster: placement.cluster.digest.clone(),
        workload: placement.workload_digest.clone(),
        program: Some(digest(&measured.program)),
        strategy: placement.strategy.clone(),
        ranks: job.ranks.len(),
        nodes: placement.nodes.len(),
        runs: measured.runs,
        predicted_s: predicted,
        measured_s: measured.seconds,
        predicted_bytes: measured.bytes.map(|bytes| bytes[0]),
        counted_bytes: measured.bytes.map(|bytes| bytes[1]),
    })
}

/// Tells how good the predictions on the cluster of a placement were, if there are any: those for a program with
/// its arguments, if it is known.
pub(crate) fn quote(placement: &PlacementFile, program: &[String], verbosity: &Verbosity) {
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
    let asked = Asked {
        cluster: &placement.cluster.digest,
        workload: &placement.workload_digest,
        program: (!program.is_empty()).then(|| digest(&program)),
    };
    if let Some(text) = sentence(&lines.whole, &asked) {
        note(verbosity, text);
    }
}

/// What predictions are looked for.
struct Asked<'a> {
    cluster: &'a str,
    workload: &'a str,
    /// `None` for those of any program.
    program: Option<String>,
}

impl Asked<'_> {
    /// Whether a line counts. One workload may have been run with several program lines, of which all but one
    /// do something else than was predicted; which one is told by the user only.
    fn has(&self, line: &Line, all: &[Line]) -> bool {
        let is_alone = || {
            let of_workload = |other: &&Line| other.workload == line.workload;
            all.iter().filter(of_workload).all(|other| other.program == line.program)
        };
        let is_meant = match &self.program {
            None => is_alone(),
            Some(program) => {
                line.program.as_ref() == Some(program)
                    && (line.workload == self.workload || is_alone())
            }
        };
        line.cluster == self.cluster && line.program.is_some() && is_meant
    }
}

/// `6 predictions on this cluster: 4 % median error`, and of which runs.
fn sentence(lines: &[Line], asked: &Asked<'_>) -> Option<String> {
    let error = |line: &Line| {
        let predicted = line.predicted_s?;
        (line.measured_s > 0.0).then(|| (predicted - line.measured_s).abs() / line.measured_s)
    };
    let meant = lines.iter().filter(|line| asked.has(line, lines));
    let errors: Vec<f64> = meant.filter_map(error).collect();
    if errors.is_empty() {
        return None;
    }
    let count = counted(errors.len(), "prediction");
    let of = if asked.program.is_some() { " for this program with these arguments" } else { "" };
    Some(format!(
        "{count}{of} on this cluster: {:.0} % median error, of runs that took {SHORT} s or timed themselves",
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
            workload: format!("sha256:{cluster}"),
            program: Some("sha256:p".to_owned()),
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
        let said = |cluster| sentence(&all, &Asked { cluster, workload: "", program: None });
        let expected = "3 predictions on this cluster: 10 % median error, of runs that took 5 s or timed \
                        themselves";
        assert_eq!(said("a").as_deref(), Some(expected));
        assert!(
            said("b").unwrap().starts_with("1 prediction on this cluster: 800 % median error, of")
        );
        assert_eq!(said("c"), None);
    }

    #[test]
    fn other_arguments_are_not_compared_with_the_prediction() {
        let of = |workload: &str, program: Option<&str>, measured: f64| Line {
            workload: workload.to_owned(),
            program: program.map(str::to_owned),
            ..line("a", Some(1.0), measured)
        };
        let all = [
            of("small", Some("app small"), 1.0),
            of("small", Some("app large"), 9.0),
            of("other", Some("app other"), 1.1),
            of("older", None, 7.0),
        ];
        let said = |workload, program: Option<&str>| {
            let program = program.map(str::to_owned);
            sentence(&all, &Asked { cluster: "a", workload, program })
        };
        // Two command lines share the workload `small`: without one, neither counts.
        let any = said("new", None).unwrap();
        assert!(any.starts_with("1 prediction on this cluster: 9 % median error"), "{any}");
        let same = said("small", Some("app small")).unwrap();
        let expected =
            "1 prediction for this program with these arguments on this cluster: 0 % median";
        assert!(same.starts_with(expected), "{same}");
        assert!(said("new", Some("app other")).is_some());
        for (workload, program) in [("large", "app large"), ("new", "app")] {
            assert_eq!(said(workload, Some(program)), None, "{program}");
        }
    }

    #[test]
    fn a_run_that_is_short_beside_the_start_of_the_launcher_is_not_kept() {
        let text = r#"{"format": 1, "strategy": "s", "workload_digest": "",
            "cluster": {"name": "c", "digest": "d"}, "predicted": {"run_time_s": 4.0}, "nodes": [],
            "jobs": [{"name": "j", "ranks": []}]}"#;
        let placement: PlacementFile = serde_json::from_str(text).unwrap();
        let program = ["app".to_owned()];
        let kept = |seconds, with_start, bytes| {
            let measured = Measured { program: &program, seconds, with_start, runs: 1, bytes };
            line_of(&placement, measured).map(|line| line.predicted_s)
        };
        assert_eq!(kept(1.0, true, None), None);
        assert_eq!(kept(SHORT, true, None), Some(Some(4.0)));
        assert_eq!(kept(1.0, false, None), Some(Some(4.0)));
        // The bytes are none of the launcher's.
        assert_eq!(kept(1.0, true, Some([7, 7])), Some(None));
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
