//! The MPI library whose `mpirun` a job script starts: that of the module or package that it loads.

use crate::lint::read::rankfile::slot_list::Version;

/// An MPI library, as far as its `mpirun` differs from others.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lint) struct Mpi {
    /// As notes call it.
    pub(in crate::lint) name: &'static str,
    /// The rows of [`FORMATS`](crate::lint::FORMATS) for its launcher; several if its version is not known.
    pub(in crate::lint) formats: &'static [&'static str],
}

static OPEN_MPI_4: Mpi = Mpi { name: "Open MPI 4.1", formats: &["openmpi4"] };
static OPEN_MPI_5: Mpi = Mpi { name: "Open MPI 5.0", formats: &["openmpi5"] };
static OPEN_MPI: Mpi = Mpi { name: "Open MPI 4.1 or 5.0", formats: &["openmpi4", "openmpi5"] };
static MPICH: Mpi = Mpi { name: "MPICH 4.1 or newer", formats: &["mpich"] };
static MPICH_4_0: Mpi = Mpi { name: "MPICH before 4.1", formats: &["mpich:4.0"] };
static ANY_MPICH: Mpi = Mpi { name: "MPICH", formats: &["mpich", "mpich:4.0"] };
static INTEL_MPI: Mpi = Mpi { name: "Intel MPI", formats: &["intelmpi"] };
static CRAY_MPICH: Mpi = Mpi { name: "Cray MPICH", formats: &["craympich"] };

/// Those with one version.
static ALL: [&Mpi; 6] = [&OPEN_MPI_4, &OPEN_MPI_5, &MPICH, &MPICH_4_0, &INTEL_MPI, &CRAY_MPICH];

/// Whose module or package it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    OpenMpi,
    /// NVIDIA's Open MPI, under version numbers of its own.
    HpcX,
    Mpich,
    Intel,
    Cray,
}

/// How the names of modules and packages begin, up to the version.
const NAMES: [(&str, Family); 8] = [
    ("openmpi", Family::OpenMpi),
    ("hpcx", Family::HpcX),
    ("mpich", Family::Mpich),
    ("cray-mpich", Family::Cray),
    ("intel-oneapi-mpi", Family::Intel),
    ("intel-mpi", Family::Intel),
    ("intelmpi", Family::Intel),
    ("impi", Family::Intel),
];

/// What a command of `module`, `ml` or `spack` does to the MPI library that is loaded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Loads one, by the word that names it.
    Loads(&'static Mpi, String),
    Unloads,
}

/// A module or package in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Loaded {
    pub(in crate::lint) mpi: &'static Mpi,
    /// The word that names it.
    pub(in crate::lint) word: String,
    pub(in crate::lint) line: usize,
}

impl Mpi {
    /// The one with this row of [`FORMATS`](crate::lint::FORMATS).
    pub(in crate::lint) fn of_format(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|mpi| mpi.formats == [name])
    }

    /// The versions of Open MPI that it may be; none of another library.
    pub(super) fn open_mpi(&self) -> Vec<Version> {
        let version = |format: &&str| match *format {
            "openmpi4" => Some(Version::Four),
            "openmpi5" => Some(Version::Five),
            _ => None,
        };
        self.formats.iter().filter_map(version).collect()
    }

    pub(in crate::lint) fn is_cray(&self) -> bool {
        *self == CRAY_MPICH
    }

    /// Whether it is MPICH itself, whose launcher binds nothing by default.
    pub(super) fn is_mpich(&self) -> bool {
        self.formats[0].starts_with("mpich")
    }

    /// The library of a module (`openmpi/4.1.5`) or package (`openmpi@5.0.3`).
    fn of_module(word: &str) -> Option<&'static Self> {
        let word = word.to_ascii_lowercase();
        // Behind these, Spack has variants and the compiler.
        let word = word.split(['%', '+', '~', '^']).next()?;
        let mut parts = word.split(['/', '@']);
        let is_separator = |rest: &str| {
            rest.is_empty()
                || rest.starts_with(|c: char| c.is_ascii_digit() || ['-', '_', '.'].contains(&c))
        };
        let (family, rest) = parts.by_ref().find_map(|part| {
            let found = NAMES.iter().find_map(|(name, family)| {
                let rest = part.strip_prefix(name).filter(|rest| is_separator(rest))?;
                Some((*family, rest))
            });
            // The modules of oneAPI: `mpi/2021.11`.
            let next = word.split_once("mpi/").map_or("", |(_, next)| next);
            found.or((part == "mpi" && next.starts_with("20")).then_some((Family::Intel, "")))
        })?;
        let rest = rest.trim_start_matches(['-', '_', '.']);
        let versions: Vec<(u32, Option<u32>)> =
            std::iter::once(rest).chain(parts).filter_map(version).collect();
        Some(match family {
            Family::HpcX => &OPEN_MPI,
            Family::Intel => &INTEL_MPI,
            Family::Cray => &CRAY_MPICH,
            Family::OpenMpi => one(versions.into_iter().map(|(major, _)| match major {
                ..5 => &OPEN_MPI_4,
                _ => &OPEN_MPI_5,
            }))
            .unwrap_or(&OPEN_MPI),
            Family::Mpich => one(versions.into_iter().map(|version| match version {
                (..4, _) | (4, Some(0)) => &MPICH_4_0,
                (4, None) => &ANY_MPICH,
                _ => &MPICH,
            }))
            .unwrap_or(&ANY_MPICH),
        })
    }
}

/// What all have in common: the first, if the others are the same.
fn one(mut all: impl Iterator<Item = &'static Mpi>) -> Option<&'static Mpi> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Major and minor number at the start of a word, if they may be those of Open MPI or MPICH: other numbers
/// are of compilers.
fn version(word: &str) -> Option<(u32, Option<u32>)> {
    let word = word.strip_prefix('v').unwrap_or(word);
    let mut numbers = word.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    let major = numbers.next()?.filter(|major| (1..=6).contains(major))?;
    let has_minor = word.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('.');
    Some((major, numbers.next().flatten().filter(|_| has_minor)))
}

/// What a command does to the MPI library that is loaded; `None` if it leaves it. Of several names the last
/// one counts, as with `module swap OLD NEW`.
pub(super) fn change(words: &[String]) -> Option<Change> {
    let (command, arguments) = words.split_first()?;
    let mut names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_short = command == "ml";
    if !is_short {
        names.retain(|word| !word.starts_with('-'));
    }
    let action = names.first().copied().unwrap_or_default();
    let mpi = |word: &str| Some((Mpi::of_module(word)?, word.to_owned()));
    let load = |names: &[&str]| {
        let loaded = names.iter().rev().find_map(|word| mpi(word));
        loaded.map(|(mpi, word)| Change::Loads(mpi, word))
    };
    match (command.as_str(), action) {
        ("module" | "ml", "purge" | "reset" | "restore" | "r") => Some(Change::Unloads),
        ("module" | "ml", "unload" | "rm" | "remove" | "del" | "delete") | ("spack", "unload") => {
            names[1..].iter().any(|word| mpi(word).is_some()).then_some(Change::Unloads)
        }
        ("module" | "ml", "load" | "add" | "try-load" | "try-add" | "swap" | "switch" | "sw")
        | ("spack", "load") => load(&names[1..]),
        // `ml NAME..` loads, `ml -NAME` unloads.
        ("ml", _) => load(&names).or_else(|| {
            let unloads = |word: &&str| word.strip_prefix('-').and_then(mpi).is_some();
            names.iter().any(unloads).then_some(Change::Unloads)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_name_a_library_and_its_version() {
        for (word, name) in [
            ("openmpi/4.1.5", "Open MPI 4.1"),
            ("OpenMPI/4.1.5-GCC-12.3.0", "Open MPI 4.1"),
            ("openmpi/gcc/12.3.0/5.0.3", "Open MPI 5.0"),
            ("gcc/12/openmpi/5.0", "Open MPI 5.0"),
            ("openmpi4/4.1.6", "Open MPI 4.1"),
            ("openmpi-5.0.3", "Open MPI 5.0"),
            ("openmpi/3.1.6", "Open MPI 4.1"),
            ("openmpi@5.0.3%gcc@12.3.0+legacylaunchers", "Open MPI 5.0"),
            ("mpi/openmpi-x86_64", "Open MPI 4.1 or 5.0"),
            ("openmpi", "Open MPI 4.1 or 5.0"),
            ("openmpi/$VERSION", "Open MPI 4.1 or 5.0"),
            ("openmpi/gcc-5/4.1", "Open MPI 4.1"),
            ("openmpi/gcc/5.4.0/4.1", "Open MPI 4.1 or 5.0"),
            ("hpcx/2.18", "Open MPI 4.1 or 5.0"),
            ("mpich/4.2.0", "MPICH 4.1 or newer"),
            ("mpich/3.4.3-ofi", "MPICH before 4.1"),
            ("mpich/4.0.2", "MPICH before 4.1"),
            ("mpich/4", "MPICH"),
            ("mpi/mpich-x86_64", "MPICH"),
            ("impi/2021.9.0-intel-compilers-2023.1.0", "Intel MPI"),
            ("intel-oneapi-mpi@2021.10.0", "Intel MPI"),
            ("intelmpi", "Intel MPI"),
            ("mpi/2021.11", "Intel MPI"),
            ("cray-mpich/8.1.27", "Cray MPICH"),
        ] {
            assert_eq!(Mpi::of_module(word).map(|mpi| mpi.name), Some(name), "{word}");
        }
        for word in
            ["gcc/12", "mpi", "mpi/4", "openmpifoo/4", "hdf5/1.14-openmpi", "mpi4py/3.1", ""]
        {
            assert_eq!(Mpi::of_module(word), None, "{word}");
        }
    }

    #[test]
    fn commands_load_and_unload() {
        let changed = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            change(&words)
        };
        let loads = |mpi: &'static Mpi, word: &str| Some(Change::Loads(mpi, word.to_owned()));
        let of_4 = || loads(&OPEN_MPI_4, "openmpi/4.1.5");
        for line in [
            "module load gcc/12 openmpi/4.1.5",
            "module -s add openmpi/4.1.5 hdf5",
            "module swap mpich openmpi/4.1.5",
            "ml gcc openmpi/4.1.5",
            "ml load openmpi/4.1.5",
            "ml -mpich openmpi/4.1.5",
            "ml -q openmpi/4.1.5",
        ] {
            assert_eq!(changed(line), of_4(), "{line}");
        }
        assert_eq!(changed("spack load openmpi@5.0.3"), loads(&OPEN_MPI_5, "openmpi@5.0.3"));
        for line in ["module purge", "module unload openmpi", "ml -openmpi", "spack unload mpich"] {
            assert_eq!(changed(line), Some(Change::Unloads), "{line}");
        }
        for line in
            ["module load gcc", "module use /opt/openmpi", "module", "ml", "spack find openmpi"]
        {
            assert_eq!(changed(line), None, "{line}");
        }
    }
}
