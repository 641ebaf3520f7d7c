//! The report of measured run times.

use std::path::Path;

use rankwright::files::{first_bytes, read_text};
use rankwright::measured;
use rankwright::report::page::{Names, Report as Page};

/// As much of a file as its header is looked for in.
const HEADER: usize = 4096;

/// What is expected of a file of run times.
const EXPECTED: &str = "run times, like those of `run --compare --format csv`";

/// The file of run times among the workloads, if it is the only one.
pub(super) fn file(workloads: &[String]) -> Option<&Path> {
    let [name] = workloads else { return None };
    let path = Path::new(name);
    let first = path.is_file().then(|| first_bytes(path, HEADER).ok()).flatten()?;
    measured::is_run_times(&String::from_utf8_lossy(&first)).then_some(path)
}

/// The report of run times, with the names for its snippets.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn page(path: &Path) -> anyhow::Result<(Page, Names)> {
    let times = measured::read(&read_text(path, EXPECTED)?, &path.display().to_string())?;
    let names = Names {
        workload: "app.rwp".to_owned(),
        cluster: "cluster.toml".to_owned(),
        placement: "placement.json".to_owned(),
        program: "./app".to_owned(),
        ranks: 0,
        entry: String::new(),
    };
    Ok((Page::of_run_times(&times), names))
}
