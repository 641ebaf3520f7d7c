//! The properties of a program's file that decide whether the tracer can be loaded into it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, FileHeader32, FileHeader64};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, FileKind, Object, ObjectSymbol, ReadCache, ReadRef};

/// A program or a library in the Executable and Linkable Format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Elf {
    /// The dynamic linker that starts it; `None` if it is linked statically.
    pub(crate) interpreter: Option<PathBuf>,
    /// The libraries that it names directly.
    pub(crate) needed: Vec<String>,
    /// Whether the MPI library is linked into it statically.
    pub(crate) contains_mpi: bool,
}

/// A program contains at least one of these functions if MPI is linked into it statically.
const INSIDE: [&[u8]; 4] = [b"PMPI_Init", b"MPI_Init", b"PMPI_Init_thread", b"MPI_Init_thread"];

impl Elf {
    /// Reads a file; `None` if it has another format, such as a script.
    ///
    /// # Errors
    /// If the file cannot be read, or is a damaged ELF file.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let cache = ReadCache::new(File::open(path)?);
        let parsed = match FileKind::parse(&cache) {
            Ok(FileKind::Elf64) => read_as::<FileHeader64<Endianness>>(&cache),
            Ok(FileKind::Elf32) => read_as::<FileHeader32<Endianness>>(&cache),
            _ => return Ok(None),
        };
        let mut elf = parsed
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        // A stripped program has no function names, but MPI libraries name the functions in their
        // messages. In a dynamically linked program such a text proves nothing.
        if elf.interpreter.is_none() && !elf.contains_mpi {
            elf.contains_mpi = contains(File::open(path)?, b"MPI_Init")?;
        }
        Ok(Some(elf))
    }
}

fn read_as<H: FileHeader<Endian = Endianness>>(
    cache: &ReadCache<File>,
) -> object::read::Result<Elf> {
    let file = ElfFile::<H, _>::parse(cache)?;
    let endian = file.endian();
    let mut interpreter = None;
    for header in file.elf_program_headers() {
        if let Some(name) = header.interpreter(endian, cache)? {
            interpreter = Some(PathBuf::from(OsStr::from_bytes(name)));
        }
    }
    let contains_mpi = file
        .symbols()
        .any(|symbol| symbol.is_definition() && symbol.name_bytes().is_ok_and(inside));
    Ok(Elf { interpreter, needed: needed(&file, cache)?, contains_mpi })
}

fn inside(name: &[u8]) -> bool {
    INSIDE.contains(&name)
}

/// The values of DT_NEEDED.
fn needed<'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(
    file: &ElfFile<'data, H, R>,
    data: R,
) -> object::read::Result<Vec<String>> {
    let table = file.elf_section_table().dynamic_table(file.endian(), data)?;
    let entries = table.iter().filter(|entry| entry.tag == DT_NEEDED);
    entries.map(|entry| Ok(String::from_utf8_lossy(table.string(entry)?).into_owned())).collect()
}

/// Whether a file contains a text.
fn contains(mut file: File, text: &[u8]) -> io::Result<bool> {
    let mut block = vec![0; 1 << 20];
    let mut kept = 0;
    loop {
        let read = file.read(&mut block[kept..])?;
        if read == 0 {
            return Ok(false);
        }
        let filled = kept + read;
        if block[..filled].windows(text.len()).any(|window| window == text) {
            return Ok(true);
        }
        // The text may begin in this block and end in the next.
        let tail = filled.min(text.len() - 1);
        block.copy_within(filled - tail..filled, 0);
        kept = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_dynamic_linker_and_its_libraries() {
        let us = std::env::current_exe().unwrap();
        let elf = Elf::read(&us).unwrap().expect("the test is a program");
        assert!(elf.interpreter.is_some_and(|path| path.is_absolute()));
        assert!(elf.needed.iter().any(|name| name.starts_with("libc.")), "{:?}", elf.needed);
        assert!(!elf.contains_mpi);
    }

    #[test]
    fn other_files_are_none_and_damaged_ones_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for text in
            ["", "#!/bin/sh\n", "\x7f", "plain text, longer than any header of a program is"]
        {
            std::fs::write(&file, text).unwrap();
            assert_eq!(Elf::read(&file).unwrap(), None, "{text}");
        }
        let us = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for length in (0..2048).step_by(61) {
            std::fs::write(&file, &us[..length]).unwrap();
            // Any result will do, but no panic.
            let _ = Elf::read(&file);
        }
        let mut damaged = us[..us.len().min(1 << 16)].to_vec();
        for place in (16..512).step_by(3) {
            damaged[place] ^= 0xff;
            std::fs::write(&file, &damaged).unwrap();
            let _ = Elf::read(&file);
        }
    }

    #[test]
    fn a_text_is_found_across_the_blocks_that_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for place in [0, (1 << 20) - 8, (1 << 20) - 4, 1 << 20, (1 << 21) - 3] {
            let mut bytes = vec![b'.'; (1 << 21) + 100];
            bytes[place..place + 8].copy_from_slice(b"MPI_Init");
            std::fs::write(&file, &bytes).unwrap();
            assert!(contains(File::open(&file).unwrap(), b"MPI_Init").unwrap(), "{place}");
            assert!(!contains(File::open(&file).unwrap(), b"MPI_Fini").unwrap());
        }
    }
}
