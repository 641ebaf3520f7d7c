//! The folders and files of a recording, and reading them after the run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rankwright::files::first_bytes;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::profile_file::SQLITE_MAGIC;
use rankwright::traffic::read::trace_file;

use crate::output::exit_code::NotStarted;

/// The file that rank 0 writes.
pub(super) const GATHERED: &str = "trace.rwt";

/// The folders of one run.
#[derive(Debug)]
pub(super) struct Recording {
    /// A temporary folder beside the profile, for the gathered trace and, by default, the spool
    /// files.
    folder: PathBuf,
    /// The folder of the spool files; ranks create it if it is missing.
    pub(super) spool: PathBuf,
}

impl Recording {
    /// Makes the folder beside the profile; with `spool`, a folder for this run in `spool`.
    pub(super) fn begin(profile: &Path, spool: Option<&Path>) -> anyhow::Result<Self> {
        let shown = profile.display();
        // Found before the run, such errors cost nothing; found after hours, they cost the run.
        if profile.is_dir() {
            let inside = profile.join("app.rwp");
            let why =
                format!("{shown}: a folder; give the name of a file, like {}", inside.display());
            return Err(NotStarted { code: 125, why }.into());
        }
        if profile.metadata().is_ok_and(|data| !data.is_file()) {
            let why = format!("{shown}: not a regular file; give another name for the profile");
            return Err(NotStarted { code: 125, why }.into());
        }
        if profile.as_os_str().as_encoded_bytes().ends_with(b"/") {
            let why = format!(
                "{shown}: the name of a folder; give the name of a file, like {shown}app.rwp"
            );
            return Err(NotStarted { code: 125, why }.into());
        }
        // A mistake like `-o ./app` must not overwrite the program.
        if holds_something_else(profile) {
            let why = format!(
                "{shown}: an existing file that is not a profile; give a new name, or a profile to replace"
            );
            return Err(NotStarted { code: 125, why }.into());
        }
        let absolute = std::path::absolute(profile).with_context(|| shown.to_string())?;
        let parent = absolute.parent().context("the profile needs a folder")?;
        let parent = parent.canonicalize().map_err(|error| NotStarted {
            code: 125,
            why: format!("{}: {error}; make the folder first", parent.display()),
        })?;
        let mut name = profile.file_name().map(OsString::from).unwrap_or_default();
        name.push(format!(".trace-{}", std::process::id()));
        let folder = parent.join(&name);
        let spool = match spool {
            None => folder.clone(),
            Some(spool) => {
                let absolute = std::path::absolute(spool);
                absolute.with_context(|| spool.display().to_string())?.join(&name)
            }
        };
        fs::create_dir(&folder).map_err(|error| NotStarted {
            code: 125,
            why: format!("{}: {error}", folder.display()),
        })?;
        Ok(Self { folder, spool })
    }

    /// The file that rank 0 writes.
    pub(super) fn trace(&self) -> PathBuf {
        self.folder.join(GATHERED)
    }

    /// The profile of the run, from the gathered trace or else from the spool files visible on this
    /// host; `None` without either.
    pub(super) fn read(&self, program: Option<&str>) -> anyhow::Result<Option<Profile>> {
        let trace = self.trace();
        if trace.with_extension("rwt.again").exists() {
            anyhow::bail!(
                "several MPI jobs ran instead of one: launcher and program belong to different \
                 MPIs, so that each process was a separate job, or a script started several MPI \
                 programs; the records of one of them are in {}",
                self.folder.display()
            );
        }
        let read = || -> anyhow::Result<Option<Profile>> {
            if trace.exists() {
                return Ok(Some(trace_file::read(&trace, program)?));
            }
            let spools = if self.spool.is_dir() { spool_files(&self.spool)? } else { Vec::new() };
            if spools.is_empty() {
                return Ok(None);
            }
            Ok(Some(trace_file::read_spools(&spools, program)?))
        };
        read().with_context(|| self.kept())
    }

    /// Where the records are if no profile could be made of them, and how to make one.
    pub(super) fn kept(&self) -> String {
        let place = if self.trace().exists() { &self.folder } else { &self.spool };
        let place = place.display();
        format!("the records are kept in {place}, for `rankwright profile -o FILE --merge {place}`")
    }

    /// Removes the folders, with unfinished files of ranks that were killed while writing.
    pub(super) fn remove(self) {
        for folder in [&self.folder, &self.spool] {
            // It does not exist, as wanted.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn holds_something_else(path: &Path) -> bool {
    let first = first_bytes(path, SQLITE_MAGIC.len());
    first.is_ok_and(|first| !first.is_empty() && first != SQLITE_MAGIC)
}

/// The spool files in a folder, in the order of their names.
pub(super) fn spool_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = || folder.display().to_string();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(shown)? {
        let path = entry.with_context(shown)?.path();
        if path.extension().is_some_and(|extension| extension == "rwr") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
