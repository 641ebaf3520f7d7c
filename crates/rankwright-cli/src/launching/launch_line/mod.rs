//! Finds the programs in a launcher's command line: `mpirun -np 4 -x A ./app in : -np 2 ./other`.

mod options;
mod wrappers;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankwright_shim_format::{RANK_VARIABLES, SHIM, shim_options};

use crate::host::find_program;
use crate::host::mpi::{Family, Mpi};
use crate::output::exit_code::{NotStarted, UsageError};
use options::{APRUN, FLUX, HYDRA, JSRUN, OPEN_MPI, Options, SRUN, words_of_letters};

/// A launcher's command line.
#[derive(Debug)]
pub(crate) struct LaunchLine {
    /// The words before the launcher's name: `nice -n 5`.
    before: Vec<String>,
    /// The launcher's name as it was written.
    name: String,
    pub(crate) launcher: PathBuf,
    /// The MPI of the launcher; `None` for launchers of any MPI, such as srun.
    pub(crate) mpi: Option<Mpi>,
    /// Whether the user marked the programs with `rankwright exec`.
    pub(crate) marked: bool,
    /// The words behind the launcher's name.
    arguments: Vec<String>,
    parts: Vec<Part>,
}

/// One part of an MPMD command line; other lines have one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    /// Index of the word to put the shim at: the program, or the first word of the user's mark.
    shim: usize,
    /// Number of words of the user's mark.
    replaced: usize,
    program: usize,
    /// Index of the word behind the program's last argument.
    end: usize,
}

impl LaunchLine {
    /// Reads a command line that begins with the launcher, or with programs that start it.
    ///
    /// # Errors
    /// If the launcher is not found or not known, or no program follows it.
    pub(crate) fn read(command: &[String]) -> anyhow::Result<Self> {
        let (before, command) = command.split_at(wrappers::words_before_launcher(command)?);
        let (launcher, arguments) = command.split_first().expect("the caller has at least one");
        if let Some(wrapper) = before.first() {
            find_launcher(Path::new(wrapper))?;
        }
        let name = Path::new(launcher);
        let program = find_launcher(name)?;
        let marks = marked_parts(arguments)?;
        let marked = !marks.is_empty();
        let kind = Kind::of(name);
        let mpi = match kind {
            Some(Kind::Mpi) => match Mpi::ask(program.clone()) {
                Ok(mpi) => Some(mpi),
                Err(_) if marked => None,
                Err(said) => return Err(not_known(name, &said).into()),
            },
            Some(_) => None,
            None if marked => None,
            None => return Err(no_launcher(name).into()),
        };
        let parts = match kind {
            Some(kind) if !marked => parts(kind.options(mpi.as_ref()), arguments),
            _ => marks,
        };
        if parts.is_empty() {
            return Err(no_program(command).into());
        }
        Ok(Self {
            before: before.to_vec(),
            name: launcher.clone(),
            launcher: program,
            mpi,
            marked,
            arguments: arguments.to_vec(),
            parts,
        })
    }

    /// Each program with its arguments.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &[String]> {
        self.parts.iter().map(|part| &self.arguments[part.program..part.end])
    }

    /// The launcher's options for each program.
    pub(crate) fn options(&self) -> impl Iterator<Item = &[String]> {
        let starts = std::iter::once(0).chain(self.parts.iter().map(|part| part.end + 1));
        self.parts.iter().zip(starts).map(|(part, start)| &self.arguments[start..part.shim])
    }

    /// The command line with another program instead of the only one, and its arguments.
    ///
    /// # Errors
    /// If the line has several programs.
    pub(crate) fn with_program(&self, words: &[OsString]) -> Result<Command, UsageError> {
        let [part] = self.parts[..] else {
            let text = "several programs, expected a line that starts one".to_owned();
            return Err(UsageError(text));
        };
        let mut command = self.begin();
        command.args(&self.arguments[..part.shim]).args(words);
        Ok(command)
    }

    /// The command line with a shim and its options before each program. The options must not end
    /// with `--`, because options of the user's shim may follow.
    pub(crate) fn with_shim(&self, shim: &[OsString]) -> Command {
        let mut command = self.begin();
        let mut copied = 0;
        for part in &self.parts {
            command.args(&self.arguments[copied..part.shim]).args(shim);
            copied = part.shim + part.replaced;
            if part.replaced == 0 {
                command.arg("--");
            }
        }
        command.args(&self.arguments[copied..]);
        command
    }

    /// The words up to the launcher.
    fn begin(&self) -> Command {
        let Some((wrapper, rest)) = self.before.split_first() else {
            return Command::new(&self.launcher);
        };
        let mut command = Command::new(wrapper);
        command.args(rest).arg(&self.name);
        command
    }
}

/// Launchers known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The launcher of an MPI; its `--version` tells which.
    Mpi,
    /// PRRTE's launcher, which starts programs of any MPI with PMIx.
    Prterun,
    Srun,
    Flux,
    Aprun,
    Jsrun,
}

/// The launchers by the beginning of their file names.
const KINDS: [(&str, Kind); 8] = [
    ("mpirun", Kind::Mpi),
    ("mpiexec", Kind::Mpi),
    ("orterun", Kind::Mpi),
    ("prterun", Kind::Prterun),
    ("srun", Kind::Srun),
    ("flux", Kind::Flux),
    ("aprun", Kind::Aprun),
    ("jsrun", Kind::Jsrun),
];

impl Kind {
    fn of(launcher: &Path) -> Option<Self> {
        let name = launcher.file_name().unwrap_or_default().to_string_lossy();
        let suits = |start: &str| {
            let rest = name.strip_prefix(start);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        };
        KINDS.iter().find(|(start, _)| suits(start)).map(|(_, kind)| *kind)
    }

    fn options(self, mpi: Option<&Mpi>) -> &'static Options {
        match (self, mpi.map(|mpi| mpi.family)) {
            (Self::Mpi, Some(Family::Mpich | Family::Intel)) => &HYDRA,
            (Self::Mpi | Self::Prterun, _) => &OPEN_MPI,
            (Self::Srun, _) => &SRUN,
            (Self::Flux, _) => &FLUX,
            (Self::Aprun, _) => &APRUN,
            (Self::Jsrun, _) => &JSRUN,
        }
    }
}

fn find_launcher(name: &Path) -> Result<PathBuf, NotStarted> {
    find_program(name).ok_or_else(|| {
        // A name without a folder is searched on PATH only.
        let (code, what) = match name.components().count() > 1 && name.exists() {
            true => (126, "the file is not executable"),
            false => (127, "program not found"),
        };
        NotStarted { code, why: format!("{}: {what}", name.display()) }
    })
}

fn not_known(name: &Path, said: &str) -> NotStarted {
    let why = format!(
        "{}: --version prints {said}, expected the launcher of Open MPI, \
         MPICH or Intel MPI; if it does start MPI programs, write `rankwright exec` before the \
         program and give --mpi",
        name.display()
    );
    NotStarted { code: 125, why }
}

fn no_launcher(name: &Path) -> NotStarted {
    let launchers = KINDS.map(|(launcher, _)| launcher).join(", ");
    let name = name.display();
    // Slurm sets its variable for batch scripts, too, which are no ranks.
    let of_launchers = RANK_VARIABLES.iter().filter(|variable| !variable.starts_with("SLURM"));
    let mut around = of_launchers.filter(|variable| std::env::var_os(variable).is_some());
    if let Some(variable) = around.next() {
        let why = format!(
            "{name}: not a known launcher, and a launcher started this ({variable} is set); rankwright goes \
             before the launcher: rankwright profile -o app.rwp -- mpirun -np 4 {name}"
        );
        return NotStarted { code: 125, why };
    }
    let why = format!(
        "{name}: not a known launcher, expected one of {launchers} with its options, perhaps behind \
         {}; if it is a script, put rankwright before the launcher in it; if it is another launcher, mark the \
         program with `rankwright exec`: {name} ... rankwright exec ./app",
        wrappers::names()
    );
    NotStarted { code: 125, why }
}

/// Options that make a launcher read the programs from a file.
const PROGRAMS_IN_A_FILE: [&str; 4] = ["--multi-prog", "--app", "-configfile", "--configfile"];

fn no_program(command: &[String]) -> UsageError {
    let in_a_file = command.iter().find(|word| PROGRAMS_IN_A_FILE.contains(&word.as_str()));
    let line = command.join(" ");
    UsageError(match in_a_file {
        Some(option) => format!(
            "no program in `{line}`: {option} names a file with the programs, which profile \
             does not read; write them on the command line, with ` : ` between them"
        ),
        None => format!(
            "no program in `{line}`, expected the launcher, its options, the program and its \
             arguments"
        ),
    })
}

/// The parts of a line in which the user wrote `rankwright exec` before the programs.
fn marked_parts(arguments: &[String]) -> Result<Vec<Part>, UsageError> {
    let named = |place: usize, name: &str| {
        let word = arguments.get(place).map(Path::new).and_then(Path::file_name);
        word.is_some_and(|word| word == name)
    };
    let mut parts = Vec::new();
    let mut place = 0;
    while place < arguments.len() {
        let replaced = match () {
            () if named(place, SHIM) => 1,
            () if named(place, "rankwright")
                && arguments.get(place + 1).is_some_and(|w| w == "exec") =>
            {
                2
            }
            () => {
                place += 1;
                continue;
            }
        };
        let end = end_of_part(arguments, place);
        let program = program_of_shim(&arguments[..end], place + replaced).ok_or_else(|| {
            UsageError(format!(
                "no program behind `{}`, expected rankwright exec PROGRAM",
                arguments[place..end].join(" ")
            ))
        })?;
        parts.push(Part { shim: place, replaced, program, end });
        place = end;
    }
    Ok(parts)
}

/// The index of the program behind the options of the user's shim.
fn program_of_shim(arguments: &[String], start: usize) -> Option<usize> {
    let mut place = start;
    loop {
        place += match arguments.get(place)?.as_str() {
            "--" => return (place + 1 < arguments.len()).then_some(place + 1),
            option if shim_options::WITH_VALUE.contains(&option) => 2,
            option if option.starts_with('-') => 1,
            _ => return Some(place),
        };
    }
}

fn end_of_part(arguments: &[String], start: usize) -> usize {
    let colon = arguments[start..].iter().position(|argument| argument == ":");
    colon.map_or(arguments.len(), |colon| start + colon)
}

/// The parts of a launcher's line; empty if no program is found.
fn parts(options: &Options, arguments: &[String]) -> Vec<Part> {
    let mut next = 0;
    if let Some(subcommand) = options.subcommand {
        match arguments.iter().position(|argument| argument == subcommand) {
            Some(place) => next = place + 1,
            None => return Vec::new(),
        }
    }
    let mut parts = Vec::new();
    while next < arguments.len() {
        let Some(program) = program_position(options, arguments, next) else { break };
        let end = end_of_part(arguments, program);
        parts.push(Part { shim: program, replaced: 0, program, end });
        next = end + 1;
    }
    parts
}

/// The first argument from `start` on that is neither an option nor its value.
fn program_position(options: &Options, arguments: &[String], start: usize) -> Option<usize> {
    let mut position = start;
    while let Some(argument) = arguments.get(position) {
        if PROGRAMS_IN_A_FILE.contains(&argument.as_str()) {
            return None;
        }
        let Some(name) = argument.strip_prefix('-') else { return Some(position) };
        let following = arguments.get(position + 1);
        position += match (name.strip_prefix('-'), options.letters) {
            // `--` ends the options.
            (Some(""), _) => return following.map(|_| position + 1),
            (None, Some(letters)) => words_of_letters(letters, name),
            (long, _) => words_of_name(options, long.unwrap_or(name), following),
        };
    }
    None
}

/// The number of words of a long option with its values.
fn words_of_name(options: &Options, name: &str, following: Option<&String>) -> usize {
    if name.contains('=') {
        1
    } else if options.one_value.contains(&name) {
        2
    } else if options.two_values.contains(&name) {
        3
    } else if looks_like_a_value(following) {
        // An unknown option, followed by a word that is not executable.
        2
    } else {
        1
    }
}

fn looks_like_a_value(argument: Option<&String>) -> bool {
    argument.is_some_and(|argument| {
        !argument.starts_with('-') && find_program(Path::new(argument)).is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn programs(options: &Options, line: &str) -> Vec<String> {
        let arguments = words(line);
        parts(options, &arguments).iter().map(|part| arguments[part.program].clone()).collect()
    }

    #[test]
    fn the_program_is_found_behind_options_and_their_values() {
        let open_mpi = |line| programs(&OPEN_MPI, line);
        assert_eq!(open_mpi("-np 4 ./app -np 8"), ["./app"]);
        assert_eq!(open_mpi("--mca btl self,tcp -x A=1 --oversubscribe /bin/true"), ["/bin/true"]);
        assert_eq!(open_mpi("--map-by=core --unknown-flag sh -c x"), ["sh"]);
        assert_eq!(open_mpi("--unknown-option 17 ./app"), ["./app"]);
        assert_eq!(open_mpi("-n 1 -- ./app"), ["./app"]);
        assert_eq!(open_mpi("--prtemca a b --map-by :OVERSUBSCRIBE ./app"), ["./app"]);
        let hydra = |line| programs(&HYDRA, line);
        assert_eq!(hydra("-genv A 1 -f hosts -n 2 ./app"), ["./app"]);
        assert_eq!(hydra("-bind-to core -env A 1 -envall -np 2 ./app"), ["./app"]);
    }

    #[test]
    fn sruns_letters_may_be_followed_by_values_at_once() {
        let srun = |line| programs(&SRUN, line);
        assert_eq!(srun("-n4 -N 2 -l ./app x"), ["./app"]);
        assert_eq!(srun("-ln 4 --mpi=pmi2 --export NONE ./app"), ["./app"]);
        assert_eq!(srun("-lun4 -- ./app"), ["./app"]);
        assert_eq!(srun("--exclusive --immediate -p debug ./app"), ["./app"]);
        assert_eq!(srun("-n1 ./a : -n2 -w host ./b"), ["./a", "./b"]);
        assert!(srun("-n2 --multi-prog ./programs").is_empty());
    }

    #[test]
    fn other_launchers_have_their_own_options() {
        assert_eq!(programs(&FLUX, "run -N2 -n 4 -o cpu-affinity=off ./app"), ["./app"]);
        assert!(programs(&FLUX, "submit -n 4 ./app").is_empty());
        assert_eq!(programs(&APRUN, "-n 4 -N 2 -cc cpu ./a : -n 2 ./b"), ["./a", "./b"]);
        assert_eq!(programs(&JSRUN, "-n 2 -a1 --bind rs ./app"), ["./app"]);
    }

    #[test]
    fn what_is_a_value_for_one_launcher_is_a_flag_for_the_other() {
        assert_eq!(programs(&OPEN_MPI, "-q -np 2 sh"), ["sh"]);
        assert_eq!(programs(&OPEN_MPI, "-np 2 -q sh"), ["sh"]);
        assert_eq!(programs(&HYDRA, "-n 2 -pmi-port sh"), ["sh"]);
    }

    #[test]
    fn every_part_of_an_mpmd_line_has_its_program() {
        let line = "-n 1 ./a x : -n 2 ./b : -n 3 ./c";
        assert_eq!(programs(&OPEN_MPI, line), ["./a", "./b", "./c"]);
    }

    #[test]
    fn a_line_without_a_program_has_none() {
        for line in ["", "-np 4", "--", "-np", "--app programs"] {
            assert!(programs(&OPEN_MPI, line).is_empty(), "{line}");
        }
    }

    #[test]
    fn the_user_may_say_where_the_programs_stand() {
        let line = "-x 1 rankwright exec ./a 1 : /opt/rankwright-exec --map m -- ./b";
        let arguments = words(line);
        let parts = marked_parts(&arguments).unwrap();
        let names: Vec<&str> = parts.iter().map(|part| arguments[part.program].as_str()).collect();
        assert_eq!(names, ["./a", "./b"]);
        let line = LaunchLine {
            before: words("nice -n 5"),
            name: "launch".to_owned(),
            launcher: "/launch".into(),
            mpi: None,
            marked: true,
            arguments,
            parts,
        };
        let command = line.with_shim(&["shim", "--trace", "t"].map(OsString::from));
        let shown: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(
            shown.join(" "),
            "-n 5 launch -x 1 shim --trace t ./a 1 : shim --trace t --map m -- ./b"
        );
        assert!(marked_parts(&words("-n 2 rankwright exec --map m")).is_err());
    }

    #[test]
    fn launchers_are_known_by_how_their_names_begin() {
        let kind = |name| Kind::of(Path::new(name));
        assert_eq!(kind("/usr/bin/mpirun.openmpi"), Some(Kind::Mpi));
        assert_eq!(kind("mpiexec.hydra"), Some(Kind::Mpi));
        assert_eq!(kind("mpirun-openmpi-mp"), Some(Kind::Mpi));
        assert_eq!(kind("srun"), Some(Kind::Srun));
        assert_eq!(kind("sh"), None);
        assert_eq!(kind("srunner"), None);
    }
}
