//! `rankwright lint`: what a launcher's file really does, and the traps in it.

mod render;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::files::check_writable;
use rankwright::launch::{Launcher, Task, shell};
use rankwright::lint::{FORMATS, Guessed, Reading, TranslateError, read_guessed};
use rankwright::placement::{JobEntry, PlacementFile};
use rankwright::units::counted;

use crate::host::mpi::launcher::name_here;
use crate::launching::files::describe;
use crate::launching::prepared::{Prepared, StartedBy};
use crate::launching::user_folder;
use crate::options::inputs::read_text_or_stdin;
use crate::options::{
    Format, Given, LAUNCHER_NAME, NodesOption, TableRow, TargetOptions, programs, refuse,
    refuse_stdout,
};
use crate::output::exit_code::{Infeasible, Mismatch, UsageError};
use crate::output::{self, Verbosity, note};

/// Options of `rankwright lint`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 without warnings, 5 if there is a warning.")]
pub(crate) struct Lint {
    #[command(flatten)]
    given: Given,
    /// File of the launcher (rankfile, hostfile, configfile or rank order); `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Launcher that reads the file; of a job script with mpirun, the MPI library of that
    /// [default: guessed from the content]
    #[arg(long, value_name = "LAUNCHER", value_parser = TableRow::new(FORMATS, |format| (format.name, format.summary)))]
    from: Option<&'static rankwright::lint::Format>,
    /// Cluster description, as for `place`; without it, PUs are known only if the file names them
    /// [default: that of site.toml]
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    #[command(flatten)]
    nodes: NodesOption,
    /// Arguments and variables of the launcher that change what the file does (-rankmap,
    /// --cpu-bind, NAME=VALUE), as one quoted string; a whole command line is accepted too
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    launcher_args: Option<String>,
    /// Write where the ranks run to this placement file, for `report FILE --profile app.rwp`, `simulate` and `run`
    #[arg(long, value_name = "FILE")]
    placement: Option<PathBuf>,
    /// Translate the file for this launcher
    #[arg(long, value_name = "LAUNCHER", value_parser = LAUNCHER_NAME)]
    to: Option<&'static Launcher>,
    /// Folder for the translation [default: print it]
    #[arg(short, long, value_name = "FOLDER", requires = "to")]
    output: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Program of the translation, and its arguments
    #[arg(last = true, value_name = "PROGRAM", requires = "to")]
    program: Vec<String>,
    #[command(flatten, next_help_heading = "Translation (--to)")]
    target: TargetOptions,
}

impl Lint {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        if let Some(folder) = &self.output {
            refuse_stdout(folder)?;
        }
        if self.to.is_none() {
            let why = " applies to a translation only: give its launcher with --to";
            refuse(&[(self.given.first_of::<TargetOptions>(), why)])?;
        }
        if let Some(path) = &self.placement {
            check_writable(path)?;
        }
        let cluster = self.cluster()?;
        let reading = self.read(cluster.as_ref(), verbosity)?;
        let placement = match &cluster {
            Some(cluster) if self.needs_placement() => Some(self.placed(cluster, &reading)?),
            _ => None,
        };
        let translation = match (self.to, &placement) {
            (Some(to), Some(placement)) => Some(self.translate(to, placement.clone())?),
            _ => None,
        };
        if let (Some(path), Some(placement)) = (&self.placement, &placement) {
            placement.write(path)?;
            let path = path.display();
            let compares = "compares it with the launcher's default";
            note(
                verbosity,
                format_args!(
                    "wrote {path}: `rankwright report {path} --profile app.rwp` {compares}"
                ),
            );
        }
        if translation.is_none() && self.format == Format::Table {
            output::print(&format!("{}\n", render::summary(&reading)))?;
        }
        // What is wrong stands before a table that may be long.
        if self.format != Format::Json {
            render::warnings(&reading, &self.file, verbosity);
        }
        match translation {
            Some(translation) if self.format != Format::Json => output::print(&translation.text)?,
            translation => {
                let translation = translation.map(|translation| translation.json);
                let verbose = verbosity.verbose;
                output::print(&render::reading(&reading, self.format, verbose, translation)?)?;
            }
        }
        for text in &reading.notes {
            note(verbosity, format_args!("{}: {text}", self.file.display()));
        }
        self.tell_what_is_unknown(&reading, cluster.is_some(), verbosity);
        match reading.warnings.len() {
            0 => Ok(ExitCode::SUCCESS),
            count => {
                let warnings = counted(count, "warning");
                Err(Mismatch(format!("{}: {warnings}", self.file.display())).into())
            }
        }
    }

    /// Whether the file is converted to a placement.
    fn needs_placement(&self) -> bool {
        self.to.is_some() || self.placement.is_some()
    }

    /// The cluster that the user names, or that of the site; a placement needs one.
    fn cluster(&self) -> anyhow::Result<Option<Cluster>> {
        match self.nodes.read_named(self.on.as_deref())? {
            None if self.needs_placement() => self.nodes.read(None).map(Some),
            cluster => Ok(cluster),
        }
    }

    /// What the file means, as a job of its name.
    fn placed(&self, cluster: &Cluster, reading: &Reading) -> anyhow::Result<PlacementFile> {
        let stem = self.file.file_stem().and_then(OsStr::to_str).filter(|stem| *stem != "-");
        let placement = reading.placement(cluster, stem.unwrap_or("job"));
        Ok(placement.map_err(|error: TranslateError| {
            let (file, cannot) = (
                self.file.display(),
                match self.to {
                    Some(_) => "cannot be translated",
                    None => "cannot be written as a placement",
                },
            );
            let told = reading.notes.iter().find(|note| note.starts_with("the PUs "));
            let unknown = matches!(error, TranslateError::UnknownPlace { .. });
            match told.filter(|_| unknown) {
                Some(why) => Infeasible(format!("{file}: {cannot}: {why}")),
                None => Infeasible(format!("{file}: {cannot}: {error}")),
            }
        })?)
    }

    fn read(&self, cluster: Option<&Cluster>, verbosity: &Verbosity) -> anyhow::Result<Reading> {
        let expected = self.from.map_or("a launcher's file", |from| from.summary);
        let text = read_text_or_stdin(&self.file, expected)?;
        let arguments = self.launcher_args.as_deref().unwrap_or_default();
        let arguments = shell::split(arguments)
            .map_err(|open| UsageError(format!("--launcher-args: found {open} in: {arguments}")))?;
        let file = self.file.display().to_string();
        if let Some(from) = self.from {
            return Ok(from.read(&text, &file, &arguments, cluster)?);
        }
        let Guessed { format, alike, reading } = read_guessed(&text, &file, &arguments, cluster)?;
        let names: Vec<&str> = alike.iter().map(|format| format.name).collect();
        let alike = match names.join(", ") {
            none if none.is_empty() => none,
            names => format!(" (the same for {names})"),
        };
        note(verbosity, format_args!("{file}: read with --from {}{alike}", format.name));
        Ok(reading)
    }

    fn translate(
        &self,
        to: &'static Launcher,
        placement: PlacementFile,
    ) -> anyhow::Result<Translation> {
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
        let (job, name) = (prepared.one_job()?, name_here(to));
        let started = StartedBy::User(&name);
        let launch = prepared.launch(to, started, job, Path::new("FOLDER"), task)?;
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

    /// Tells why PUs are missing from the result.
    fn tell_what_is_unknown(&self, reading: &Reading, has_cluster: bool, verbosity: &Verbosity) {
        let unknown = reading.ranks.iter().filter(|rank| rank.bound && rank.pus.is_none()).count();
        // A reader's note says more.
        let told = reading.notes.iter().any(|text| text.starts_with("the PUs "));
        if unknown == 0 || told && has_cluster {
            return;
        }
        let what = if !has_cluster && reading.ranks.iter().any(|rank| rank.cores.is_some()) {
            "the file numbers cores (L#); only the cluster description has their PUs: give --on CLUSTER"
        } else if !has_cluster {
            "neither the file nor --launcher-args name them; try with --on CLUSTER"
        } else {
            "neither the file nor --launcher-args bind them to PUs of the cluster description"
        };
        let ranks = counted(unknown, "rank");
        note(verbosity, format_args!("the PUs of {ranks} are unknown: {what}"));
    }
}

/// The files and the command line for another launcher.
struct Translation {
    /// The files; or only the command line, if the files are written to a folder.
    text: String,
    json: serde_json::Value,
}
