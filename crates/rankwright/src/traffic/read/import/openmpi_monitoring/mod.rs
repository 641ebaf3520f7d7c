//! Output of Open MPI's monitoring at the end of a run (`pml_monitoring_enable 2`,
//! `pml_monitoring_enable_output 3`): one file per rank.
//!
//! Open MPI counts each collective operation twice: the messages of its algorithm (`I`), and the
//! amounts implied by the operation (`C`). Only `C` is imported, because it does not depend on the
//! algorithm. Messages of the program (`E`) and one-sided transfers (`S`, `R`) are the
//! point-to-point traffic.

mod files;
mod lines;

use std::collections::BTreeMap;

pub use files::files;
use lines::{Amount, Partner, RankFile};

use super::{MOST_RANKS, Source, Sources};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Form, Operation, RowEntry};
use crate::traffic::communicator::Communicator;
use crate::traffic::profile::{FlowKind, FlowRecord, Profile, RankRecord, Run};

const EXPECTED: &str = "the files of Open MPI's monitoring (NAME.0.prof, NAME.1.prof, ...)";

/// Whether the first line is the first section heading.
#[must_use]
pub fn sniff(text: &str) -> bool {
    super::first_line(text) == lines::SECTIONS[0]
}

/// Reads the files of a run in rank order.
///
/// A pair has a size histogram only if the library sent no messages of its own to that partner:
/// Open MPI keeps one histogram for both. The largest message is not recorded; the profile has its
/// lower bound.
///
/// All collective calls of a rank become one record with bytes per destination. It is named
/// `Alltoallw` because the files do not name the operations.
///
/// # Errors
/// If a file cannot be read or is truncated, a rank's file is missing, or files are from runs with
/// different numbers of ranks.
pub fn read(sources: &mut Sources<'_>) -> Result<Profile, InputError> {
    let mut run = Joined::default();
    for source in sources {
        let Source { file, text } = source?;
        run.add(lines::read(&text, &file)?, file)?;
    }
    run.finish()
}

#[derive(Default)]
struct Joined {
    /// Names of the files read so far, by rank.
    files: Vec<String>,
    /// Number of ranks of the run, and the file that states it.
    world: Option<(u32, String)>,
    /// Highest destination, and the file that contains it.
    highest: Option<(Rank, String)>,
    flows: BTreeMap<(Rank, Rank, FlowKind), FlowRecord>,
    collectives: Vec<CollectiveCalls>,
    /// Whether any rank has internal messages (`I`), and whether any has collective amounts (`C`)
    /// for another rank.
    internal: bool,
    collective: bool,
}

impl Joined {
    fn add(&mut self, rank_file: RankFile, file: String) -> Result<(), InputError> {
        let RankFile { rank: source, world, partners } = rank_file;
        let wanted = Rank::from_index(self.files.len());
        if source != wanted {
            let found = format!("the lines of rank {source}");
            let expected = format!("those of rank {wanted}");
            return Err(InputError::new(file, found, expected).with_advice(ONE_PER_RANK));
        }
        match (world, &self.world) {
            (Some(ranks), Some((first, other))) if ranks != *first => {
                let expected = format!("{first}, as in {other}");
                let advice = "the files are of different runs: remove those of the older one";
                let found = format!("a run of {ranks} ranks");
                return Err(InputError::new(file, found, expected).with_advice(advice));
            }
            (Some(ranks), None) => self.world = Some((ranks, file.clone())),
            _ => {}
        }
        if let Some((rank, _)) = partners.last_key_value()
            && self.highest.as_ref().is_none_or(|(highest, _)| rank > highest)
        {
            self.highest = Some((*rank, file.clone()));
        }
        self.add_collectives(source, &partners);
        for (destination, partner) in partners {
            let some = |amount: Option<Amount>| amount.is_some_and(|amount| amount.messages > 0);
            self.internal |= some(partner.internal);
            self.collective |= some(partner.collective) && destination != source;
            self.add_partner(source, destination, partner);
        }
        self.files.push(file);
        Ok(())
    }

    fn add_partner(&mut self, source: Rank, destination: Rank, partner: Partner) {
        let external = partner.external.filter(|external| external.messages > 0);
        if let Some(external) = external {
            // The histogram also counts internal messages.
            let program_only = partner.internal.is_none_or(|internal| internal.messages == 0);
            let mut histogram = if program_only { partner.size_histogram } else { Vec::new() };
            let filled = histogram.iter().rposition(|messages| *messages > 0);
            histogram.truncate(filled.map_or(0, |bin| bin + 1));
            let counted = histogram.iter().fold(0, |sum: u64, bin| sum.saturating_add(*bin));
            if counted != external.messages {
                histogram.clear();
            }
            self.add_messages((source, destination, FlowKind::PointToPoint), external, histogram);
        }
        // Without bytes these are the requests of the reads in `R`.
        if let Some(put) = partner.put.filter(|put| put.bytes > 0) {
            self.add_messages((source, destination, FlowKind::Put), put, Vec::new());
        }
        if let Some(got) = partner.got.filter(|got| got.messages > 0) {
            self.add_messages((destination, source, FlowKind::Get), got, Vec::new());
        }
    }

    fn add_messages(
        &mut self,
        key: (Rank, Rank, FlowKind),
        Amount { messages, bytes }: Amount,
        size_histogram: Vec<u64>,
    ) {
        let mean = bytes.div_ceil(messages.max(1));
        let least = match size_histogram.len() {
            bins @ 2..=64 => 1_u64 << (bins - 2),
            _ => 0,
        };
        let (source, destination, kind) = key;
        let flow = Flow { source, destination, messages, bytes, largest: mean.max(least) };
        let new = FlowRecord { kind, size_histogram, ..FlowRecord::of_flow(flow) };
        self.flows.insert(key, new);
    }

    fn add_collectives(&mut self, rank: Rank, partners: &BTreeMap<Rank, Partner>) {
        let entry = |(destination, partner): (&Rank, &Partner)| {
            let Amount { messages, bytes } = partner.collective.filter(|sent| sent.bytes > 0)?;
            Some(RowEntry { destination: *destination, messages, bytes })
        };
        let row: Vec<RowEntry> = partners.iter().filter_map(entry).collect();
        if row.is_empty() {
            return;
        }
        self.collectives.push(CollectiveCalls {
            rank,
            communicator: 0,
            operation: Operation::Alltoallw,
            form: Form::Blocking,
            root: None,
            calls: row.iter().map(|entry| entry.messages).max().unwrap_or_default(),
            bytes: row.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add),
            seconds: 0.0,
            first: 0.0,
            last: 0.0,
            row,
        });
    }

    fn finish(self) -> Result<Profile, InputError> {
        let first = self.files.first().map_or("-", String::as_str);
        let count = Rank::from_index(self.files.len()).0;
        let found = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        if let Some((ranks, file)) = self.world.filter(|(ranks, _)| *ranks != count) {
            let expected = format!("{ranks}, the ranks of MPI_COMM_WORLD");
            let error = InputError::new(file, &found, expected);
            return Err(error.with_advice(ONE_PER_RANK));
        }
        if let Some((rank, file)) = self.highest.filter(|(rank, _)| rank.0 >= count) {
            let expected = format!("one of rank {rank} too, because it is a destination");
            let error = InputError::new(file, &found, expected);
            return Err(error.with_advice(ONE_PER_RANK));
        }
        if count == 0 || count > MOST_RANKS {
            return Err(InputError::new(first, found, EXPECTED));
        }
        if self.collective && !self.internal {
            let found = "collective operations (C) but no internal messages of the library (I)";
            let expected = "a run with pml_monitoring_enable 2";
            return Err(InputError::new(first, found, expected).with_advice(ALL_IN_ONE));
        }
        let communicators = match self.collectives.is_empty() {
            true => Vec::new(),
            false => vec![Communicator {
                name: "MPI_COMM_WORLD".to_owned(),
                members: (0..count).map(|rank| Some(Rank(rank))).collect(),
                remote_members: Vec::new(),
                created: 1,
            }],
        };
        Ok(Profile {
            run: Run {
                program: super::job_name(first),
                origin: "imported from openmpi-monitoring".to_owned(),
                ..Run::default()
            },
            ranks: vec![RankRecord::default(); count as usize],
            communicators,
            flows: self.flows.into_values().collect(),
            collectives: self.collectives,
            ..Profile::default()
        })
    }
}

const ONE_PER_RANK: &str = "every rank of the run writes a file; all of them are needed";
const ALL_IN_ONE: &str = "with 1 Open MPI counts the messages of collective operations as the \
                          program's; where 2 was given, other components carried them out: add \
                          --mca coll ^hcoll,ucc";

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a rank of two, with these lines in its three sections.
    fn file(rank: u32, point_to_point: &str, one_sided: &str, collective: &str) -> String {
        format!(
            "# POINT TO POINT\n{point_to_point}# OSC\n{one_sided}# COLLECTIVES\n{collective}\
             D\tMPI_COMM_WORLD\tprocs: 0,1\nO2A\t{rank}\t0 bytes\t0 msgs sent\n\
             A2O\t{rank}\t0 bytes\t0 msgs sent\nA2A\t{rank}\t0 bytes\t2 msgs sent\n"
        )
    }

    fn import(texts: &[String]) -> Result<Profile, InputError> {
        let source = |(rank, text): (usize, &String)| {
            Ok(Source { file: format!("m.{rank}.prof"), text: text.clone() })
        };
        read(&mut texts.iter().enumerate().map(source))
    }

    fn two() -> [String; 2] {
        let first = "E\t0\t1\t1010 bytes\t2 msgs sent\t0,0,0,0,1,0,0,0,0,0,1,0,0\n";
        let second = "E\t1\t0\t8 bytes\t1 msgs sent\t2,0,0,0,1\nI\t1\t0\t0 bytes\t2 msgs sent\n";
        let collective = "C\t0\t1\t24 bytes\t3 msgs sent\n";
        [file(0, first, "", collective), file(1, second, "", "C\t1\t0\t0 bytes\t2 msgs sent\n")]
    }

    #[test]
    fn messages_of_the_program_and_the_meaning_of_collectives_are_kept_apart() {
        let profile = import(&two()).unwrap();
        assert_eq!(profile.run.program, "m");
        assert_eq!(profile.ranks.len(), 2);
        let (there, back) = (&profile.flows[0], &profile.flows[1]);
        assert_eq!((there.flow.bytes, there.flow.messages), (1010, 2));
        assert_eq!(there.size_histogram, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        // The larger of the two has 512 to 1023 bytes.
        assert_eq!(there.flow.largest, 512);
        assert_eq!((back.flow.bytes, back.flow.messages, back.flow.largest), (8, 1, 8));
        assert_eq!(back.size_histogram, [0; 0], "shared with the library's own messages");
        let row = &profile.collectives[0].row;
        assert_eq!(row, &[RowEntry { destination: Rank(1), messages: 3, bytes: 24 }]);
        assert_eq!(profile.collectives.len(), 1);
    }

    #[test]
    fn one_sided_transfers_go_where_the_bytes_go() {
        let one_sided = "S\t0\t1\t0 bytes\t2 msgs sent\nR\t0\t1\t1400 bytes\t2 msgs sent\n";
        let message = "E\t1\t0\t8 bytes\t1 msgs sent\t0,0,0,0,1\n";
        let put = "S\t1\t1\t5 bytes\t1 msgs sent\n";
        let texts = [file(0, "", one_sided, ""), file(1, message, put, "")];
        let profile = import(&texts).unwrap();
        let flow = |source, destination, messages, bytes, largest| Flow {
            source: Rank(source),
            destination: Rank(destination),
            messages,
            bytes,
            largest,
        };
        let flows: Vec<_> = profile.flows.iter().map(|record| (record.kind, record.flow)).collect();
        let expected = [
            (FlowKind::PointToPoint, flow(1, 0, 1, 8, 8)),
            (FlowKind::Get, flow(1, 0, 2, 1400, 700)),
            (FlowKind::Put, flow(1, 1, 1, 5, 5)),
        ];
        assert_eq!(flows, expected);
    }

    #[test]
    fn a_run_that_mixes_its_messages_with_those_of_collectives_is_refused() {
        let texts = two().map(|text| text.replace("I\t1\t0\t0 bytes\t2 msgs sent\n", ""));
        let error = import(&texts).unwrap_err().to_string();
        assert!(error.contains("expected a run with pml_monitoring_enable 2; with 1"), "{error}");
    }

    #[test]
    fn missing_and_foreign_files_are_named() {
        let [first, second] = two();
        let other = second.replace("procs: 0,1\n", "procs: 0,1,2\n");
        let world = "D\tMPI_COMM_WORLD";
        let cases = [
            (vec![first.clone()], "m.0.prof: found 1 file, expected 2, the ranks of"),
            (vec![second.clone()], "m.0.prof: found the lines of rank 1, expected those of rank 0"),
            (vec![first.clone(), other], "m.1.prof: found a run of 3 ranks, expected 2, as in m.0"),
            (vec![first.replace(world, "D\tother")], "expected one of rank 1 too"),
            (vec![first.replace("E\t0", "E\t7"), second], "expected a line of rank 7, as before"),
            (vec![], "found 0 files"),
        ];
        for (texts, message) in cases {
            let error = import(&texts).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error() {
        let [first, second] = two();
        for length in 0..second.len() {
            let cut = second[..length].to_owned();
            assert!(import(&[first.clone(), cut]).is_err(), "cut at {length}");
        }
    }
}
