//! Loading the tracer into the program.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rankwright_shim_format::pu_list;

use crate::affinity;
use crate::failure::Failure;

/// The tracer and its files.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The file that the tracer writes.
    pub(crate) file: PathBuf,
    /// The tracer's library.
    pub(crate) library: PathBuf,
    /// The folder for this rank's records while it runs.
    pub(crate) spool: Option<PathBuf>,
    /// Options of the tracer, separated by commas.
    pub(crate) options: Option<OsString>,
}

impl Trace {
    /// The variables of the program that load the tracer.
    ///
    /// # Errors
    /// If the library is missing on this host: the dynamic linker would only warn, and the program
    /// would run untraced.
    pub(crate) fn variables(&self) -> Result<Vec<(&'static str, OsString)>, Failure> {
        let name = self.library.display();
        if let Err(error) = std::fs::metadata(&self.library) {
            return Err(Failure::ours(format!(
                "{name}: {error}; put the tracer into a folder that every host of the job can read"
            )));
        }
        if self.library.as_os_str().as_bytes().iter().any(|byte| b": ".contains(byte)) {
            return Err(Failure::ours(format!(
                "{name}: a library whose path has a blank or `:` cannot be loaded; put it elsewhere"
            )));
        }
        let absolute = |path: &PathBuf| {
            std::path::absolute(path)
                .map_err(|error| Failure::ours(format!("{}: {error}", path.display())))
        };
        let mut preload = absolute(&self.library)?.into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        let file = absolute(&self.file)?.into_os_string();
        let mut variables = vec![("LD_PRELOAD", preload), ("RANKWRIGHT_TRACE_FILE", file)];
        if let Some(spool) = &self.spool {
            variables.push(("RANKWRIGHT_TRACE_SPOOL", absolute(spool)?.into_os_string()));
        }
        if let Some(options) = &self.options {
            variables.push(("RANKWRIGHT_TRACE_OPTIONS", options.clone()));
        }
        // Some OpenMP runtimes bind the first thread before `main`, so the tracer could not find
        // out.
        if let Ok(pus) = affinity::current() {
            variables.push(("RANKWRIGHT_TRACE_PUS", pu_list::format(&pus).into()));
        }
        Ok(variables)
    }
}
