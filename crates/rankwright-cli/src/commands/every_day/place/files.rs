//! The output of `place`: the placement, and beside it the launch files.

use std::path::PathBuf;

use clap::Args;
use rankwright::files::check_folder;
use rankwright::launch::{Launcher, ProgramLine, Software, shell};
use rankwright::placement::{JobEntry, PlacementFile};

use crate::host::batch_job;
use crate::host::mpi::launcher;
use crate::host::shim::shim_beside_us;
use crate::launching::lab;
use crate::launching::prepared::Prepared;
use crate::launching::preview::{Preview, preview};
use crate::launching::user_folder;
use crate::options::{TargetOptions, check_result, refuse_stdout};
use crate::output::{self, Verbosity};
use crate::planning::devices;
use crate::planning::placing::LauncherOptions;

/// Destinations of the placement and of the launch files.
#[derive(Debug, Args)]
pub(super) struct FileOptions {
    /// Placement file to write
    #[arg(short, long, value_name = "FILE", default_value = "placement.json")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) launcher: LauncherOptions,
    /// Folder for the launch files [default: NAME.launch beside the placement]
    #[arg(long, value_name = "FOLDER")]
    launch_files: Option<PathBuf>,
}

impl FileOptions {
    /// Whether the files can be written, before the work: that there is a shim for the launch files, too.
    ///
    /// # Errors
    /// If the placement goes to standard output, it or the launch files cannot be written, or the shim is missing.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        refuse_stdout(&self.output)?;
        check_result(&self.output)?;
        if let Some(folder) = self.folder() {
            check_folder(&folder)?;
            shim_beside_us()?;
        }
        Ok(())
    }

    /// The folder of the launch files; `None` for a placement that goes to a device (`/dev/null`): it
    /// cannot be launched.
    fn folder(&self) -> Option<PathBuf> {
        let is_device = self.output.metadata().is_ok_and(|data| !data.is_file());
        let beside = || (!is_device).then(|| self.output.with_extension("launch"));
        self.launch_files.clone().or_else(beside)
    }

    /// The launch files as they would be written, for people; none for a placement that goes to a device.
    pub(super) fn preview(
        &self,
        file: &PlacementFile,
        target: &Launcher,
        line: Option<&ProgramLine>,
    ) -> anyhow::Result<Preview> {
        let Some(folder) = self.folder() else { return Ok(Preview::default()) };
        preview(file, target, self.launcher.fabric(), &folder, line)
    }

    /// Writes the launch files of a placement by `strategy`; `line` has the programs.
    pub(super) fn write(
        &self,
        file: PlacementFile,
        (strategy, target): (&str, &'static Launcher),
        line: Option<&ProgramLine>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        let all = file.jobs.clone();
        let of_job = |job: &JobEntry| user_folder::program_of(job, &all, line);
        let name = self.output.display().to_string();
        let fabric = self.launcher.fabric();
        let prepared = Prepared::for_target(&TargetOptions::default(), file, name)?;
        let prepared = prepared.with_fabric(fabric);
        let launches = match self.folder() {
            Some(folder) => user_folder::plan(&prepared, target, &folder, &of_job)?,
            None => Vec::new(),
        };

        let too_old = (!launches.is_empty()).then(|| launcher::too_old_here(target)).flatten();
        too_old.iter().for_each(|text| output::warn(verbosity, text));
        prepared.placement().write(&self.output)?;
        let output = self.output.display();
        output::note(verbosity, format!("{output}: placement by {strategy}"));
        let jobs = if launches.is_empty() { Vec::new() } else { prepared.jobs()? };
        let unreachable = prepared.unreachable_hosts(&jobs).filter(|_| !jobs.is_empty());
        if let Some(unreachable) = &unreachable {
            output::note(verbosity, format!("{output}: {unreachable}"));
        }
        // Several jobs would not have whole nodes each.
        let submitted = target.software == Software::Slurm
            && batch_job::system().is_none()
            && unreachable.is_none()
            && jobs.len() == 1;
        let cluster = lab::Described::from(&prepared.placement().cluster);
        let entry = cluster.entry_from_outside(prepared.hosts(&jobs)).unwrap_or_default();
        for job in user_folder::write(launches)? {
            let folder = job.folder.display();
            output::note(verbosity, format!("{folder}: launch files for {}", target.name));
            output::note(verbosity, job.command_line_behind(&entry));
            if submitted {
                let line = job.submission(&prepared.hosts(&jobs));
                output::note(
                    verbosity,
                    format_args!("in a job of its own, with whole nodes: {line}"),
                );
            }
        }
        // Notes about GPUs are those of the placement, which were told with it.
        let told = devices::gpu_notes(prepared.placement());
        for job in jobs {
            let notes = prepared.device_notes(target, job)?;
            let notes = notes.iter().filter(|text| !told.contains(*text));
            let other = line.and_then(|line| prepared.unlike_recorded(job, line));
            notes
                .chain(&other)
                .for_each(|text| output::note(verbosity, format_args!("note: {text}")));
        }
        if line.is_none() {
            let text = match all.len() {
                1 => "give `-- PROGRAM ARGUMENTS` to have your program in these lines".to_owned(),
                _ => format!(
                    "`rankwright launch {} --job NAME --for {} -o FOLDER -- PROGRAM ARGUMENTS` has your \
                     program in these lines",
                    shell::quote(&self.output.display().to_string()),
                    target.name
                ),
            };
            output::note(verbosity, text);
        }
        Ok(())
    }
}
