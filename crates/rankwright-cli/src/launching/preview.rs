//! Launch files as they would be written, for reports.

use std::path::{Path, PathBuf};

use rankwright::cluster::hostlist;
use rankwright::launch::{Launcher, ProgramLine, Software, shell};
use rankwright::placement::PlacementFile;
use rankwright::report::page::{Command, Found, Report};
use rankwright::units::Bytes;

use crate::launching::lab;
use crate::launching::prepared::Prepared;
use crate::launching::user_folder::{PlannedLaunch, command_line, plan_in, program_of};
use crate::options::{FabricOptions, TargetOptions};

/// The longest launch file of a report.
const LONGEST_FILE: Bytes = Bytes(64 << 10);

/// What would be written to a folder, for people.
#[derive(Debug, Default)]
pub(crate) struct Preview {
    pub(crate) launches: Vec<LaunchPreview>,
    /// Whether the jobs cannot be started because their hosts are made up.
    pub(crate) invented: bool,
    /// What goes before each command; empty unless the hosts are those of a lab.
    pub(crate) entry: String,
    /// The first lines of a batch script, if the launcher is a part of Slurm and there is one job.
    batch: Option<String>,
}

/// The launch files of a job as they would be written.
#[derive(Debug)]
pub(crate) struct LaunchPreview {
    pub(crate) job: String,
    /// The command line that starts the job, for a shell.
    pub(crate) command_line: String,
    /// Names and contents.
    pub(crate) files: Vec<(PathBuf, String)>,
}

/// What [`plan`](super::user_folder::plan) would write to a folder, by names that are the same on every machine: those of the folder
/// and of the shim are as given.
///
/// # Errors
/// If one of the jobs cannot be launched as requested.
pub(crate) fn preview(
    placement: &PlacementFile,
    launcher: &Launcher,
    fabric: FabricOptions,
    folder: &Path,
    line: Option<&ProgramLine>,
) -> anyhow::Result<Preview> {
    let target = TargetOptions { shim: Some(PathBuf::from(SHIM)), ..TargetOptions::default() };
    let prepared = Prepared::for_target(&target, placement.clone(), "the placement".to_owned())?;
    let prepared = prepared.with_fabric(fabric);
    let planned =
        plan_in(&prepared, launcher, folder, &|job| program_of(job, &placement.jobs, line))?;
    let hosts = placement.nodes.iter().map(|node| node.name.as_str());
    let entry = lab::Described::from(&placement.cluster).entry(hosts).unwrap_or_default();
    let shown = |planned: PlannedLaunch| {
        let PlannedLaunch { job, folder, launch } = planned;
        let environment = launch.environment.iter().map(|(name, value)| (name, value));
        LaunchPreview {
            job: job.name.clone(),
            command_line: command_line(&entry, environment, &launch.command),
            files: (launch.files.into_iter())
                .map(|file| (folder.join(file.name), file.contents))
                .collect(),
        }
    };
    let launches = planned.into_iter().map(shown).collect();
    let batch = (launcher.software == Software::Slurm).then(|| batch_lines(placement)).flatten();
    Ok(Preview { launches, invented: placement.cluster.invented, entry, batch })
}

/// What a script for sbatch begins with, so that the job gets the nodes of a placement with all their CPUs;
/// `None` for several jobs.
fn batch_lines(placement: &PlacementFile) -> Option<String> {
    let [job] = &placement.jobs[..] else { return None };
    let names: Vec<&str> = placement.nodes.iter().map(|node| node.name.as_str()).collect();
    Some(format!(
        "#!/bin/sh\n#SBATCH --nodes={}\n#SBATCH --ntasks={}\n#SBATCH --nodelist={}\n#SBATCH --exclusive\n",
        names.len(),
        job.ranks.len(),
        hostlist::compress(&names)
    ))
}

/// The name of the shim, where it is on the PATH.
const SHIM: &str = "rankwright-exec";

/// Adds how to start the program as placed: by `run`, and by the launcher alone; or why not.
pub(crate) fn with_launches(
    mut report: Report,
    launches: anyhow::Result<Preview>,
    placement: &Path,
    program: &str,
) -> Report {
    let Preview { launches, invented, entry, batch } = launches.unwrap_or_else(|error| {
        report.find([Found::new("not-launchable", format!("{error:#}")).finding()]);
        Preview::default()
    });
    report.find(invented.then(|| {
        let text = "node names are placeholders, for planning only: the cluster describes hardware and \
                    names no hosts";
        Found::new("hosts-invented", text).finding()
    }));
    let mut add = |title: String, text: String, file: Option<String>| {
        report.commands.push(Command { title, text, file });
    };
    let file = shell::quote(&placement.display().to_string());
    // Nothing starts on hosts that are not there.
    if !invented {
        if launches.len() > 1 {
            let text = format!("{entry}rankwright run {file} --job NAME -- {program}");
            add("Start a job as placed".to_owned(), text, None);
        } else {
            let text = format!("{entry}rankwright run {file} -- {program}");
            add("Start the program as placed".to_owned(), text.clone(), None);
            // The nodes of a lab are no nodes of the Slurm that the user has.
            if let Some(batch) = batch.filter(|_| entry.is_empty()) {
                let title = "The same as a job of Slurm: `sbatch job.sh`".to_owned();
                add(title, format!("{batch}{text}\n"), Some("job.sh".to_owned()));
            }
        }
        let check = format!("{entry}rankwright check {file}");
        add("See whether each rank got its place".to_owned(), check, None);
    }
    let mut left_out = Vec::new();
    for LaunchPreview { job, command_line, files } in &launches {
        let title = match invented {
            true => format!("How the launcher would start {job}, with placeholders for host names"),
            false => format!("Start {job} by the launcher alone"),
        };
        add(title, command_line.clone(), None);
        for (path, contents) in files {
            let name = path.display().to_string();
            if contents.len() as u64 > LONGEST_FILE.0 {
                left_out.push(format!("{name} is longer than {LONGEST_FILE}"));
                continue;
            }
            add(format!("A file of {job} for the launcher"), contents.clone(), Some(name));
        }
    }
    let found =
        left_out.into_iter().map(|text| Found::new("launch-files-left-out", text).finding());
    report.find(found);
    report
}
