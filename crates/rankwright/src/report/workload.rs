//! Workloads for people: the messages of the jobs and their rates.

use serde::Serialize;

use crate::ids::Rank;
use crate::traffic::OUTSIDE;
use crate::traffic::expansion::Expansion;
use crate::traffic::{Flow, Job, Source, Workload};
use crate::units::{Bytes, BytesPerSecond, PerSecond, Seconds};

/// The summary of a workload. Messages of a rank to itself do not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadSummary {
    /// Its name.
    pub name: String,
    /// Number of ranks of all jobs.
    pub ranks: usize,
    /// Number of their messages.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// The jobs, in the order of the workload.
    pub jobs: Vec<JobSummary>,
}

/// The messages of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobSummary {
    /// Its name.
    pub name: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of pairs of a sender and a receiver.
    pub pairs: usize,
    /// The largest number of peers of a rank, in either direction.
    pub most_peers: usize,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// The shortest and the longest message, bytes: of the clocks, or without clocks by the mean and
    /// the largest message of each pair; `None` without messages.
    pub length: Option<(u64, u64)>,
    /// The clocks of its ranks; `None` without message timing.
    pub sending: Option<Sending>,
}

/// The clocks of a job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sending {
    /// Number of clocks.
    pub clocks: usize,
    /// Rate of the slowest and of the fastest clock, ticks per second while it ticks.
    pub rate: (f64, f64),
    /// The smallest and the largest coefficient of variation of the gaps between ticks.
    pub cv: (f64, f64),
    /// The offered load: the bytes that all clocks send, divided by `duration_s`.
    pub offered_bytes_per_s: f64,
    /// The time in which they send them, seconds.
    pub duration_s: f64,
    /// What this time is.
    pub duration_of: DurationOf,
    /// Whether messages of collective calls are among those of the clocks.
    pub with_collectives: bool,
}

/// What the duration of [`Sending`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DurationOf {
    /// The recorded run, from the end of `MPI_Init` to the start of `MPI_Finalize`.
    Run,
    /// The mean time until the last clock stops.
    Clocks,
}

/// The columns of the table.
pub const COLUMNS: [&str; 11] = [
    "job", "ranks", "pairs", "peers", "clocks", "rate", "cv", "length", "messages", "bytes",
    "offered",
];

/// The columns for other programs.
pub const CSV_COLUMNS: [&str; 15] = [
    "job",
    "ranks",
    "pairs",
    "most_peers",
    "clocks",
    "rate_min",
    "rate_max",
    "cv_min",
    "cv_max",
    "length_min",
    "length_max",
    "messages",
    "bytes",
    "offered_bytes_per_s",
    "duration_s",
];

impl WorkloadSummary {
    /// Sums up a workload.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let jobs: Vec<JobSummary> = workload.jobs.iter().map(JobSummary::new).collect();
        let sum =
            |amount: fn(&JobSummary) -> u64| jobs.iter().map(amount).fold(0, u64::saturating_add);
        Self {
            name: workload.name.clone(),
            ranks: workload.rank_count(),
            messages: sum(|job| job.messages),
            bytes: sum(|job| job.bytes),
            jobs,
        }
    }

    /// The name and the totals, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let jobs =
            if self.jobs.len() == 1 { "1 job" } else { &format!("{} jobs", self.jobs.len()) };
        let Self { name, ranks, messages, .. } = self;
        format!(
            "{name}: {jobs} with {ranks} ranks, {messages} messages of {:.1}",
            Bytes(self.bytes)
        )
    }
}

impl JobSummary {
    /// Sums up a job.
    #[must_use]
    pub fn new(job: &Job) -> Self {
        let between = |flow: &&Flow| flow.source != flow.destination;
        let flows = || job.flows.iter().filter(between);
        let sum = |amount: fn(&Flow) -> u64| flows().map(amount).fold(0, u64::saturating_add);
        let outside = outside(job);
        let lengths = || {
            let of_clocks = job.sources.iter().flat_map(|source| {
                let others = source.sends.iter().filter(|send| send.destination != source.rank);
                others.map(|send| send.length.0)
            });
            let of_flows = flows().flat_map(|flow| {
                let mean = flow.bytes.checked_div(flow.messages);
                mean.into_iter().flat_map(|mean| [mean, flow.largest])
            });
            of_clocks.chain(of_flows.filter(|_| job.sources.is_empty()))
        };
        Self {
            name: job.name.clone(),
            ranks: job.ranks,
            pairs: flows().count(),
            most_peers: most_peers(job),
            messages: sum(|flow| flow.messages).saturating_add(outside.0),
            bytes: sum(|flow| flow.bytes).saturating_add(outside.1),
            length: lengths().min().zip(lengths().max()),
            sending: Sending::new(job),
        }
    }

    /// Its row of the table: the values of [`COLUMNS`].
    #[must_use]
    pub fn cells(&self) -> Vec<String> {
        let mut cells = vec![
            self.name.clone(),
            self.ranks.to_string(),
            self.pairs.to_string(),
            self.most_peers.to_string(),
        ];
        let none = || "-".to_owned();
        let sending = self.sending.as_ref();
        cells.push(sending.map_or_else(none, |sending| sending.clocks.to_string()));
        cells.push(sending.map_or_else(none, |sending| {
            range(sending.rate, |rate| PerSecond(significant(rate)).to_string())
        }));
        cells.push(
            sending
                .map_or_else(none, |sending| range(sending.cv, |cv| significant(cv).to_string())),
        );
        cells.push(self.length.map_or_else(none, |length| {
            range(length, |length| match Bytes(length) {
                exact if exact.to_string().len() <= "1024 KiB".len() => exact.to_string(),
                odd => format!("{odd:.1}"),
            })
        }));
        cells.push(self.messages.to_string());
        cells.push(format!("{:.1}", Bytes(self.bytes)));
        cells.push(sending.map_or_else(none, |sending| {
            format!("{:.1}", BytesPerSecond(sending.offered_bytes_per_s))
        }));
        cells
    }

    /// Its row for other programs: the values of [`CSV_COLUMNS`], empty if unknown.
    #[must_use]
    pub fn csv_cells(&self) -> Vec<String> {
        let unknown = String::new;
        let clocks = |value: fn(&Sending) -> f64| {
            self.sending.as_ref().map_or_else(unknown, |sending| value(sending).to_string())
        };
        let length = |value: fn((u64, u64)) -> u64| {
            self.length.map_or_else(unknown, |length| value(length).to_string())
        };
        vec![
            self.name.clone(),
            self.ranks.to_string(),
            self.pairs.to_string(),
            self.most_peers.to_string(),
            self.sending.map_or(0, |sending| sending.clocks).to_string(),
            clocks(|sending| sending.rate.0),
            clocks(|sending| sending.rate.1),
            clocks(|sending| sending.cv.0),
            clocks(|sending| sending.cv.1),
            length(|length| length.0),
            length(|length| length.1),
            self.messages.to_string(),
            self.bytes.to_string(),
            clocks(|sending| sending.offered_bytes_per_s),
            clocks(|sending| sending.duration_s),
        ]
    }
}

/// The number of messages that leave the cluster, and their bytes.
fn outside(job: &Job) -> (u64, u64) {
    let amount = |source: &Source| {
        let sends = source.sends.iter().filter(|send| send.destination == OUTSIDE);
        sends.fold((0_u64, 0_u64), |sum, send| {
            let bytes = source.rounds.saturating_mul(send.length.0);
            (sum.0.saturating_add(source.rounds), sum.1.saturating_add(bytes))
        })
    };
    job.sources.iter().map(amount).fold((0, 0), |sum, of_source| {
        (sum.0.saturating_add(of_source.0), sum.1.saturating_add(of_source.1))
    })
}

impl Sending {
    /// The clocks of a recorded run. After a disturbed run clocks tick in the time that the program computes,
    /// which may be far shorter than the run; here they tick as they did in the run.
    #[must_use]
    pub fn of_run(job: &Job) -> Option<Self> {
        let of_clocks = Self::new(job)?;
        let Some(wall) = job.seen.wall.map(|wall| wall.0).filter(|wall| *wall > 0.0) else {
            return Some(of_clocks);
        };
        let slower = job.seen.undisturbed.map_or(1.0, |computing| computing.0 / wall);
        let bytes = of_clocks.offered_bytes_per_s * of_clocks.duration_s;
        Some(Self {
            rate: (of_clocks.rate.0 * slower, of_clocks.rate.1 * slower),
            offered_bytes_per_s: bytes / wall,
            duration_s: wall,
            duration_of: DurationOf::Run,
            ..of_clocks
        })
    }

    fn new(job: &Job) -> Option<Self> {
        let extremes = |value: &dyn Fn(usize) -> f64| {
            let values = (0..job.sources.len()).map(value);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
                (least.min(value), most.max(value))
            })
        };
        if job.sources.is_empty() {
            return None;
        }
        let bytes = job.sources.iter().map(|source| {
            let others = source.sends.iter().filter(|send| send.destination != source.rank);
            source.rounds as f64 * others.map(|send| send.length.0 as f64).sum::<f64>()
        });
        let source = |index: usize| &job.sources[index];
        let duration = extremes(&|index| source(index).rounds as f64 / source(index).rate.0).1;
        Some(Self {
            clocks: job.sources.len(),
            rate: extremes(&|index| source(index).rate.0),
            cv: extremes(&|index| source(index).cv),
            offered_bytes_per_s: bytes.sum::<f64>() / duration,
            duration_s: duration,
            duration_of: DurationOf::Clocks,
            with_collectives: job.collectives.expansion != Expansion::None
                && job.collectives.calls.iter().any(|calls| calls.bytes > 0),
        })
    }

    /// The clocks in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let clocks = match self.clocks {
            1 => "1 clock sends".to_owned(),
            clocks => format!("{clocks} clocks, each sends"),
        };
        let rate = range(self.rate, |rate| significant(rate).to_string());
        let cv = range(self.cv, |cv| significant(cv).to_string());
        let offered = BytesPerSecond(self.offered_bytes_per_s);
        let duration = Seconds(significant(self.duration_s));
        let collectives = if self.with_collectives { ", collective calls included" } else { "" };
        match self.duration_of {
            DurationOf::Clocks => format!(
                "{clocks} {rate} times a second (cv {cv}), in all {offered:.1} for {duration}{collectives}"
            ),
            DurationOf::Run => format!(
                "{clocks} {rate} times a second while it sends (cv {cv}), in all {offered:.1} on average \
                 in the {duration} of the run{collectives}"
            ),
        }
    }
}

/// Rounded to three digits.
fn significant(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// One value, or both ends of a range.
fn range<T: Copy + PartialEq>((least, most): (T, T), text: impl Fn(T) -> String) -> String {
    match (text(least), text(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    }
}

/// The most partners of a rank, senders and receivers together.
fn most_peers(job: &Job) -> usize {
    let between = job.flows.iter().filter(|flow| flow.source != flow.destination);
    let mut pairs: Vec<(Rank, Rank)> = between
        .flat_map(|flow| [(flow.source, flow.destination), (flow.destination, flow.source)])
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::generate::built_in;
    use crate::traffic::generate::pattern::Pattern;

    fn summary(pattern: &str) -> JobSummary {
        JobSummary::new(&Pattern::parse(pattern).unwrap().job().unwrap())
    }

    #[test]
    fn a_job_is_summed_up_in_a_line() {
        let job = summary("halo-2d:16:points=9,rate=100,length=64KiB,messages=10");
        assert_eq!((job.pairs, job.most_peers, job.messages), (84, 8, 840));
        assert_eq!(job.length, Some((4096, 65536)));
        let sending = job.sending.unwrap();
        // 48 faces and 36 corners.
        assert!(
            (sending.offered_bytes_per_s - 100.0 * (48.0 * 65536.0 + 36.0 * 4096.0)).abs() < 1.0
        );
        assert_eq!((sending.clocks, sending.duration_s), (16, 0.1));
        assert_eq!(job.cells()[4..8], ["16", "100 /s", "1", "4 KiB to 64 KiB"]);
        assert_eq!(
            sending.line(),
            "16 clocks, each sends 100 times a second (cv 1), in all 329.3 MB/s for 100 ms"
        );
    }

    #[test]
    fn what_clocks_send_are_the_bytes_of_the_job() {
        // Two clocks that stop at different times: 100 messages in 1 s, 10 in 10 s.
        let clock = |rank: u32, rate: f64, rounds: u64| Source {
            rank: Rank(rank),
            rate: PerSecond(rate),
            cv: 1.0,
            in_step: None,
            rounds,
            sends: vec![crate::traffic::Send { destination: Rank(2), length: Bytes(1000) }],
        };
        let sources = vec![clock(0, 100.0, 100), clock(1, 1.0, 10)];
        let mut job = Job::from_sources("j", 3, sources).unwrap();
        let sending = JobSummary::new(&job).sending.unwrap();
        assert_eq!((sending.offered_bytes_per_s, sending.duration_s), (11_000.0, 10.0));
        // A disturbed run of 40 s, whose clocks are those of 10 s of computing.
        job.seen.wall = Some(Seconds(40.0));
        job.seen.undisturbed = Some(Seconds(10.0));
        let sending = Sending::of_run(&job).unwrap();
        assert_eq!((sending.offered_bytes_per_s, sending.duration_s), (2750.0, 40.0));
        assert_eq!(
            sending.line(),
            "2 clocks, each sends 0.25 to 25 times a second while it sends (cv 1), in all 2.8 kB/s on \
             average in the 40 s of the run"
        );
    }

    #[test]
    fn what_is_unknown_stays_open() {
        let job = summary("ring:4:length=10B");
        assert_eq!((job.sending, job.length), (None, Some((10, 10))));
        assert_eq!(job.cells()[4..7], ["-", "-", "-"]);
        assert_eq!(job.csv_cells().len(), CSV_COLUMNS.len());
        assert_eq!(job.cells().len(), COLUMNS.len());
        let quiet = JobSummary::new(&Job::new("quiet", 3, []).unwrap());
        assert_eq!((quiet.length, quiet.most_peers), (None, 0));
    }

    #[test]
    fn a_workload_is_the_sum_of_its_jobs() {
        let workload = built_in::find("paper:2013/mixed-1").unwrap().workload().unwrap();
        let line = WorkloadSummary::new(&workload).line();
        let expected = "paper:2013/mixed-1: 4 jobs with 256 ranks, 8442000 messages of 553.3 GB";
        assert_eq!(line, expected);
    }
}
