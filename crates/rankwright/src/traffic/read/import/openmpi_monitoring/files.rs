//! Finds the files of one run: `NAME.0.prof`, `NAME.1.prof`, ...

use std::path::{Path, PathBuf};

use super::EXPECTED;
use crate::files::{InputError, names_in};

/// All files of the run that `path` names, in rank order: `path` is one of them, the part before
/// `.0.prof`, or a folder with the files of one run. Empty if there are none.
///
/// # Errors
/// If a folder cannot be read or has files of several runs.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    let (folder, name) = match path.is_dir() {
        true => (path, None),
        false => {
            let Some(file) = path.file_name().and_then(|name| name.to_str()) else {
                return Ok(Vec::new());
            };
            let name = name_and_rank(file).map_or(file, |(name, _)| name);
            (path.parent().unwrap_or(path), Some(name))
        }
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut run_files = Vec::new();
    for file in names_in(folder, EXPECTED)? {
        if let Some((run, rank)) = name_and_rank(&file)
            && name.is_none_or(|name| name == run)
        {
            let path = if path.is_dir() { path.join(&file) } else { path.with_file_name(&file) };
            run_files.push((run.to_owned(), rank, path));
        }
    }
    run_files.sort();
    if let (Some((first, ..)), Some((last, ..))) = (run_files.first(), run_files.last())
        && first != last
    {
        let found = format!("the files of several runs ({first}, {last})");
        let advice = format!("name one of them: {}", path.join(first).display());
        return Err(InputError::new(path.display(), found, EXPECTED).with_advice(advice));
    }
    if run_files.is_empty() && path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    Ok(run_files.into_iter().map(|(_, _, path)| path).collect())
}

/// Splits `NAME.RANK.prof`.
fn name_and_rank(file: &str) -> Option<(&str, u32)> {
    let (name, rank) = file.strip_suffix(".prof")?.rsplit_once('.')?;
    Some((name, rank.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_a_prefix_or_a_folder_name_the_same_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["m.0.prof", "m.10.prof", "m.2.prof", "m.x.prof", "notes.txt"] {
            fs::write(at(name), "").unwrap();
        }
        let all = vec![at("m.0.prof"), at("m.2.prof"), at("m.10.prof")];
        for named in [at("m.2.prof"), at("m"), folder.path().to_owned()] {
            assert_eq!(files(&named).unwrap(), all, "{}", named.display());
        }
        assert_eq!(files(&at("notes.txt")).unwrap(), [at("notes.txt")]);
        assert!(files(&at("n")).unwrap().is_empty());
        assert!(files(&at("no/such/folder")).unwrap().is_empty());
        fs::write(at("old.0.prof"), "").unwrap();
        assert_eq!(files(&at("m")).unwrap(), all);
        let error = files(folder.path()).unwrap_err().to_string();
        assert!(error.contains("the files of several runs (m, old)"), "{error}");
    }
}
