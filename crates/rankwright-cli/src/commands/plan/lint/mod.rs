//! `rankwright lint`: what a launcher's file really means, and which traps it steps into.

mod render;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::launch::{Launcher, Task, shell};
use rankwright::lint::{FORMATS, Reading, TranslateError};
use rankwright::placement::JobEntry;
use rankwright::units::counted;

use crate::launching::files::describe;
use crate::launching::prepared::Prepared;
use crate::launching::user_folder;
use crate::options::inputs::{self, read_text_or_stdin};
use crate::options::{
    Format, Given, LAUNCHER_NAME, TableRow, TargetOptions, programs, refuse, refuse_stdout,
};
use crate::output::exit_code::{Infeasible, Mismatch, UsageError};
use crate::output::{self, Verbosity, note};

/// Options of `rankwright lint`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 0 if the file says what it seems to say, 5 if there is any warning."
)]
pub(crate) struct Lint {
    #[command(flatten)]
    given: Given,
    /// The launcher's file: rankfile, hostfile, configfile, rank order; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The launcher that reads it
    #[arg(long, value_name = "LAUNCHER", value_parser = TableRow::new(FORMATS, |format| (format.name, format.summary)))]
    from: &'static rankwright::lint::Format,
    /// The cluster; without it, PUs are known only where the file names them
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    /// How many nodes, where the cluster is one node's hwloc description
    #[arg(long, value_name = "NUMBER", requires = "on")]
    nodes: Option<u32>,
    /// The arguments that the launcher is started with, in one text, as far as they change what the
    /// file means (-rankmap, --cpu-bind, NAME=VALUE); the whole line that `launch` prints will do
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    launcher_args: Option<String>,
    /// Translate it for this launcher
    #[arg(long, value_name = "LAUNCHER", value_parser = LAUNCHER_NAME, requires = "on")]
    to: Option<&'static Launcher>,
    /// Write the translation to this folder; without it, print it
    #[arg(short, long, value_name = "FOLDER", requires = "to")]
    output: Option<PathBuf>,
    /// How to write what was read
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// The program of the translation and its arguments
    #[arg(last = true, value_name = "PROGRAM", requires = "to")]
    program: Vec<String>,
    #[command(flatten, next_help_heading = "What --to writes")]
    target: TargetOptions,
}

impl Lint {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        if let Some(folder) = &self.output {
            refuse_stdout(folder)?;
        }
        if self.to.is_none() {
            let why = " is for the files of a translation: say for which launcher, --to";
            refuse(&[(self.given.first_of::<TargetOptions>(), why)])?;
        }
        let cluster =
            self.on.as_deref().map(|text| inputs::cluster(text, self.nodes)).transpose()?;
        let reading = self.read(cluster.as_ref())?;
        let translation = match (self.to, &cluster) {
            (Some(to), Some(cluster)) => Some(self.translate(to, cluster, &reading)?),
            _ => None,
        };
        match translation {
            Some(translation) if self.format != Format::Json => output::print(&translation.text)?,
            translation => {
                let translation = translation.map(|translation| translation.json);
                output::print(&render::reading(&reading, self.format, translation)?)?;
            }
        }
        if self.format != Format::Json {
            render::warnings(&reading, &self.file, verbosity);
        }
        self.tell_what_is_unknown(&reading, verbosity);
        match reading.warnings.len() {
            0 => Ok(ExitCode::SUCCESS),
            count => {
                let warnings = counted(count, "warning");
                Err(Mismatch(format!("{}: {warnings}", self.file.display())).into())
            }
        }
    }

    fn read(&self, cluster: Option<&Cluster>) -> anyhow::Result<Reading> {
        let text = read_text_or_stdin(&self.file, self.from.summary)?;
        let arguments = self.launcher_args.as_deref().unwrap_or_default();
        let arguments = shell::split(arguments)
            .map_err(|open| UsageError(format!("--launcher-args: found {open} in: {arguments}")))?;
        Ok(self.from.read(&text, &self.file.display().to_string(), &arguments, cluster)?)
    }

    fn translate(
        &self,
        to: &'static Launcher,
        cluster: &Cluster,
        reading: &Reading,
    ) -> anyhow::Result<Translation> {
        let stem = self.file.file_stem().and_then(OsStr::to_str).filter(|stem| *stem != "-");
        let placement = reading.placement(cluster, stem.unwrap_or("job")).map_err(
            |error: TranslateError| {
                let found = self.file.display();
                Infeasible(format!("{found}: cannot be translated: {error}"))
            },
        )?;
        let words =
            if self.program.is_empty() { &["./a.out".to_owned()] } else { &self.program[..] };
        let line = programs(words)?;
        let prepared =
            Prepared::for_target(&self.target, placement, self.file.display().to_string())?;
        if let Some(folder) = &self.output {
            let of_job = |_: &JobEntry| Ok(line.clone());
            let written = user_folder::write(user_folder::plan(&prepared, to, folder, &of_job)?)?;
            let text = written.iter().map(|job| job.command_line() + "\n").collect();
            return Ok(Translation { text, json: serde_json::to_value(&written)? });
        }
        let task = Task::Programs(&line);
        let launch = prepared.launch(to, None, prepared.one_job()?, Path::new("FOLDER"), task)?;
        let json = serde_json::json!([{
            "binding": if launch.by_exec { "exec" } else { "native" },
            "reason": launch.binding,
            "files": launch.files,
            "environment": launch.environment,
            "command": launch.command,
            "notes": launch.notes,
        }]);
        Ok(Translation { text: describe(&launch), json })
    }

    /// Says why PUs are missing from the result.
    fn tell_what_is_unknown(&self, reading: &Reading, verbosity: &Verbosity) {
        let unknown = reading.ranks.iter().filter(|rank| rank.pus.is_none()).count();
        if unknown == 0 {
            return;
        }
        let what = if self.on.is_none() && reading.ranks.iter().any(|rank| rank.cores.is_some()) {
            "the file counts cores (L#), the PUs of a core are the cluster's: say --on CLUSTER"
        } else if self.on.is_none() {
            "neither the file nor --launcher-args name their PUs; --on CLUSTER may tell more"
        } else {
            "the file and --launcher-args do not say where they are bound"
        };
        let ranks = counted(unknown, "rank");
        note(verbosity, format_args!("the PUs of {ranks} are unknown: {what}"));
    }
}

/// What another launcher needs for the same ranks.
struct Translation {
    /// The files, or the command line if those are written.
    text: String,
    json: serde_json::Value,
}
