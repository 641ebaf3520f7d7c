//! The programs of a job: one for all ranks, or several that take the ranks in order (MPMD; MPI
//! 4.0, section 11.5).

pub(super) mod script;

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};

use crate::placement::{Granularity, JobEntry, ProgramRanks};
use crate::units::counted;

/// The programs of a job, as users write them behind `--`: `./app in`, or
/// `-n 2 ./ocean x : -n 6 ./air y` as for MPI launchers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLine {
    /// At least one part; at most one without a number of ranks.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// `None`: all ranks that the other parts leave.
    ranks: Option<usize>,
    /// `None` if the line does not say.
    cores: Option<NonZeroU32>,
    /// The program and its arguments.
    words: Vec<String>,
}

/// A program and its number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program<'a> {
    /// Number of ranks, at least 1; they follow the ranks of the program before.
    pub ranks: usize,
    /// The number of cores of each, if the line says so.
    pub cores: Option<NonZeroU32>,
    /// The program and its arguments.
    pub words: &'a [String],
}

/// What is wrong with a program line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramLineError {
    /// A part without a program: nothing before, between or behind a `:`.
    #[error(
        "part {part} of the program line: found no program, expected `[-n RANKS] [--cores-per-rank \
         CORES] PROGRAM ...`"
    )]
    NoProgram {
        /// The part, from 1.
        part: usize,
    },
    /// `-n` without a number.
    #[error(
        "part {part} of the program line: found {option} {found}, expected a number of {what} from 1"
    )]
    NoNumber {
        /// The part, from 1.
        part: usize,
        /// `ranks` or `cores`.
        what: &'static str,
        /// `-n`, `-np` or `--cores-per-rank`.
        option: String,
        /// The word behind it.
        found: String,
    },
    /// An option that only launchers know.
    #[error(
        "part {part} of the program line: found {option}, expected `-n RANKS`, `--cores-per-rank CORES` or a program; \
         options of the launcher go into --launcher-args, variables of one program into \
         `env NAME=VALUE PROGRAM`"
    )]
    Option {
        /// The part, from 1.
        part: usize,
        /// The option.
        option: String,
    },
    /// Several programs without a number of ranks.
    #[error(
        "the program line has no `-n RANKS` before `{first}` and before `{second}`; only one \
         program may omit it, and gets the remaining ranks (`:` separates programs: if it is an \
         argument of yours, put the command into a script)"
    )]
    NoNumbers {
        /// A program without a number of ranks.
        first: String,
        /// Another program without a number of ranks.
        second: String,
    },
}

/// The programs and the job do not have the same number of ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the programs take {sum} ranks, the job has {placed}: {advice}")]
pub struct RankCountError {
    /// The ranks of the programs: `2 + 6 = 8`.
    sum: String,
    /// Number of ranks of the job.
    placed: usize,
    /// What to do.
    advice: String,
}

/// The option for the cores of a program's ranks.
const CORES: &str = "--cores-per-rank";

/// The programs want other cores than a job has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CoresError {
    /// A rank has another number of cores.
    #[error(
        "rank {rank} of `{program}` is placed on {}, the line says {wanted}: place again with the same \
         programs behind `--`", counted(*placed, "core")
    )]
    Differ {
        /// The rank.
        rank: u32,
        /// Its program.
        program: String,
        /// The number of its cores.
        placed: usize,
        /// The number in the line.
        wanted: usize,
    },
    /// The job has another number of ranks.
    #[error(transparent)]
    Ranks(#[from] RankCountError),
}

/// Why the programs of a line cannot be given their cores.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramSlotsError {
    /// Ranks have a size that is not a number of cores.
    #[error("the programs of the line have cores or nodes of their own")]
    OtherSize,
    /// The job has another number of ranks.
    #[error(transparent)]
    Ranks(#[from] RankCountError),
}

impl ProgramLine {
    /// The size of each rank's slot where the line says how many cores ranks have, or programs have nodes of
    /// their own; `None` elsewhere. Where the line does not say it, ranks have the number of cores that is
    /// `given`, or one.
    ///
    /// # Errors
    /// If the line is not for this number of ranks, or ranks are given something else than cores.
    pub fn granularity(
        &self,
        ranks: usize,
        given: Option<&Granularity>,
        own_nodes: bool,
    ) -> Result<Option<Granularity>, ProgramSlotsError> {
        let programs = self.for_ranks(ranks)?;
        if !own_nodes && !self.has_cores() {
            return Ok(None);
        }
        let usual = match given {
            None => 1,
            Some(Granularity::Cores(cores)) => *cores,
            Some(_) => return Err(ProgramSlotsError::OtherSize),
        };
        let usual = NonZeroU32::new(usual).unwrap_or(NonZeroU32::MIN);
        let of_program = |program: Program| ProgramRanks {
            ranks: u32::try_from(program.ranks).unwrap_or(u32::MAX),
            cores: program.cores.unwrap_or(usual),
        };
        let programs = programs.into_iter().map(of_program).collect();
        Ok(Some(Granularity::Programs { programs, own_nodes }))
    }

    /// Whether the line says for some program how many cores its ranks have.
    #[must_use]
    pub fn has_cores(&self) -> bool {
        self.parts.iter().any(|part| part.cores.is_some())
    }

    /// An error if the ranks of a placed job do not have as many cores as the line says.
    ///
    /// # Errors
    /// Also if the job has another number of ranks.
    pub fn check_cores(&self, job: &JobEntry) -> Result<(), CoresError> {
        let mut ranks = job.ranks.iter();
        for program in self.for_ranks(job.ranks.len())? {
            for entry in ranks.by_ref().take(program.ranks) {
                let wanted = program.cores.map_or(entry.cores.len(), |cores| cores.get() as usize);
                if wanted != entry.cores.len() {
                    return Err(CoresError::Differ {
                        rank: entry.rank.0,
                        program: program.words[0].clone(),
                        placed: entry.cores.len(),
                        wanted,
                    });
                }
            }
        }
        Ok(())
    }

    /// Reads a line of programs.
    ///
    /// # Errors
    /// If a part is empty, has an invalid number of ranks or a launcher's option, or if more than
    /// one part has no number of ranks.
    pub fn parse(words: &[String]) -> Result<Self, ProgramLineError> {
        let parts = words.split(|word| word == ":").enumerate();
        let parts: Vec<Part> =
            parts.map(|(index, words)| Part::parse(index + 1, words)).collect::<Result<_, _>>()?;
        let mut without = parts.iter().filter(|part| part.ranks.is_none());
        if let (Some(first), Some(second)) = (without.next(), without.next()) {
            let (first, second) = (first.words[0].clone(), second.words[0].clone());
            return Err(ProgramLineError::NoNumbers { first, second });
        }
        Ok(Self { parts })
    }

    /// The names of the programs, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.words[0].as_str())
    }

    /// What differs where a profile is of other programs, or has them in another order: the traffic of one
    /// would be taken for that of another. `recorded` names them as
    /// [`Run`](crate::traffic::profile::Run) does. A program may stand behind wrappers.
    #[must_use]
    pub fn unlike_recorded(&self, recorded: &str) -> Option<String> {
        let recorded: Vec<&str> = recorded.split('+').collect();
        let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        let of_part = |part: &Part| {
            let known = part.words.iter().find(|word| recorded.contains(&name(word).as_str()));
            name(known.unwrap_or(&part.words[0]))
        };
        let mut started: Vec<String> = Vec::new();
        for name in self.parts.iter().map(of_part) {
            if !started.contains(&name) {
                started.push(name);
            }
        }
        if started == recorded || recorded.contains(&"...") {
            return None;
        }
        let ranks = if recorded.len() > 1 { ", in this order of their ranks" } else { "" };
        Some(format!(
            "the profile is of {}{ranks}; this line starts {}: the ranks are placed by the traffic of the former",
            recorded.join(", "),
            started.join(", ")
        ))
    }

    /// The number of ranks of all programs together; `None` if one of them has no number.
    #[must_use]
    pub fn total(&self) -> Option<usize> {
        self.parts.iter().try_fold(0_usize, |sum, part| Some(sum.saturating_add(part.ranks?)))
    }

    /// The programs for a job of `ranks` ranks.
    ///
    /// # Errors
    /// If they take another number of ranks.
    pub fn for_ranks(&self, ranks: usize) -> Result<Vec<Program<'_>>, RankCountError> {
        let counted = self.parts.iter().filter_map(|part| part.ranks);
        let counted = counted.fold(0, usize::saturating_add);
        let open = self.parts.iter().find(|part| part.ranks.is_none());
        let fits = if open.is_some() { counted < ranks } else { counted == ranks };
        if !fits {
            let advice = match open {
                Some(part) => format!("no rank is left for `{}`", part.words[0]),
                None => {
                    "make the -n add up to the ranks of the job, or leave out one -n".to_owned()
                }
            };
            return Err(RankCountError { sum: self.sum(counted), placed: ranks, advice });
        }
        let program = |part: &'_ Part| part.ranks.unwrap_or(ranks - counted);
        Ok(self
            .parts
            .iter()
            .map(|part| Program { ranks: program(part), cores: part.cores, words: &part.words })
            .collect())
    }

    /// `2 + 6 = 8`.
    fn sum(&self, total: usize) -> String {
        let counts: Vec<String> =
            self.parts.iter().filter_map(|part| part.ranks).map(|n| n.to_string()).collect();
        match counts.len() {
            1 => total.to_string(),
            _ => format!("{} = {total}", counts.join(" + ")),
        }
    }
}

impl Part {
    fn parse(part: usize, mut words: &[String]) -> Result<Self, ProgramLineError> {
        let (mut ranks, mut cores) = (None, None);
        while let [option, rest @ ..] = words {
            let what = match option.as_str() {
                "-n" | "-np" => "ranks",
                CORES => "cores",
                _ => break,
            };
            let count: Option<NonZeroUsize> = rest.first().and_then(|count| count.parse().ok());
            // A node has fewer than 2^32 cores.
            let fits = |count: &NonZeroUsize| what == "ranks" || u32::try_from(count.get()).is_ok();
            let Some(count) = count.filter(fits) else {
                let word = rest.first().map_or("nothing".to_owned(), |it| format!("`{it}`"));
                let option = option.clone();
                return Err(ProgramLineError::NoNumber { part, what, option, found: word });
            };
            match what {
                "ranks" => ranks = Some(count.get()),
                _ => cores = NonZeroU32::try_from(count).ok(),
            }
            words = &rest[1..];
        }
        match words {
            [] => Err(ProgramLineError::NoProgram { part }),
            [option, ..] if option.starts_with('-') => {
                Err(ProgramLineError::Option { part, option: option.clone() })
            }
            words => Ok(Self { ranks, cores, words: words.to_vec() }),
        }
    }
}

impl fmt::Display for ProgramLine {
    /// The names of the programs: `./ocean : ./air`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(" : "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<ProgramLine, ProgramLineError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        ProgramLine::parse(&words)
    }

    #[test]
    fn other_programs_than_recorded_are_told() {
        let told = |text: &str, recorded| line(text).unwrap().unlike_recorded(recorded);
        let both = "ocean+atm";
        for same in
            ["-n 4 ./ocean x : ./atm y", "-n 2 /bin/ocean : -n 2 ./ocean y : numactl -l ./atm"]
        {
            assert_eq!(told(same, both), None, "{same}");
        }
        assert_eq!(told("python3 app.py", "app.py"), None);
        assert_eq!(told("./f", "a+b+c+d+..."), None);
        let text = told("-n 12 ./atm atm : -n 4 ./ocean ocean", both).unwrap();
        assert!(
            text.contains("of ocean, atm, in this order") && text.contains("starts atm, ocean:"),
            "{text}"
        );
        let text = told("./twocomm", "heat2d").unwrap();
        assert!(text.contains("of heat2d; this line starts twocomm:"), "{text}");
        assert!(told("./ocean", both).is_some());
    }

    /// `2 ./a x; 6 ./b`, or the error.
    fn programs(text: &str, ranks: usize) -> String {
        let line = match line(text) {
            Ok(line) => line,
            Err(error) => return error.to_string(),
        };
        match line.for_ranks(ranks) {
            Ok(programs) => {
                let program = |p: &Program| format!("{} {}", p.ranks, p.words.join(" "));
                programs.iter().map(program).collect::<Vec<_>>().join("; ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn programs_take_the_ranks_in_order() {
        for (text, expected) in [
            ("./a -n 3 x", "8 ./a -n 3 x"),
            ("-n 8 ./a", "8 ./a"),
            ("-n 2 ./a x : -np 6 ./b", "2 ./a x; 6 ./b"),
            ("-n 2 ./a : ./b y : -n 1 ./c", "2 ./a; 5 ./b y; 1 ./c"),
        ] {
            assert_eq!(programs(text, 8), expected, "{text}");
        }
    }

    #[test]
    fn programs_may_say_how_many_cores_their_ranks_have() {
        let line =
            line("-n 3 --cores-per-rank 1 ./a : --cores-per-rank 4 -n 1 ./b -n : ./c").unwrap();
        assert!(line.has_cores());
        let cores = line.for_ranks(8).unwrap();
        let cores: Vec<Option<u32>> =
            cores.iter().map(|program| program.cores.map(NonZeroU32::get)).collect();
        assert_eq!(cores, [Some(1), Some(4), None]);
    }

    #[test]
    fn cores_or_nodes_of_programs_make_slots_of_their_own() {
        let two = line("-n 2 ./a : ./b").unwrap();
        assert_eq!(two.granularity(8, Some(&Granularity::Pu), false), Ok(None));
        let given = Granularity::Cores(3);
        let made = two.granularity(8, Some(&given), true).unwrap();
        let program = |ranks, cores| ProgramRanks { ranks, cores: NonZeroU32::new(cores).unwrap() };
        let programs = vec![program(2, 3), program(6, 3)];
        assert_eq!(made, Some(Granularity::Programs { programs, own_nodes: true }));
        assert!(matches!(two.granularity(2, None, false), Err(ProgramSlotsError::Ranks(_))));
        let refused = two.granularity(8, Some(&Granularity::Pu), true);
        assert_eq!(refused, Err(ProgramSlotsError::OtherSize));
        let wide = line("-n 2 --cores-per-rank 4 ./a : -n 3 ./b").unwrap();
        assert!(matches!(wide.granularity(8, None, false), Err(ProgramSlotsError::Ranks(_))));
    }

    #[test]
    fn lines_that_do_not_add_up_are_refused() {
        for (text, expected) in [
            (
                "-n 2 ./a : -n 5 ./b",
                "the programs take 2 + 5 = 7 ranks, the job has 8: make the -n",
            ),
            (
                "-n 9 ./a",
                "the programs take 9 ranks, the job has 8: make the -n add up to the ranks",
            ),
            (
                "-n 8 ./a : ./b",
                "the programs take 8 ranks, the job has 8: no rank is left for `./b`",
            ),
            (
                "-n 18446744073709551615 ./a : -n 9 ./b",
                "the programs take 18446744073709551615 + 9 = 18446744073709551615 ranks",
            ),
        ] {
            let said = programs(text, 8);
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }

    #[test]
    fn what_is_no_line_of_programs_is_named() {
        for (text, expected) in [
            ("", "part 1 of the program line: found no program"),
            ("./a :", "part 2 of the program line: found no program"),
            ("-n 2 ./a : : -n 1 ./b", "part 2 of the program line: found no program"),
            ("-n 2", "part 1 of the program line: found no program"),
            ("-n 2 ./a : -n", "part 2 of the program line: found -n nothing, expected a number"),
            ("-np two ./a", "part 1 of the program line: found -np `two`, expected a number of"),
            ("-n 0 ./a", "part 1 of the program line: found -n `0`"),
            (
                "--cores-per-rank 0 ./a",
                "part 1 of the program line: found --cores-per-rank `0`, exp",
            ),
            ("--cores-per-rank 9999999999 ./a", "part 1 of the program line: found --cores-per-"),
            ("-n 1 -x A=b ./a", "part 1 of the program line: found -x, expected `-n RANKS`, `--c"),
            ("./a : ./b", "the program line has no `-n RANKS` before `./a` and before `./b`"),
        ] {
            let said = programs(text, 8);
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }
}
