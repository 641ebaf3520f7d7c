//! `rankwright traffic export`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use rankwright::files::write_atomically;
use rankwright::traffic::Workload;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::read::events::store::Recording;
use rankwright::traffic::read::events::{goal, simgrid};
use rankwright::traffic::read::import::{self, FORMATS, Imported};
use rankwright::traffic::read::profile_file;

use super::formats::{parse_expansion, warn_if_estimated};
use super::recorded::{chosen_job, chosen_run};
use crate::options::inputs;
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};

/// Options of `rankwright traffic export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    #[arg(help = inputs::WORKLOAD_HELP)]
    workload: String,
    /// Job to write, if the workload has several; an edge list has all jobs by default
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    #[arg(long, value_name = "FORMAT", help = format!("Format to write: {} [default: by the ending of the output (.mtx, .graph), else csv]", writable_names()))]
    format: Option<String>,
    /// Add collective calls, as the messages of this algorithm: none, default, linear, binomial,
    /// ring or library
    #[arg(long, value_parser = parse_expansion, default_value = "none", value_name = "ALGORITHM")]
    collectives: Expansion,
    /// Keep the messages that ranks send to themselves
    #[arg(long = "self")]
    with_self: bool,
    /// For simgrid-ti: speed of the hosts, in floating-point operations per second, by which the
    /// time outside MPI becomes computation
    #[arg(long, value_name = "FLOPS", default_value = "1e9")]
    speed: f64,
    /// File to write instead of standard output; for simgrid-ti, folder to write
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The formats for the events of a profile. The first goes to a folder.
const SIMGRID: &str = "simgrid-ti";
const GOAL: &str = "goal";

impl Export {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let format = self.format.as_deref().unwrap_or_else(|| self.format_of_output());
        match format {
            SIMGRID => return self.simgrid(verbosity),
            GOAL => return self.goal(verbosity),
            _ => {}
        }
        let write = import::find(format).and_then(|format| format.write).ok_or_else(|| {
            let names = writable_names();
            UsageError(format!("--format: found `{format}`, expected one of {names}"))
        })?;
        let mut workload = self.jobs(verbosity)?;
        for job in &mut workload.jobs {
            job.flows.retain(|flow| self.with_self || flow.source != flow.destination);
        }
        let text = write(&workload).map_err(|error| UsageError(format!("{error} with --job")))?;
        match self.output.filter(|path| path.as_os_str() != "-") {
            Some(path) => Ok(write_atomically(&path, text.as_bytes())?),
            None => output::print(&text),
        }
    }
}

impl Export {
    /// All jobs, or the job with the given name.
    fn jobs(&self, verbosity: &Verbosity) -> anyhow::Result<Workload> {
        match (inputs::named(&self.workload)?, self.job.as_deref()) {
            (Imported::Traffic(workload), None) => Ok(workload),
            (Imported::Traffic(workload), name) => {
                Ok(Workload::single(chosen_job(workload, name)?))
            }
            (run, name) => {
                let profile = chosen_run(run, name, "recorded")?;
                warn_if_estimated(&profile, self.collectives, verbosity);
                Ok(Workload::single(profile.job(self.collectives)?))
            }
        }
    }

    fn simgrid(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        if !self.speed.is_finite() || self.speed <= 0.0 {
            let text = format!("--speed: found {}, expected a number above 0", self.speed);
            return Err(UsageError(text).into());
        }
        let (recording, folder) = self.recording((SIMGRID, "a folder"), verbosity)?;
        let folder = std::path::absolute(folder)?;
        let exported = simgrid::export(&recording, &folder, self.speed)?;
        warn_of_left_out(&exported.left_out, "SimGrid", verbosity);
        Ok(())
    }

    fn goal(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let (recording, path) = self.recording((GOAL, "a file"), verbosity)?;
        let exported = goal::export(&recording, path)?;
        warn_of_left_out(&exported.left_out, "LogGOPSim", verbosity);
        Ok(())
    }

    /// The events to export, and where to.
    fn recording(
        &self,
        (format, target): (&str, &str),
        verbosity: &Verbosity,
    ) -> anyhow::Result<(Recording, &Path)> {
        let Some(output) = self.output.as_deref().filter(|path| path.as_os_str() != "-") else {
            return Err(UsageError(format!("--format {format} needs {target}: give -o")).into());
        };
        let path = Path::new(&self.workload);
        if !inputs::is_profile(path)? {
            let text = format!("--format {format}: found {}, expected a profile", path.display());
            return Err(UsageError(text).into());
        }
        let recording = Recording::open(path)?;
        warn_if_estimated(&profile_file::read(path)?, Expansion::Library, verbosity);
        Ok((recording, output))
    }

    /// The format by the ending of the output's name.
    fn format_of_output(&self) -> &'static str {
        let extension = self.output.as_deref().and_then(Path::extension);
        match extension.and_then(OsStr::to_str) {
            Some("mtx") => "matrix-market",
            Some("graph") => "metis",
            _ => "csv",
        }
    }
}

/// Warns of calls that another simulator's format cannot express.
fn warn_of_left_out(left_out: &BTreeMap<&str, u64>, simulator: &str, verbosity: &Verbosity) {
    for (what, count) in left_out {
        let text = format!("left out: {count} {what}, which {simulator}'s format cannot express");
        output::warn(verbosity, text);
    }
}

/// The names of the formats that can be written, for `--help` and errors.
fn writable_names() -> String {
    let writable = FORMATS.iter().filter(|format| format.write.is_some());
    let names: Vec<&str> = writable.map(|format| format.name).chain([SIMGRID, GOAL]).collect();
    names.join(", ")
}
