//! Trace files of the tracer: one gathered trace, or one spool file per rank.
//! `tracer/src/format/trace_format.h` describes both byte by byte.
//!
//! `bytes` reads numbers, `image` the records of one rank, `combine` joins the ranks.

mod bytes;
mod combine;
mod image;

use std::path::Path;

use crate::files::{InputError, first_bytes, read_bytes};
use crate::traffic::profile::Profile;
use crate::traffic::read::trace_constants::{FORMAT_VERSION, TAIL_MAGIC, TRACE_MAGIC};
use bytes::{Bytes, CUT_SHORT};
use image::Image;

const EXPECTED: &str = "a trace that rankwright's tracer wrote";
const EXPECTED_SPOOL: &str = "the spool file of a rank (rank-N.rwr)";

/// Reads a gathered trace; `program` overrides the recorded program name.
///
/// # Errors
/// If it cannot be read, was truncated, is damaged, or has another version.
pub fn read(path: &Path, program: Option<&str>) -> Result<Profile, InputError> {
    parse(&read_bytes(path, EXPECTED)?, program)
        .map_err(|found| InputError::new(path.display(), found, EXPECTED))
}

/// Whether a file starts like a gathered trace; false if it cannot be read.
#[must_use]
pub fn is_gathered(path: &Path) -> bool {
    first_bytes(path, TRACE_MAGIC.len()).is_ok_and(|first| first == TRACE_MAGIC)
}

/// As [`read`], from the bytes of the file. The error says what was found.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8], program: Option<&str>) -> Result<Profile, String> {
    combine::profile(images(bytes)?, program)
}

fn images(bytes: &[u8]) -> Result<Vec<Image>, String> {
    let mut file = Bytes { rest: bytes };
    if file.take(8).ok() != Some(TRACE_MAGIC) {
        return Err("another kind of file".to_owned());
    }
    let version = file.u32()?;
    if version != FORMAT_VERSION {
        return Err(format!("format version {version} (this rankwright reads {FORMAT_VERSION})"));
    }
    let world_size = file.u32()?;
    let mut images = Vec::new();
    for _ in 0..world_size {
        images.push(image::take(&mut file)?);
    }
    let body = bytes.len() - file.rest.len();
    if file.take(8)? != TAIL_MAGIC {
        return Err(CUT_SHORT.to_owned());
    }
    if file.u32()? != crc32fast::hash(&bytes[..body]) {
        return Err("a damaged file (its checksum does not match)".to_owned());
    }
    if file.u32()? != 0 || !file.rest.is_empty() {
        return Err("bytes after the end".to_owned());
    }
    Ok(images)
}

/// Reads the spool files of one run. The profile marks ranks that left no file or ended early.
///
/// # Errors
/// If a file cannot be read or is damaged, two files belong to one rank, or the files belong to
/// several runs.
pub fn read_spools<P: AsRef<Path>>(
    paths: &[P],
    program: Option<&str>,
) -> Result<Profile, InputError> {
    let mut images: Vec<Image> = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        let wrong = |found| InputError::new(path.display(), found, EXPECTED_SPOOL);
        let bytes = read_bytes(path, EXPECTED_SPOOL)?;
        let image = image::take(&mut Bytes { rest: &bytes }).map_err(wrong)?;
        if images.first().is_some_and(|first| first.run != image.run) {
            let found = "a rank of another run than the files before it".to_owned();
            return Err(wrong(found).with_advice("merge the files of one run at a time"));
        }
        if images.iter().any(|earlier| earlier.rank == image.rank) {
            return Err(wrong(format!("rank {} twice", image.rank)));
        }
        images.push(image);
    }
    images.sort_by_key(|image| image.rank);
    let places = paths.first().map_or_else(String::new, |path| path.as_ref().display().to_string());
    combine::profile(images, program)
        .map_err(|found| InputError::new(places, found, EXPECTED_SPOOL))
}

#[cfg(test)]
mod tests;
