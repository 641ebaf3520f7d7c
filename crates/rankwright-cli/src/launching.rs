//! What `launch`, `run` and `check` have in common: their options, and how these become a request
//! to the library.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rankwright::files::write_atomically;
use rankwright::launch::{
    self, Binding, Launch, LaunchError, Launcher, ProgramLine, Request, Task, shell,
};
use rankwright::placement::{JobEntry, PlacementFile};

use crate::exit_code::{Infeasible, NotStarted, UsageError};
use crate::inputs::read_text_or_stdin;

/// Options of every command that launches or prepares it.
#[derive(Debug, Args)]
pub(crate) struct LaunchOptions {
    /// The placement, as `place` or `map` wrote it
    #[arg(value_name = "PLACEMENT")]
    pub(crate) placement: PathBuf,
    /// The job of the placement, if it has several
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// Who binds the ranks on their hosts
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    binding: BindingOption,
    /// Further arguments for the launcher, in one text
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) launcher_args: Option<String>,
    /// The program that the launcher calls instead of ssh
    #[arg(long, value_name = "PROGRAM", env = "RANKWRIGHT_AGENT", hide_env_values = true)]
    agent: Option<String>,
    /// The per-rank shim as the hosts of the job see it [default: beside this program]
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,
}

/// Who binds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum BindingOption {
    /// The launcher where that is safe, else the shim
    #[default]
    Auto,
    /// The launcher by its own means
    Native,
    /// The shim rankwright-exec
    Exec,
}

/// The options, read and checked.
#[derive(Debug)]
pub(crate) struct Prepared {
    placement: PlacementFile,
    file: String,
    job: Option<String>,
    binding: Binding,
    agent: Option<String>,
    shim: String,
    pub(crate) launcher_arguments: Vec<String>,
}

impl LaunchOptions {
    /// Reads the placement and checks the options.
    pub(crate) fn prepare(&self) -> anyhow::Result<Prepared> {
        let expected = "a placement as `rankwright place` writes it";
        let file = self.placement.display().to_string();
        let text = read_text_or_stdin(&self.placement, expected)?;
        let placement = PlacementFile::parse(&text, &file)?;
        let arguments = self.launcher_args.as_deref().unwrap_or_default();
        let launcher_arguments = shell::split(arguments).map_err(|quote| {
            UsageError(format!("--launcher-args: found {quote} that is not closed in: {arguments}"))
        })?;
        let shim = match &self.shim {
            Some(shim) => shim.clone(),
            None => shim_beside_us()?,
        };
        Ok(Prepared {
            placement,
            file,
            job: self.job.clone(),
            binding: match self.binding {
                BindingOption::Auto => Binding::Auto,
                BindingOption::Native => Binding::Native,
                BindingOption::Exec => Binding::Exec,
            },
            agent: self.agent.clone(),
            shim: text_of(&shim)?,
            launcher_arguments,
        })
    }
}

impl Prepared {
    /// A placement that is to be written to `file`, with default options.
    pub(crate) fn of_new(placement: PlacementFile, file: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            placement,
            file: file.display().to_string(),
            job: None,
            binding: Binding::Auto,
            agent: None,
            shim: text_of(&shim_beside_us()?)?,
            launcher_arguments: Vec::new(),
        })
    }

    /// The placement.
    pub(crate) fn placement(&self) -> &PlacementFile {
        &self.placement
    }

    /// The job that the user chose, or all.
    pub(crate) fn jobs(&self) -> anyhow::Result<Vec<&JobEntry>> {
        Ok(launch::select_jobs(&self.placement, self.job.as_deref(), &self.file)?)
    }

    /// The only job, or the one that the user chose.
    pub(crate) fn one_job(&self) -> anyhow::Result<&JobEntry> {
        match self.jobs()?[..] {
            [job] => Ok(job),
            ref jobs => {
                let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
                let names = names.join(", ");
                let what =
                    format!("{} has several jobs, say which: --job with one of {names}", self.file);
                Err(UsageError(what).into())
            }
        }
    }

    /// Why a launcher started here should rather not bind: launchers that count cores count those
    /// of their cpuset, which would be others than the placement's if that is a part of a node.
    fn obstacle_here(&self) -> Option<String> {
        let here = std::thread::available_parallelism().ok()?.get();
        let node = self.placement.nodes.iter().find(|node| node.pus as usize > here)?;
        Some(format!("{here} PUs are granted here, node {} has {}", node.name, node.pus))
    }

    /// What `launcher` needs to start `job`, with its files in `folder`; `installed` is its program
    /// if it is to be started here.
    pub(crate) fn launch(
        &self,
        launcher: &Launcher,
        installed: Option<&Path>,
        job: &JobEntry,
        folder: &Path,
        task: Task<'_>,
    ) -> anyhow::Result<Launch> {
        let program = installed.map(text_of).transpose()?;
        let obstacle = installed.and_then(|_| self.obstacle_here());
        let request = Request {
            placement: &self.placement,
            job,
            binding: self.binding,
            obstacle: obstacle.as_deref(),
            folder: &text_of(folder)?,
            shim: &self.shim,
            program: program.as_deref(),
            agent: self.agent.as_deref(),
            arguments: &self.launcher_arguments,
            task,
        };
        launcher.write(&request).map_err(|error: LaunchError| {
            let of_job = match self.placement.jobs[..] {
                [_] => String::new(),
                _ => format!("job {}: ", job.name),
            };
            Infeasible(format!("{of_job}{error}")).into()
        })
    }
}

/// Reads what stands behind `--`: a program and its arguments, or several with ` : ` between them.
pub(crate) fn programs(words: &[String]) -> Result<ProgramLine, UsageError> {
    ProgramLine::parse(words).map_err(|error| UsageError(error.to_string()))
}

/// Writes the files of a launch to a folder.
pub(crate) fn write_files(launch: &Launch, folder: &Path) -> anyhow::Result<()> {
    for file in &launch.files {
        let path = folder.join(file.name);
        write_atomically(&path, file.contents.as_bytes())?;
        if file.executable {
            make_executable(&path)?;
        }
    }
    Ok(())
}

/// Lets everybody who may read a file run it.
pub(crate) fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = std::fs::metadata(path)?.permissions();
    let mode = permissions.mode();
    permissions.set_mode(mode | (mode & 0o444) >> 2);
    Ok(std::fs::set_permissions(path, permissions)?)
}

/// The shim that was installed together with this program.
pub(crate) fn shim_beside_us() -> Result<PathBuf, NotStarted> {
    let failed = |why: String| NotStarted { code: 125, why };
    let us = std::env::current_exe().map_err(|error| failed(format!("this program: {error}")))?;
    let shim = us.with_file_name("rankwright-exec");
    if shim.is_file() {
        return Ok(shim);
    }
    Err(failed(format!(
        "{}: not found; it is installed together with rankwright (or say where: --shim FILE)",
        shim.display()
    )))
}

/// A path that goes into files and command lines of others.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| UsageError(format!("{}: the path is not UTF-8", path.display())).into())
}
