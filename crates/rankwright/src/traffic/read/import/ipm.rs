//! The XML file that IPM writes for a run (`IPM_LOG=full`): per rank, call, size and partner how
//! many calls there were, and how long they took. Calls that send to one rank become flows; the
//! times of all calls are added up by what the calls are for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quick_xml::events::{BytesStart, Event};

use super::mpi_functions::Call;
use super::{MOST_RANKS, Sources};
use crate::files::{InputError, XmlReader, xml_attribute};
use crate::ids::Rank;
use crate::traffic::Flow;
use crate::traffic::profile::{FlowRecord, Profile, RankRecord, Run, TimeInMpi};
use crate::units::Seconds;

const EXPECTED: &str = "the XML file of IPM (<ipm_job_profile>) with a <task> for every rank";

/// The calls that send to one rank. IPM counts persistent sends when they are made and not when
/// they are started.
const SENDS: [&str; 10] = [
    "MPI_Send",
    "MPI_Bsend",
    "MPI_Rsend",
    "MPI_Ssend",
    "MPI_Isend",
    "MPI_Ibsend",
    "MPI_Irsend",
    "MPI_Issend",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
];

/// More calls of one kind than this are taken for a damaged file.
const MOST_CALLS: i64 = (u32::MAX as i64) << 20;

/// Whether a text begins as such a file.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let first = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(2);
    super::first_line(text).starts_with('<') && first.into_iter().any(|line| line.contains("<ipm_"))
}

/// The file: a run has one only.
///
/// # Errors
/// Never.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    Ok(path.is_file().then(|| path.to_owned()).into_iter().collect())
}

/// Reads a file.
///
/// # Errors
/// If it is not well-formed, a rank is missing or has no calls (`IPM_LOG=terse`), ranks are given
/// relative to the sender (IPM built with clustering), or there are persistent sends.
pub fn read(sources: &mut Sources<'_>) -> Result<Profile, InputError> {
    let source =
        sources.next().unwrap_or_else(|| Err(InputError::new("-", "no file", EXPECTED)))?;
    let mut run = Tasks { file: &source.file, ..Tasks::default() };
    // IPM writes command lines as they are.
    let reader = XmlReader::new(&source.text, &source.file, EXPECTED);
    let mut reader = reader.with_bare_ampersands();
    loop {
        let done = match reader.event()? {
            Event::Start(tag) => run.open(&tag, false),
            Event::Empty(tag) => run.open(&tag, true),
            Event::End(tag) => run.close(tag.name().as_ref()),
            Event::Text(text) => run.text(text.as_ref()),
            Event::Eof => break,
            _ => Ok(()),
        };
        done.map_err(|error| error.at_line(reader.line()))?;
    }
    run.finish()
}

#[derive(Default)]
struct Tasks<'a> {
    file: &'a str,
    /// The names of the elements that are open.
    open: Vec<String>,
    /// Whether the root element was closed.
    whole: bool,
    program: String,
    ranks: u32,
    /// The tasks that were seen.
    tasks: BTreeMap<Rank, RankRecord>,
    /// The call whose time comes next, and how often it was made.
    call: Option<(Call, u64)>,
    /// Whose task is open.
    rank: Option<Rank>,
    /// Whether its calls were seen.
    has_calls: bool,
    flows: BTreeMap<(Rank, Rank), FlowRecord>,
}

impl Tasks<'_> {
    fn error(&self, found: impl std::fmt::Display, expected: &str) -> InputError {
        InputError::new(self.file, found, expected)
    }

    fn open(&mut self, tag: &BytesStart<'_>, empty: bool) -> Result<(), InputError> {
        let name = tag.name().as_ref().to_owned();
        if self.open.is_empty() && name != "ipm_job_profile" {
            return Err(self.error(format!("an element <{name}>"), EXPECTED));
        }
        match name.as_str() {
            "task" => self.task(tag)?,
            "taskcopy" => {
                let error = self.error("ranks that are left out (<taskcopy>)", "all ranks");
                return Err(error.with_advice(RELATIVE));
            }
            "hash" => self.has_calls = true,
            "hent" => self.calls(tag)?,
            "perf" if self.open.last().is_some_and(|open| open == "task") => self.wall(tag),
            "cmdline" if self.program.is_empty() => {
                let path = xml_attribute(tag, "realpath").unwrap_or_default();
                self.program = path.rsplit('/').next().unwrap_or_default().to_owned();
            }
            _ => {}
        }
        match empty {
            true => self.close(&name),
            false => {
                self.open.push(name);
                Ok(())
            }
        }
    }

    fn close(&mut self, name: &str) -> Result<(), InputError> {
        if self.open.last().is_some_and(|open| open == name) {
            self.open.pop();
        }
        self.whole |= name == "ipm_job_profile";
        if name == "task"
            && let Some(rank) = self.rank.take()
            && !self.has_calls
        {
            let error = self.error(format!("no calls (<hash>) of rank {rank}"), "them");
            return Err(error.with_advice("run the program with IPM_REPORT=full IPM_LOG=full"));
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), InputError> {
        let Some(record) = self.rank.and_then(|rank| self.tasks.get_mut(&rank)) else {
            return Ok(());
        };
        match self.open.last().map(String::as_str) {
            Some("host") => record.host.push_str(text.trim()),
            Some("hent") => {
                // In all, the shortest, the longest.
                let total = text.split_whitespace().next().unwrap_or_default();
                let seconds = total.parse().ok().filter(|seconds| (0.0..1e12).contains(seconds));
                let Some((call, calls)) = self.call.take() else { return Ok(()) };
                let Some(seconds) = seconds else {
                    return Err(self.error(format!("`{total}`"), "seconds").in_field("hent"));
                };
                add_time(record, call, calls, seconds);
            }
            _ => {}
        }
        Ok(())
    }

    fn task(&mut self, tag: &BytesStart<'_>) -> Result<(), InputError> {
        let most = i64::from(MOST_RANKS);
        let ranks = self.number(tag, "mpi_size", 1, most)?;
        let rank = self.number(tag, "mpi_rank", 0, i64::try_from(ranks).unwrap_or(most) - 1)?;
        let (ranks, rank) = (u32::try_from(ranks).unwrap_or(0), u32::try_from(rank).unwrap_or(0));
        if self.ranks != 0 && self.ranks != ranks {
            let expected = format!("{}, as of the first <task>", self.ranks);
            return Err(self.error(format!("mpi_size {ranks}"), &expected));
        }
        self.ranks = ranks;
        let begin = xml_attribute(tag, "stamp_init").and_then(|stamp| stamp.parse::<f64>().ok());
        let begin = begin.filter(|seconds| (0.0..9e9).contains(seconds)).unwrap_or_default();
        let start_unix_ns = (begin * 1e9) as i64;
        let record = RankRecord { start_unix_ns, ..RankRecord::default() };
        if self.tasks.insert(Rank(rank), record).is_some() {
            return Err(self.error(format!("a second <task> of rank {rank}"), "one of each rank"));
        }
        (self.rank, self.has_calls) = (Some(Rank(rank)), false);
        Ok(())
    }

    /// The run time of a rank.
    fn wall(&mut self, tag: &BytesStart<'_>) {
        let wall = xml_attribute(tag, "wtime").and_then(|seconds| seconds.parse::<f64>().ok());
        let wall = wall.filter(|seconds| (0.0..1e12).contains(seconds)).unwrap_or_default();
        if let Some(record) = self.rank.and_then(|rank| self.tasks.get_mut(&rank)) {
            record.wall = Seconds(wall);
        }
    }

    fn calls(&mut self, tag: &BytesStart<'_>) -> Result<(), InputError> {
        let call = xml_attribute(tag, "call").unwrap_or_default();
        self.call = Some((Call::named(&call), self.number(tag, "count", 1, MOST_CALLS)?));
        if call.ends_with("send_init") || call == "MPI_Send_init" {
            let error = self.error(format!("persistent sends ({call})"), "other sends only");
            return Err(error.with_advice("IPM does not count how often they are started"));
        }
        if !SENDS.contains(&call.as_str()) {
            return Ok(());
        }
        let source = self.rank.ok_or_else(|| self.error("a <hent> outside a <task>", EXPECTED))?;
        if xml_attribute(tag, "orank").is_some_and(|rank| rank.starts_with('-')) {
            let error = self.error("a rank below 0 in orank", "the rank that was sent to");
            return Err(error.with_advice(RELATIVE));
        }
        let last = i64::from(self.ranks) - 1;
        let destination = u32::try_from(self.number(tag, "orank", 0, last)?).unwrap_or(0);
        // An int in IPM; larger ones have wrapped around.
        let size = self.number(tag, "bytes", 0, i64::from(i32::MAX))?;
        let messages = self.number(tag, "count", 1, MOST_CALLS)?;
        let destination = Rank(destination);
        let flow = Flow { source, destination, messages: 0, bytes: 0, largest: 0 };
        let record =
            self.flows.entry((source, destination)).or_insert_with(|| FlowRecord::of_flow(flow));
        let bin = (u64::BITS - size.leading_zeros()) as usize;
        if record.size_histogram.len() <= bin {
            record.size_histogram.resize(bin + 1, 0);
        }
        record.size_histogram[bin] += messages;
        record.flow.messages = record.flow.messages.saturating_add(messages);
        record.flow.bytes = record.flow.bytes.saturating_add(size.saturating_mul(messages));
        record.flow.largest = record.flow.largest.max(size);
        Ok(())
    }

    fn number(
        &self,
        tag: &BytesStart<'_>,
        name: &str,
        least: i64,
        most: i64,
    ) -> Result<u64, InputError> {
        let value = xml_attribute(tag, name);
        let number = value.as_ref().and_then(|value| value.parse::<i64>().ok());
        let number = number.filter(|number| (least..=most).contains(number));
        number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| {
            let found = value.map_or("nothing".to_owned(), |value| format!("`{value}`"));
            let expected = format!("a number from {least} to {most}");
            self.error(found, &expected).in_field(name)
        })
    }

    fn finish(self) -> Result<Profile, InputError> {
        if !self.whole {
            let inside =
                self.open.last().map_or("no element".to_owned(), |open| format!("<{open}>"));
            return Err(self.error(format!("the end of the file inside {inside}"), EXPECTED));
        }
        let count = Rank::from_index(self.tasks.len()).0;
        if count == 0 || count != self.ranks {
            let expected = format!("{} (mpi_size), one for each rank", self.ranks);
            return Err(self.error(format!("{count} elements <task>"), &expected));
        }
        let program = match self.program.is_empty() {
            true => super::job_name(self.file),
            false => self.program,
        };
        Ok(Profile {
            run: Run { program, origin: "imported from ipm".to_owned(), ..Run::default() },
            ranks: self.tasks.into_values().collect(),
            flows: self.flows.into_values().collect(),
            ..Profile::default()
        })
    }
}

const RELATIVE: &str = "this IPM was built with clustering, which counts ranks from the sender and \
                        leaves out similar ones: build it without";

fn add_time(record: &mut RankRecord, call: Call, calls: u64, seconds: f64) {
    let sum: &mut TimeInMpi = match call {
        Call::Init | Call::Finalize => return,
        Call::PointToPoint => &mut record.point_to_point,
        Call::Wait => &mut record.wait,
        Call::Collective => &mut record.collective,
        Call::OneSided => &mut record.one_sided,
        Call::Other => &mut record.other,
    };
    sum.calls = sum.calls.saturating_add(calls);
    sum.time.0 += seconds;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::read::import::Source;

    fn import(text: &str) -> Result<Profile, InputError> {
        let source = Source { file: "x.ipm.xml".to_owned(), text: text.to_owned() };
        read(&mut std::iter::once(Ok(source)))
    }

    fn calls(call: &str, bytes: &str, orank: &str, count: u32) -> String {
        format!(
            "<hent key=\"0\" call=\"{call}\" bytes=\"{bytes}\" orank=\"{orank}\" region=\"0\" \
             callsite=\"1\" count=\"{count}\" tid=\"0\" >1.0e-03 1.0e-06 1.0e-04</hent>\n"
        )
    }

    /// The file of a run of two ranks with these calls.
    fn file(calls: [&str; 2]) -> String {
        let task = |(rank, calls): (usize, &str)| {
            format!(
                "<task ipm_version=\"2.0.6\" mpi_rank=\"{rank}\" mpi_size=\"2\" stamp_init=\"1372848898.5\" username=\"u\" >\n\
                 <job nhosts=\"1\" ntasks=\"2\" >7</job>\n<host mach_name=\"m\" >n{rank}</host>\n\
                 <perf wtime=\"5.0e-02\" utime=\"4.0e-03\" ></perf>\n<cmdline realpath=\"/home/u/app\" >./app a&b</cmdline>\n\
                 <hash nlog=\"1\" nkey=\"1\" >\n{calls}</hash>\n</task>\n"
            )
        };
        let tasks: String = calls.into_iter().enumerate().map(task).collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<ipm_job_profile>\n{tasks}\
             </ipm_job_profile>\n"
        )
    }

    #[test]
    fn sizes_are_per_call_and_only_sends_count() {
        let first = [
            calls("MPI_Isend", "1024", "1", 120),
            calls("MPI_Send", "0", "1", 2),
            calls("MPI_Irecv", "4096", "1", 7),
            calls("MPI_Allreduce", "8", "0", 9),
        ]
        .concat();
        let text = file([&first, &calls("MPI_Sendrecv", "3", "0", 1)]);
        assert!(sniff(&text));
        let profile = import(&text).unwrap();
        assert_eq!(profile.run.program, "app");
        let rank = &profile.ranks[0];
        assert_eq!((rank.host.as_str(), rank.start_unix_ns), ("n0", 1_372_848_898_500_000_000));
        assert_eq!((rank.wall, rank.collective.calls), (Seconds(0.05), 9));
        // Three kinds of sends and receives, each with a millisecond in all.
        assert_eq!(rank.point_to_point.calls, 129);
        assert!((rank.point_to_point.time.0 - 0.003).abs() < 1e-12);
        let flow = profile.flows[0].flow;
        assert_eq!((flow.messages, flow.bytes, flow.largest), (122, 122_880, 1024));
        assert_eq!(profile.flows[0].size_histogram, [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 120]);
        assert_eq!(profile.flows[1].size_histogram, [0, 0, 1]);
        assert_eq!(profile.flows.len(), 2);
    }

    #[test]
    fn errors_say_what_is_missing_or_wrong() {
        let send = calls("MPI_Send", "8", "1", 1);
        let whole = file([&send, ""]);
        let copy = "<taskcopy mpi_rank=\"1\" cluster_rank=\"0\"></taskcopy>\n<task ";
        let cases = [
            (file([&calls("MPI_Send", "8", "-1", 1), ""]), "x.ipm.xml:9: found a rank below 0"),
            (whole.replacen("<task ", copy, 1), "x.ipm.xml:3: found ranks that are left out"),
            (file([&calls("MPI_Send", "8", "2", 1), ""]), "x.ipm.xml:9: orank: found `2`"),
            (file([&calls("MPI_Send", "-5", "1", 1), ""]), "x.ipm.xml:9: bytes: found `-5`"),
            (file([&calls("MPI_Send_init", "5", "1", 1), ""]), "x.ipm.xml:9: found persistent"),
            (whole.replace(">1.0e-03 ", ">fast "), "x.ipm.xml:9: hent: found `fast`"),
            (whole.replace("hash", "hush"), "x.ipm.xml:11: found no calls (<hash>) of rank 0"),
            (
                whole.replace("mpi_size=\"2\"", "mpi_size=\"3\""),
                "x.ipm.xml: found 2 elements <task>",
            ),
            (whole.replace("mpi_rank=\"1\"", "mpi_rank=\"0\""), "x.ipm.xml:12: found a second"),
            ("<topology></topology>".to_owned(), "x.ipm.xml:1: found an element <topology>"),
        ];
        for (text, message) in cases {
            let error = import(&text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error() {
        let text = file([&calls("MPI_Send", "8", "1", 1), ""]);
        for length in 0..text.trim_end().len() {
            assert!(import(&text[..length]).is_err(), "cut at {length}");
        }
    }
}
