//! Archives that another program prints: runs the program and reads its output as it comes.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rankwright::files::InputError;
use rankwright::traffic::profile::Profile;

use crate::host::child;

/// The longest time without output of the program.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of pieces of [`PIECE`] bytes that are read ahead.
const PIECES: usize = 16;
const PIECE: usize = 1 << 16;

/// The most bytes kept of the program's standard error.
const COMPLAINTS: u64 = 1 << 16;

/// Runs `printer` on an archive and passes its output to `read`.
pub(super) fn read(
    printer: &[&str],
    archive: &Path,
    read: fn(&mut dyn BufRead, &str) -> Result<Profile, InputError>,
) -> Result<Profile, InputError> {
    let file = archive.display().to_string();
    let (program, options) = printer.split_first().expect("the table has the program");
    let mut command = Command::new(program);
    command.args(options).arg("--").arg(archive).stdin(Stdio::null());
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| {
            let what = format!("an archive that needs `{program}`, which cannot run ({error})");
            InputError::new(&file, what, format!("`{program}` to be installed"))
                .with_advice("it comes with OTF2: Debian has it in otf2-tools")
        })?;
    let complaints = complaints_of(&mut child);
    let pipe = child.stdout.take().expect("a pipe");
    let mut text = BufReader::with_capacity(PIECE, Pieces::of(pipe));
    let profile = read(&mut text, &file);
    // The rest is not needed, but if the program were ended early, that would look like a failure.
    let rest = match &profile {
        Ok(_) => io::copy(&mut text, &mut io::sink()).map(|_| ()),
        Err(_) => child.kill(),
    };
    drop(text);
    let ended = rest.and_then(|()| child.wait());
    if ended.is_err() {
        let _ = child::end(&mut child);
    }
    let complaint = complaints.join().unwrap_or_default();
    let failed = match (&profile, &ended) {
        (Ok(_), Ok(status)) if status.success() => return profile,
        (Ok(_), Ok(status)) => format!("`{program}` ended with {status}"),
        (Ok(_), Err(error)) => format!("`{program}` could not be waited for: {error}"),
        (Err(_), _) if complaint.is_empty() => return profile,
        (Err(error), _) => error.found.clone(),
    };
    let error = InputError::new(&file, failed, "an archive that it can print completely");
    Err(match complaint.is_empty() {
        true => error,
        false => error.with_advice(format!("`{program}` prints: {complaint}")),
    })
}

/// The first line that a child writes to standard error; the rest is discarded.
fn complaints_of(child: &mut Child) -> JoinHandle<String> {
    let mut pipe = child.stderr.take().expect("a pipe");
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.by_ref().take(COMPLAINTS).read_to_end(&mut text);
        let _ = io::copy(&mut pipe, &mut io::sink());
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    })
}

/// The output of a pipe, piece by piece, with a timeout.
struct Pieces {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    taken: usize,
}

impl Pieces {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let (sender, pieces) = sync_channel(PIECES);
        thread::spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                let read = pipe.read(&mut piece).map(|length| {
                    piece.truncate(length);
                    piece
                });
                let last = read.as_ref().map_or(true, Vec::is_empty);
                // The receiver is gone after an error.
                if sender.send(read).is_err() || last {
                    return;
                }
            }
        });
        Self { pieces, piece: Vec::new(), taken: 0 }
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.len() {
            self.taken = 0;
            self.piece = match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => piece?,
                Err(RecvTimeoutError::Disconnected) => Vec::new(),
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = PATIENCE.as_secs();
                    return Err(io::Error::other(format!("nothing printed for {seconds} s")));
                }
            };
        }
        let rest = &self.piece[self.taken..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.taken += length;
        Ok(length)
    }
}
