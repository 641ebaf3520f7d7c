//! The launchers that a file may be for, from its content.

use super::read::arguments::Arguments;
use super::read::job_script::mpi::Mpi;
use super::read::job_script::{self, SEVERAL};
use super::read::rankfile::is_hostfile;
use super::read::script::is_mpi_launcher;
use super::read::slurm::names_hostfile;
use super::{FORMATS, Format, RankReading, Reading, find, program_of};
use crate::cluster::Cluster;
use crate::files::InputError;
use crate::ids::format_index_list;

const OPEN_MPI: [&str; 2] = ["openmpi4", "openmpi5"];
const HYDRA: &[&str] = &["mpich", "mpich:4.0", "intelmpi"];
const EXPECTED: &str = "a rankfile, hostfile, machinefile, configfile, host list or rank order of a \
                        launcher that `lint` reads";

/// Job scripts that are not read, by how their options begin.
const OTHER_JOBS: [(&str, &str); 2] = [
    ("#PJM", "a job script for PJM, which is not read"),
    ("#$ ", "a job script for Grid Engine, which is not read"),
];

/// The begin of the advice where several launchers are left.
pub(super) const SAY: &str = "say which: ";

/// A file whose launcher was guessed.
#[derive(Debug)]
pub struct Guessed {
    /// The launcher that it was read for.
    pub format: &'static Format,
    /// Other launchers that it may be for, and that start the same ranks in the same places; of a hostfile
    /// of Open MPI, on the same hosts. Their warnings are among those of the reading.
    pub alike: Vec<&'static Format>,
    /// The effective meaning.
    pub reading: Reading,
}

/// Reads a file for the launcher that its content and the arguments tell; the parameters are those of
/// [`Format::read`].
///
/// # Errors
/// If no launcher fits, or several do that do not read it in the same way; if the file cannot be
/// parsed.
pub fn read_guessed(
    text: &str,
    file: &str,
    arguments: &[String],
    cluster: Option<&Cluster>,
) -> Result<Guessed, InputError> {
    read_for(text, file, arguments, cluster, None)
}

/// As [`read_guessed`], for the launcher of an MPI library if that is known.
pub(super) fn read_for(
    text: &str,
    file: &str,
    arguments: &[String],
    cluster: Option<&Cluster>,
    mpi: Option<&Mpi>,
) -> Result<Guessed, InputError> {
    let mut names = candidates(text, Arguments::new(arguments))
        .map_err(|found| InputError::new(file, found, EXPECTED).with_advice(way_out(found)))?;
    narrow(&mut names, mpi);
    let formats: Vec<&'static Format> = names.into_iter().filter_map(find).collect();
    let mut readings = Vec::new();
    let mut error = None;
    for format in &formats {
        match format.read(text, file, arguments, cluster) {
            Ok(reading) => readings.push((*format, reading)),
            Err(wrong) => error = error.or(Some((*format, wrong))),
        }
    }
    let different = |how: Option<String>| {
        let how = how.map_or(String::new(), |how| format!(": {how}"));
        let formats = formats.iter().copied();
        let found =
            format!("a file for {}, which do not read it alike{how}", listed(formats.clone()));
        let options: Vec<String> =
            formats.map(|format| format!("--from {}", format.name)).collect();
        InputError::new(file, found, "one launcher")
            .with_advice(format!("{SAY}{}", one_of(options)))
    };
    if let Some((format, error)) = error {
        // One launcher's error says what is wrong only if no other is possible.
        let how = format!("{} cannot read it ({})", format.name, error.found);
        return Err(if readings.is_empty() { error } else { different(Some(how)) });
    }
    let mut readings = readings.into_iter();
    let (format, mut reading) = readings.next().ok_or_else(|| different(None))?;
    let mut alike = Vec::new();
    for (other, its) in readings {
        if its.ranks != reading.ranks || its.starts() != reading.starts() {
            let same_hosts = its.host_of_rank().eq(reading.host_of_rank());
            let versions =
                alike.is_empty() && format.name == OPEN_MPI[0] && other.name == OPEN_MPI[1];
            if !(versions && is_hostfile(text) && same_hosts && its.starts() == reading.starts()) {
                return Err(different(difference((format, &reading), (other, &its))));
            }
            reading.drop_cores(
                "Open MPI 4.1 and 5.0 bind these ranks differently; --from openmpi4 or \
                 --from openmpi5 shows each",
            );
        }
        // A warning names the versions that it is about.
        let more = its.warnings.into_iter().filter(|it| !reading.warnings.contains(it));
        let more: Vec<_> = more.collect();
        reading.warnings.extend(more);
        alike.push(other);
    }
    reading.warnings.sort_by_key(|warning| (warning.line, warning.trap.code));
    Ok(Guessed { format, alike, reading })
}

/// What two launchers do differently with a file: whether they start it, or the first rank that differs.
fn difference(
    (format, reading): (&Format, &Reading),
    (other, its): (&Format, &Reading),
) -> Option<String> {
    let (name, other_name) = (format.name, other.name);
    if reading.starts() != its.starts() {
        let (refuses, of_it) = if its.starts() { (name, reading) } else { (other_name, its) };
        let warning = of_it.warnings.iter().find(|warning| warning.refused)?;
        let line = warning.line.map_or(String::new(), |line| format!("line {line}, "));
        return Some(format!("{refuses} refuses it ({line}{})", warning.text));
    }
    if reading.ranks.len() != its.ranks.len() {
        let (ranks, others) = (reading.ranks.len(), its.ranks.len());
        return Some(format!("{name} starts {ranks} ranks, {other_name} {others}"));
    }
    let mut pairs = reading.ranks.iter().zip(&its.ranks);
    let (one, two) = pairs.find(|(one, two)| one != two)?;
    let place = |rank: &RankReading| {
        let host = &rank.host;
        let list = |indices: Vec<u32>| format_index_list(&indices);
        match (&rank.pus, &rank.cores) {
            _ if !rank.bound => format!("{host} without binding"),
            (Some(pus), _) => format!("{host} PU P#{pus}"),
            (None, Some(cores)) => {
                format!("{host} core L#{}", list(cores.iter().map(|core| core.0).collect()))
            }
            (None, None) => format!("{host}, on cores that are not known"),
        }
    };
    let (rank, line) = (one.rank, one.line);
    Some(format!(
        "line {line}, rank {rank}: {name} takes {}, {other_name} {}",
        place(one),
        place(two)
    ))
}

/// The names of formats.
fn listed(formats: impl Iterator<Item = &'static Format>) -> String {
    one_of(formats.map(|format| format.name.to_owned()).collect())
}

/// What to do about a file that is `found` to be for no launcher that is read.
fn way_out(found: &str) -> String {
    if OTHER_JOBS.iter().any(|(_, other)| *other == found) {
        "job scripts are read for Slurm, PBS, LSF and Flux; lint the hostfile, rankfile or wrapper that \
         this one uses, with its launch line in --launcher-args"
            .to_owned()
    } else if found == SEVERAL {
        "say for which one it is read: --from slurm, pbs or lsf".to_owned()
    } else {
        format!("if you know it: --from {}", listed(FORMATS.iter()))
    }
}

/// `a, b or c`.
fn one_of(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}

/// The names of the formats that the file may have; or else what it seems to be.
fn candidates(text: &str, arguments: Arguments<'_>) -> Result<Vec<&'static str>, &'static str> {
    let mut names = by_content(text)?;
    for told in by_arguments(arguments) {
        if names.iter().any(|name| told.contains(name)) {
            names.retain(|name| told.contains(name));
        } else if names == HYDRA && told.iter().all(|name| OPEN_MPI.contains(name)) {
            // `n0:4` in a hostfile of Open MPI: a mistake that its reader tells.
            names = told.to_vec();
        }
    }
    Ok(names)
}

/// Leaves the rows of an MPI library. Where the content is that of another library's file, its own reader
/// says what is wrong with it.
fn narrow(names: &mut Vec<&'static str>, mpi: Option<&Mpi>) {
    let Some(mpi) = mpi else { return };
    if names.iter().any(|name| mpi.formats.contains(name)) {
        names.retain(|name| mpi.formats.contains(name));
    } else if !mpi.is_cray() && names.iter().all(|name| Mpi::of_format(name).is_some()) {
        *names = mpi.formats.to_vec();
    }
}

fn by_content(text: &str) -> Result<Vec<&'static str>, &'static str> {
    if text.contains('\0') {
        return Err("a binary file");
    }
    if text.starts_with("#!") || !job_script::systems(text).is_empty() {
        return script(text);
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines().any(|line| line.contains("# rank ")) {
        return Ok(vec!["numactl"]);
    }
    let lines = || {
        let lines = lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        lines.filter(|line| !line.is_empty())
    };
    let first = lines().next().ok_or("no line with content")?;
    if first.starts_with('{') && text.contains("\"workload_digest\"") {
        return Err("a placement, of which `rankwright launch` writes files for a launcher");
    }
    if first.starts_with("rankwright-ranks-map") {
        return Err(
            "the ranks.map of rankwright-exec, which `rankwright launch` wrote (`rankwright run --check` checks it in \
             the job)",
        );
    }
    if super::read::flux::taskmap::is_one(first) {
        return Ok(vec!["flux"]);
    }
    let word = first.split_whitespace().next().unwrap_or_default();
    if word.split('=').next() == Some("rank") {
        return Ok(OPEN_MPI.to_vec());
    }
    if first.starts_with('-') {
        return Ok(vec!["intelmpi"]);
    }
    if lines().any(|line| line.contains("binding=")) {
        return Ok(vec!["mpich", "mpich:4.0"]);
    }
    if lines().any(|line| line.contains("slots") && line.contains('=')) {
        return Ok(OPEN_MPI.to_vec());
    }
    if job_script::sbatch::multi_prog::is_one(text) && first.contains(char::is_alphabetic) {
        return Ok(vec!["slurm"]);
    }
    let is_order = |letter: char| letter.is_ascii_digit() || ", -\t".contains(letter);
    if lines().all(|line| line.chars().all(is_order)) {
        return Ok(vec!["craympich"]);
    }
    let is_host = |letter: char| letter.is_ascii_alphanumeric() || "-_.:,*[]@ \t".contains(letter);
    if !lines().all(|line| line.chars().all(is_host)) || lines().any(has_several_words) {
        return Err("lines of an unknown kind");
    }
    if lines().any(|line| line.contains([',', '*', '['])) {
        return Ok(vec!["slurm", "flux"]);
    }
    if lines().any(|line| line.contains(':')) {
        return Ok(HYDRA.to_vec());
    }
    Ok(vec!["openmpi4", "openmpi5", "mpich", "mpich:4.0", "intelmpi", "slurm", "flux"])
}

fn has_several_words(line: &str) -> bool {
    line.split_whitespace().count() > 1 && !line.contains(',')
}

fn script(text: &str) -> Result<Vec<&'static str>, &'static str> {
    match job_script::systems(text)[..] {
        [] => {}
        [system] => return Ok(vec![system]),
        _ => return Err(SEVERAL),
    }
    for (start, found) in OTHER_JOBS {
        if text.lines().any(|line| line.starts_with(start)) {
            return Err(found);
        }
    }
    if super::read::flux::script::is_one(text) {
        return Ok(vec!["flux"]);
    }
    if text.contains(") host=") && text.contains(" options='") {
        return Ok(vec!["numactl"]);
    }
    if super::read::script::is_one(text) {
        return Ok(vec!["wrapper"]);
    }
    if text.contains("rankwright-exec --map ") {
        return Err(
            "a script of `rankwright launch`, in which rankwright-exec binds the ranks as ranks.map says (`rankwright \
             run --check` checks that in the job)",
        );
    }
    let is_launch = |line: &str| {
        let mut words = line.split_whitespace();
        words.any(|word| program_of(word) == "srun")
            && words.any(|word| word == "-w" || word.starts_with("--nodelist"))
    };
    if text.lines().any(is_launch) || names_hostfile(text) {
        return Ok(vec!["slurm"]);
    }
    let mut firsts = text.lines().filter_map(|line| line.split_whitespace().next());
    if firsts.any(|word| is_mpi_launcher(program_of(word))) {
        return Err(
            "a script with `mpirun` and no lines for a batch system (for what `mpirun` does with a hostfile, \
             lint that file and give the line in --launcher-args)",
        );
    }
    Err("a script whose srun, if any, names no hosts (-w)")
}

/// The formats that arguments of the launcher leave, one list for each that tells something.
fn by_arguments(arguments: Arguments<'_>) -> impl Iterator<Item = &'static [&'static str]> {
    // The options of programs are not those of mpirun.
    let words = arguments.without_programs();
    let own = Arguments::new(&words);
    let has = |start: &str| arguments.words().any(|word| word.starts_with(start));
    let has_own = |start: &str| own.words().any(|word| word.starts_with(start));
    let part = |part: &str| arguments.words().any(|word| word.contains(part));
    let program = |name: &str| arguments.words().any(|word| program_of(word) == name);
    let told: [(bool, &'static [&'static str]); 11] = [
        (
            program("mpirun") || program("mpiexec"),
            &["openmpi4", "openmpi5", "mpich", "mpich:4.0", "intelmpi"],
        ),
        (program("mpiexec.hydra") || own.has("-genv"), HYDRA),
        (own.has("--mca") || own.has("-mca") || has_own("--report-bindings"), &OPEN_MPI),
        (own.has("-rf") || own.has("rmaps") || program("orterun"), &["openmpi4"]),
        (part("rankfile:file=") || has_own("--prtemca") || program("prterun"), &["openmpi5"]),
        (has_own("-rankmap") || has_own("--rankmap"), &["mpich"]),
        (part("I_MPI_") || has_own("-machinefile") || has_own("-configfile"), &["intelmpi"]),
        (program("srun") || part("SLURM_HOSTFILE") || has("--cpu-bind"), &["slurm"]),
        (program("flux") || part("cpu-affinity=") || has("--taskmap"), &["flux"]),
        (part("taskmap="), &["flux"]),
        (part("MPICH_RANK_REORDER"), &["craympich"]),
    ];
    told.into_iter().filter(|(is, _)| *is).map(|(_, names)| names)
}
