//! Reads input files, with errors that name the place, and writes output files whole or not at all.

mod toml_text;
mod xml_reader;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::error::Category;
use tempfile::TempPath;

use crate::parallel;

pub(crate) use toml_text::TomlText;
pub(crate) use xml_reader::{XmlReader, xml_attribute};

/// The largest text input that is read; anything larger is not one of our inputs.
pub const LARGEST_TEXT: u64 = 1 << 30;

/// What is wrong with an input: where, what was found, what was expected, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The file, or what stands for it (`-` for standard input, `--on` for an argument).
    pub file: String,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The field, as the user wrote it (`node[2].nic "mlx5_0".near`).
    pub field: Option<String>,
    /// What stands there.
    pub found: String,
    /// What could stand there.
    pub expected: String,
    /// What to do about it, where that is not plain from what was expected.
    pub advice: Option<String>,
    /// Why the file could not be read at all, if so; `found` has it in words.
    pub(crate) unread: Option<io::ErrorKind>,
}

impl InputError {
    /// An error in `file` as a whole; the other parts are added by the methods below.
    pub fn new(
        file: impl fmt::Display,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Self {
        Self {
            file: file.to_string(),
            line: None,
            field: None,
            found: found.to_string(),
            expected: expected.to_string(),
            advice: None,
            unread: None,
        }
    }

    /// The error of a file that could not be opened or read.
    #[must_use]
    pub fn of_reading(
        file: impl fmt::Display,
        error: &io::Error,
        expected: impl fmt::Display,
    ) -> Self {
        Self { unread: Some(error.kind()), ..Self::new(file, describe(error), expected) }
    }

    /// The error of a JSON file, with its line.
    pub(crate) fn of_json(
        file: &str,
        error: &serde_json::Error,
        expected: impl fmt::Display,
    ) -> Self {
        let found = match error.classify() {
            Category::Eof => "the end of the file".to_owned(),
            Category::Syntax | Category::Io => "text that is not JSON".to_owned(),
            // The line stands before the sentence.
            Category::Data => {
                let text = error.to_string();
                let text = text.split(" at line ").next().unwrap_or_default();
                text.replacen("missing field ", "no field ", 1)
            }
        };
        Self::new(file, found, expected).at_line(error.line())
    }

    /// The error, at this line (from 1).
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = u32::try_from(line).ok();
        self
    }

    /// The error, in this field.
    #[must_use]
    pub fn in_field(mut self, field: impl fmt::Display) -> Self {
        self.field = Some(field.to_string());
        self
    }

    /// The error, with what to do about it.
    #[must_use]
    pub fn with_advice(mut self, advice: impl fmt::Display) -> Self {
        self.advice = Some(advice.to_string());
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.file.is_empty() { "''" } else { &self.file })?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        let Self { found, expected, .. } = self;
        match self.unread {
            None => write!(f, "found {found}, expected {expected}")?,
            Some(io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => {
                write!(f, "{found}; give {expected}")?;
            }
            Some(io::ErrorKind::PermissionDenied) => f.write_str(found)?,
            Some(_) => write!(f, "cannot be read: {found}")?,
        }
        if let Some(advice) = &self.advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for InputError {}

/// The first bytes of every SQLite file; a profile is one.
pub const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// The first bytes of every program and library.
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// Files that users name by mistake where text is expected: their first bytes, what they are, what to do.
const BINARY: [(&[u8], &str, &str); 2] = [
    (
        SQLITE_MAGIC,
        "a profile",
        "`rankwright place PROFILE --on CLUSTER` places what it recorded, `rankwright run --profile \
         PROFILE` starts it",
    ),
    (ELF_MAGIC, "a program", "`--` goes before the program and its arguments"),
];

/// Reads a text file whole.
///
/// # Errors
/// If the file cannot be opened, is larger than [`LARGEST_TEXT`] or is not UTF-8; `expected` is what
/// the file should have been ("a cluster description").
pub fn read_text(path: &Path, expected: &str) -> Result<String, InputError> {
    let read = File::open(path).and_then(read_to_end);
    let bytes = read.map_err(|error| InputError::of_reading(path.display(), &error, expected))?;
    text_of(bytes, path, expected)
}

/// What was read from `path` as text.
///
/// # Errors
/// If it is not UTF-8; the error names the line, or what the file is if that is known.
pub fn text_of(bytes: Vec<u8>, path: &Path, expected: &str) -> Result<String, InputError> {
    String::from_utf8(bytes).map_err(|error| {
        if let Some((_, what, advice)) =
            BINARY.iter().find(|(magic, ..)| error.as_bytes().starts_with(magic))
        {
            return InputError::new(path.display(), what, expected).with_advice(advice);
        }
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        InputError::new(path.display(), "bytes that are not UTF-8 text", expected).at_line(line)
    })
}

/// Reads a file whole, of whatever size.
///
/// # Errors
/// If it cannot be opened or read.
pub(crate) fn read_bytes(path: &Path, expected: &str) -> Result<Vec<u8>, InputError> {
    fs::read(path).map_err(|error| InputError::of_reading(path.display(), &error, expected))
}

/// The first bytes of a file, `most` of them or as many as it has.
///
/// # Errors
/// If it cannot be opened or read.
pub fn first_bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that is read piece by piece.
pub type InputFile = BufReader<File>;

/// Opens a file that is read piece by piece.
///
/// # Errors
/// If it cannot be opened.
pub fn open(path: &Path, expected: &str) -> Result<InputFile, InputError> {
    let file = File::open(path).map(BufReader::new);
    file.map_err(|error| InputError::of_reading(path.display(), &error, expected))
}

/// The names of the entries of a folder, in alphabetical order; names that are not UTF-8 are left out.
///
/// # Errors
/// If it is not a folder or cannot be read; `expected` is what it should have held.
pub(crate) fn names_in(folder: &Path, expected: &str) -> Result<Vec<String>, InputError> {
    let unreadable = |error: io::Error| InputError::of_reading(folder.display(), &error, expected);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        names.extend(entry.map_err(unreadable)?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

/// Reads to the end. A device or a pipe may have none, whatever its size in the file system.
///
/// # Errors
/// If reading fails or there is more than [`LARGEST_TEXT`].
pub fn read_to_end(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_TEXT {
        return Err(io::Error::other(format!("more than {LARGEST_TEXT} bytes")));
    }
    Ok(bytes)
}

/// An operating system error in words that fit after "found".
#[must_use]
pub fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
        io::ErrorKind::IsADirectory => "a directory".to_owned(),
        _ => error.to_string(),
    }
}

/// The mode of new files, before the umask.
const MODE: u32 = 0o666;
/// The mode of new SQLite files, before the umask.
const MODE_OF_SQLITE: u32 = 0o644;

/// An output file that could not be written. Nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {why}", path.display())]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// The error of the operating system. It is not a `source`, because the message contains it.
    pub why: io::Error,
}

/// Writes `contents` to `path`: to a temporary file beside it, then renamed, so that a reader sees
/// the old file or the new one and never half of either. A device or pipe (`/dev/null`) is written
/// to as it is.
///
/// # Errors
/// If the directory is missing or not writable, or the disk is full.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    if is_special(path) && !path.is_dir() {
        let written = File::options().write(true).open(path);
        let written = written.and_then(|mut file| file.write_all(contents));
        return written.map_err(|why| WriteError { path: path.to_owned(), why });
    }
    Staged::new(path, MODE, |temporary| write_whole(temporary, contents))?.commit()
}

/// Whether a file can be written, without writing it: for commands that work long before they write.
/// A device or pipe is taken as it is.
///
/// # Errors
/// If it is a directory, or its own directory is missing or not writable.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    if is_special(path) && !path.is_dir() {
        return Ok(());
    }
    // Dropped without a commit, it leaves nothing.
    Staged::new(path, MODE, |_| Ok(())).map(drop)
}

/// Whether a file can be written into a folder, which need not exist; as [`check_writable`].
///
/// # Errors
/// If the folder, or the first one above that exists, is a file or not writable.
pub fn check_folder(path: &Path) -> Result<(), WriteError> {
    let above = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
    let checked = check_writable(&above.join("test"));
    checked.map_err(|error| WriteError { path: path.to_owned(), ..error })
}

/// As [`write_atomically`], for contents that are made piece by piece.
///
/// # Errors
/// As [`replace_atomically`].
pub(crate) fn stream_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), WriteError> {
    let staged = Staged::new(path, MODE, |temporary| {
        let mut file = BufWriter::new(File::create(temporary)?);
        write(&mut file)?;
        file.flush()
    });
    staged?.commit()
}

/// Makes a folder, and those that it lies in; there may be one already.
///
/// # Errors
/// If it cannot be made.
pub fn make_folder(path: &Path) -> Result<(), WriteError> {
    fs::create_dir_all(path).map_err(|why| WriteError { path: path.to_owned(), why })
}

/// Lets `write` fill a file at a temporary path beside `path`, empty before, and renames it to `path`
/// if that succeeds. A symbolic link is kept; the file that it points to is replaced. The file has the
/// mode that SQLite gives its files.
///
/// # Errors
/// Whatever `write` returns, that `path` is a device, pipe or directory, or that the rename failed;
/// the temporary file is removed.
pub fn replace_atomically(
    path: &Path,
    write: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), WriteError> {
    Staged::new(path, MODE_OF_SQLITE, write)?.commit()
}

/// How many files are written at the same time: a file waits for the disk, which takes several in one
/// go (1000 files: 3.4 s one by one, 1.2 s by 16).
const WRITERS: NonZeroUsize = NonZeroUsize::new(16).expect("not zero");

/// Writes several files, each as [`write_atomically`] does, or none of them: all are whole before
/// the first takes its place.
///
/// # Errors
/// As [`replace_atomically`].
pub fn write_together<'a>(
    files: impl IntoIterator<Item = (&'a Path, &'a [u8])>,
) -> Result<(), WriteError> {
    let files: Vec<(&Path, &[u8])> = files.into_iter().collect();
    let staged = parallel::map(&files, WRITERS, |_, (path, contents)| {
        Staged::new(path, MODE, |temporary| write_whole(temporary, contents))
    });
    let staged: Vec<Staged> = staged.into_iter().collect::<Result<_, _>>()?;
    staged.into_iter().try_for_each(Staged::commit)
}

fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

/// A file that is whole under a temporary name, which is removed unless it is committed.
struct Staged {
    path: PathBuf,
    target: PathBuf,
    temporary: TempPath,
}

impl Staged {
    fn new(
        path: &Path,
        mode: u32,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<Self, WriteError> {
        let failed = |why| WriteError { path: path.to_owned(), why };
        if path.is_dir() {
            return Err(failed(is_a_folder(path)));
        }
        if is_special(path) {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let temporary = temporary_beside(&target, mode).map_err(failed)?;
        write(&temporary).map_err(failed)?;
        Ok(Self { path: path.to_owned(), target, temporary })
    }

    fn commit(self) -> Result<(), WriteError> {
        let Self { path, target, temporary } = self;
        temporary.persist(target).map_err(|failed| WriteError { path, why: failed.error })
    }
}

/// An empty file in the folder of `target` with a name of its own.
fn temporary_beside(target: &Path, mode: u32) -> io::Result<TempPath> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut prefix = target.file_name().unwrap_or_default().to_os_string();
    prefix.push(".partial-");
    let mut options = File::options();
    options.write(true).create_new(true).mode(mode);
    let mut builder = tempfile::Builder::new();
    // The file is opened here, for its mode and for errors without its random name.
    let open = |path: &Path| options.open(path);
    let file = builder.prefix(&prefix).make_in(folder.unwrap_or(Path::new(".")), open)?;
    Ok(file.into_temp_path())
}

/// The error for an output file that is a folder, with the way out.
fn is_a_folder(path: &Path) -> io::Error {
    let inside = path.join("NAME");
    io::Error::other(format!("it is a folder; give the name of a file in it: {}", inside.display()))
}

/// Whether there is something that a rename would destroy: `/dev/null`, a pipe, a directory.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new.json");
        check_writable(&file).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(&file, "old").unwrap();
        check_writable(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        check_writable(Path::new("/dev/null")).unwrap();
        for wrong in [folder.path().to_owned(), folder.path().join("no/new.json"), file.join("x")] {
            let error = check_writable(&wrong).unwrap_err().to_string();
            assert!(error.contains("cannot be written"), "{error}");
        }
        let error = check_writable(folder.path()).unwrap_err().to_string();
        let way_out = format!("file in it: {}", folder.path().join("NAME").display());
        assert!(error.contains("it is a folder; give") && error.ends_with(&way_out), "{error}");
        assert_eq!(write_atomically(folder.path(), b"x").unwrap_err().to_string(), error);
        check_folder(&folder.path().join("new/below")).unwrap();
        let error = check_folder(&file.join("below")).unwrap_err();
        assert_eq!(error.path, file.join("below"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_error_names_place_found_expected_and_way_out() {
        let error = InputError::new("c.toml", "`numa:9`", "numa:0 or numa:1")
            .at_line(7)
            .in_field("near")
            .with_advice("this node has 2 NUMA nodes");
        let text =
            "c.toml:7: near: found `numa:9`, expected numa:0 or numa:1; this node has 2 NUMA nodes";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        write_atomically(&path, b"old").unwrap();
        let result = replace_atomically(&path, |temporary| {
            fs::write(temporary, b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert!(result.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn threads_that_write_one_path_leave_one_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        let contents: Vec<String> = (0..8).map(|thread| format!("{thread}").repeat(9999)).collect();
        std::thread::scope(|scope| {
            for contents in &contents {
                scope.spawn(|| write_atomically(&path, contents.as_bytes()).unwrap());
            }
        });
        assert!(contents.contains(&fs::read_to_string(&path).unwrap()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn new_files_have_the_mode_of_any_other_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [plain, ours] = ["plain", "ours"].map(|name| folder.path().join(name));
        fs::write(&plain, b"x").unwrap();
        write_atomically(&ours, b"x").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[test]
    fn a_missing_folder_is_an_error_without_the_temporary_name() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically(&folder.path().join("no/out.json"), b"x").unwrap_err();
        assert_eq!(error.why.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains("partial"), "{error}");
    }

    #[test]
    fn files_are_written_together_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["a", "b"].map(|name| folder.path().join(name));
        let files = [(first.as_path(), &b"1"[..]), (second.as_path(), &b"2"[..])];
        fs::create_dir(&second).unwrap();
        assert!(write_together(files).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::remove_dir(&second).unwrap();
        write_together(files).unwrap();
        assert_eq!(fs::read(&first).unwrap(), b"1");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_written_to_and_not_replaced() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"old").unwrap();
        let link = folder.path().join("link");
        symlink(&file, &link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());

        let device = folder.path().join("device");
        symlink("/dev/null", &device).unwrap();
        write_atomically(&device, b"x").unwrap();
        assert!(replace_atomically(&device, |_| Ok(())).is_err());
        assert!(fs::metadata(&device).unwrap().file_type().is_char_device());
        assert!(write_atomically(folder.path(), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn text_that_is_not_utf8_is_an_error_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        fs::write(&path, b"a\nb\xff\n").unwrap();
        let error = read_text(&path, "a table").unwrap_err();
        assert_eq!(error.line, Some(2));
    }

    #[test]
    fn files_that_cannot_be_read_are_told_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let missing = read_text(&folder.path().join("x"), "a table").unwrap_err();
        assert!(missing.to_string().ends_with("/x: no such file; give a table"), "{missing}");
        let directory = read_text(folder.path(), "a table").unwrap_err();
        assert!(directory.to_string().ends_with(": a directory; give a table"), "{directory}");
        let error = |kind: io::ErrorKind| {
            InputError::of_reading("x", &io::Error::from(kind), "a table").to_string()
        };
        assert_eq!(error(io::ErrorKind::PermissionDenied), "x: no permission to read it");
        assert_eq!(error(io::ErrorKind::TimedOut), "x: cannot be read: timed out");
    }

    #[test]
    fn profiles_and_programs_are_named_where_text_is_expected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (magic, found) in [(SQLITE_MAGIC, "a profile"), (ELF_MAGIC, "a program")] {
            fs::write(&path, [magic, b"\xff"].concat()).unwrap();
            let error = read_text(&path, "a table").unwrap_err();
            assert_eq!((error.found.as_str(), error.line), (found, None));
        }
    }
}
