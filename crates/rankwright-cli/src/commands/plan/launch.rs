//! `rankwright launch`: the files and the command line for a launcher.

use rankwright::report::to_json;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use rankwright::launch::Launcher;
use rankwright::units::counted;

use crate::host::mpi::launcher::too_old_here;
use crate::launching::prepared::Prepared;
use crate::launching::user_folder::{self, WrittenLaunch};
use crate::options::{Format, LAUNCHER_NAME, LaunchOptions, programs, refuse_stdout, site};
use crate::output::{self, Verbosity, note, warn};

/// Options of `rankwright launch`.
#[derive(Debug, Args)]
#[command(
    after_help = "Prints the command line that starts the job; launch.sh in the folder contains it too."
)]
pub(crate) struct Launch {
    /// Placement file of `place` or `map`
    #[arg(value_name = "PLACEMENT")]
    placement: PathBuf,
    #[command(flatten)]
    options: LaunchOptions,
    /// The launcher [default: that of site.toml]
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME)]
    launcher: Option<&'static Launcher>,
    /// Folder for the files; with several jobs, for a folder per job
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Format of the output: the command lines, or all details as json
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// The program and its arguments; or several programs: -n 2 ./a x : -n 6 ./b y
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

impl Launch {
    pub(crate) fn run(mut self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        refuse_stdout(&self.output)?;
        let launcher = site::launcher(self.launcher)?;
        self.options.fabric = self.options.fabric.or_of_site()?;
        let prepared = Prepared::read(&self.options, &self.placement)?;
        let line = programs(&self.program)?;
        let planned = user_folder::plan(&prepared, launcher, &self.output, &|_| Ok(line.clone()))?;
        let written = user_folder::write(planned)?;
        too_old_here(launcher).iter().for_each(|text| warn(verbosity, text));
        let jobs = prepared.jobs()?;
        if let Some(invented) = prepared.invented_hosts(&jobs) {
            warn(verbosity, format_args!("{}: {invented}", prepared.file()));
        }
        if let Some(unreachable) = prepared.unreachable_hosts(&jobs) {
            note(verbosity, format_args!("note: {}: {unreachable}", prepared.file()));
        }
        for job in &written {
            let (files, folder) = (counted(job.files.len(), "file"), job.folder.display());
            note(verbosity, format_args!("wrote {files} to {folder}"));
            for file in &job.removed {
                note(verbosity, format_args!("removed {}, of an earlier launch", file.display()));
            }
            note(verbosity, &job.reason);
            job.notes.iter().for_each(|text| note(verbosity, format_args!("note: {text}")));
        }
        output::print(&self.render(launcher, &written)?)?;
        Ok(ExitCode::SUCCESS)
    }

    fn render(&self, launcher: &Launcher, jobs: &[WrittenLaunch]) -> anyhow::Result<String> {
        Ok(match self.format {
            Format::Table => jobs.iter().map(|job| job.command_line() + "\n").collect(),
            Format::Json => {
                let json = serde_json::json!({"launcher": launcher.name, "jobs": jobs});
                to_json(&json)
            }
            Format::Csv => {
                let row = |job: &WrittenLaunch| {
                    vec![job.job.clone(), job.binding.to_owned(), job.command_line()]
                };
                let rows: Vec<Vec<String>> = jobs.iter().map(row).collect();
                output::csv(&["job", "binding", "command"], &rows)
            }
        })
    }
}
