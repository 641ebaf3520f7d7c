//! Which files belong to one run: `NAME.0.prof`, `NAME.1.prof`, ...

use std::path::{Path, PathBuf};

use super::EXPECTED;
use crate::files::{InputError, names_in};

/// All files of the run that `path` names: one of its files, what stands before `.0.prof`, or the
/// folder with the files of one run. In the order of the ranks that the names give; none if there
/// are none.
///
/// # Errors
/// If a folder cannot be read or holds the files of several runs.
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
    let mut found = Vec::new();
    for file in names_in(folder, EXPECTED)? {
        if let Some((known, rank)) = name_and_rank(&file)
            && name.is_none_or(|name| name == known)
        {
            let path = if path.is_dir() { path.join(&file) } else { path.with_file_name(&file) };
            found.push((known.to_owned(), rank, path));
        }
    }
    found.sort();
    if let (Some((first, ..)), Some((last, ..))) = (found.first(), found.last())
        && first != last
    {
        let found = format!("the files of several runs ({first}, {last})");
        let advice = format!("name one of them: {}", path.join(first).display());
        return Err(InputError::new(path.display(), found, EXPECTED).with_advice(advice));
    }
    if found.is_empty() && path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    Ok(found.into_iter().map(|(_, _, path)| path).collect())
}

/// `NAME.RANK.prof` taken apart.
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
