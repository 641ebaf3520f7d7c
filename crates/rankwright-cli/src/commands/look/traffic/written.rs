//! Writing a profile.

use std::path::Path;

use rankwright::files::write_atomically;
use rankwright::traffic::Workload;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::import::csv;
use rankwright::traffic::read::profile_file;

use crate::output;
use crate::output::exit_code::UsageError;

/// Writes a profile completely if the file is named `.rwp`, else its point-to-point traffic as an
/// edge list.
pub(super) fn write_profile(profile: &Profile, file: Option<&Path>) -> anyhow::Result<()> {
    match file.filter(|path| path.as_os_str() != "-") {
        Some(path) if path.extension().is_some_and(|extension| extension == "rwp") => {
            Ok(profile_file::write(profile, path)?)
        }
        file => {
            let text = csv::write(&Workload::single(profile.job(Expansion::None)?))?;
            match file {
                Some(path) => Ok(write_atomically(path, text.as_bytes())?),
                None => output::print(&text),
            }
        }
    }
}

/// Refuses an output that is one of the inputs, which is rarely intended.
pub(super) fn refuse_input_as_output(output: &Path, inputs: &[String]) -> Result<(), UsageError> {
    let real = |path: &Path| path.canonicalize().ok();
    let same =
        |input: &&String| real(output).is_some_and(|path| real(Path::new(input)) == Some(path));
    match inputs.iter().find(same) {
        None => Ok(()),
        Some(input) => Err(UsageError(format!("-o: {input} is an input, expected another file"))),
    }
}
