//! `rankwright calibrate`: measures the rates of a cluster.

mod checks;
mod date;
mod fit;
mod record;
mod report;
mod running;
mod start;
mod switches;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::cluster::read::toml;
use rankwright::files::{InputError, check_writable, read_text, write_atomically};
use rankwright::launch::Launcher;
use rankwright::units::Seconds;

use crate::host::mpi::Abi;
use crate::host::this_host;
use crate::options::{Format, LAUNCHER_NAME, refuse_stdout};
use crate::output::exit_code::{Infeasible, UsageError};
use crate::output::{self, Verbosity, warn};
use fit::Fitted;
use record::Record;

/// Options of `rankwright calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
                        Examples: rankwright calibrate --on cluster.toml
          rankwright calibrate --on cluster.toml -- mpirun -np 32 --hostfile hosts
          rankwright calibrate --on cluster.toml -o measured.toml -- srun -N 4 -n 128")]
pub(crate) struct Calibrate {
    /// The cluster.toml of the cluster; its rates are replaced by the measured ones
    #[arg(long, value_name = "FILE")]
    on: PathBuf,
    /// Write the cluster with its measured rates to this file instead
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Write the rates even if they vary as beside another job
    #[arg(long)]
    force: bool,
    /// The longest time for a measurement; one that varies little ends earlier
    #[arg(long, value_name = "TIME", default_value = "2 s")]
    time_per_item: Seconds,
    /// MPI library to measure [default: that of the launcher; else that of the first mpicc on PATH]
    #[arg(long, value_enum, value_name = "MPI")]
    mpi: Option<Abi>,
    /// Launcher, if no launch line is given [default: the first on PATH]
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME, conflicts_with = "command")]
    launcher: Option<&'static Launcher>,
    /// Program that the launcher calls instead of ssh, like /opt/bin/rsh
    #[arg(long, value_name = "PROGRAM", env = "RANKWRIGHT_AGENT", hide_env_values = true)]
    agent: Option<String>,
    /// The launcher with its options and without a program: one rank per core on all nodes, or on some
    /// [default: such a line for all nodes of the cluster, or for those that the batch system grants]
    #[arg(last = true, value_name = "LAUNCHER")]
    command: Vec<String>,
}

/// The least and the most of `--time-per-item`, in seconds.
const TIMES_PER_ITEM: std::ops::RangeInclusive<f64> = 0.1..=60.0;

impl Calibrate {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        if !TIMES_PER_ITEM.contains(&self.time_per_item.0) {
            let text =
                format!("--time-per-item: found {}, expected 100 ms to 60 s", self.time_per_item);
            return Err(UsageError(text).into());
        }
        let target = self.output.as_deref().unwrap_or(&self.on);
        refuse_stdout(target)?;
        let text = self.description()?;
        let (file, folder) =
            (self.on.display().to_string(), self.on.parent().unwrap_or(Path::new("")));
        let cluster = toml::parse(&text, &file, folder)?;
        // Found after the measurement, these would cost it.
        toml::with_rates(&text, &file, folder, &cluster.rates)?;
        self.refuse_other_folder(&text)?;
        check_writable(target)?;
        warn_of_load(&cluster, verbosity)?;
        let record = self.measure(&cluster, verbosity)?;
        let fitted = fit::fit(&record, &cluster, &date::today());
        let remarks = checks::remarks(&record, &cluster).into_iter();
        remarks.chain(checks::waited(&record, &fitted)).for_each(|text| warn(verbosity, text));
        self.refuse(&record, &fitted, verbosity)?;
        if self.description()? != text {
            anyhow::bail!("{file} changed during the measurement; nothing is written");
        }
        let edited = toml::with_rates(&text, &file, folder, &fitted.rates)?;
        write_atomically(target, edited.as_bytes())?;
        let target = target.display().to_string();
        output::print(&report::report(self.format, &record, &fitted, Some(&target))?)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The text of the cluster.toml.
    fn description(&self) -> anyhow::Result<String> {
        let text = read_text(&self.on, toml::EXPECTED)?;
        if text.trim_start().starts_with('<') {
            let file = self.on.display();
            let found = "an XML file: the hardware of one node, which has no place for rates";
            let error = InputError::new(&file, found, toml::EXPECTED).with_advice(format!(
                "make one for the nodes of the cluster: `rankwright cluster import {file} --nodes NAMES \
                 -o cluster.toml`"
            ));
            return Err(error.into());
        }
        Ok(text)
    }

    /// Refuses another folder for a description with paths relative to its own.
    fn refuse_other_folder(&self, text: &str) -> anyhow::Result<()> {
        let Some(output) = &self.output else { return Ok(()) };
        let folder = |file: &Path| {
            let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
            parent.unwrap_or(Path::new(".")).canonicalize().ok()
        };
        let relative = toml::xml_files(text).into_iter().find(|path| Path::new(path).is_relative());
        match relative {
            Some(path) if folder(output) != folder(&self.on) => {
                let on = self.on.display();
                let text = format!(
                    "-o: `xml = \"{path}\"` of {on} is relative to its folder; write beside {on}"
                );
                Err(UsageError(text).into())
            }
            _ => Ok(()),
        }
    }

    /// Starts the probe and reads its record.
    fn measure(&self, cluster: &Cluster, verbosity: &Verbosity) -> anyhow::Result<Record> {
        let mut command = self.probe_command(cluster, verbosity)?;
        // The longest step is the search for the eager limit, at most twice the time for an item.
        let patience = Duration::from_secs_f64(30.0 + 6.0 * self.time_per_item.0);
        let checked = |record: &Record| checks::check_start(record, cluster);
        running::run(&mut command, patience, &checked, verbosity)
    }

    /// Refuses rates that vary too much, unless forced.
    fn refuse(
        &self,
        record: &Record,
        fitted: &Fitted,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        if fitted.rows.is_empty() {
            let text =
                "the probe measured nothing that the description can hold; nothing is written";
            return Err(Infeasible(text.to_owned()).into());
        }
        let doubts = checks::doubts(record, fitted);
        if doubts.is_empty() || self.force {
            doubts.iter().for_each(|doubt| warn(verbosity, doubt));
            return Ok(());
        }
        output::print(&report::report(self.format, record, fitted, None)?)?;
        anyhow::bail!(
            "nothing is written: {}; does another job use the nodes? measure again when they are idle, \
             with a longer --time-per-item, or write it all the same with --force",
            doubts.join("; ")
        )
    }
}

/// Warns where other programs keep this host busy, if ranks of the probe run here.
fn warn_of_load(cluster: &Cluster, verbosity: &Verbosity) -> anyhow::Result<()> {
    // The nodes of a lab are on this host.
    let is_here = cluster.emulated || cluster.find_node(&this_host::name()?).is_some();
    if let Some(overload) = is_here.then(this_host::overload).flatten() {
        let text =
            "ranks wait for PUs, and latencies come out too long; measure when nothing else runs";
        warn(verbosity, format!("{overload}: {text}"));
    }
    Ok(())
}
