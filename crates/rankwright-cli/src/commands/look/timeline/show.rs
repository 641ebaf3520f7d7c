//! `rankwright timeline show`.

use clap::Args;
use rankwright::ids::Rank;
use rankwright::report::page::Report;
use rankwright::report::timeline::{
    CountedRow, TimelineReport, bins_of, bins_to_last_send, last_send, timeline_picture,
};
use rankwright::report::to_json;
use rankwright::timeline::counted;
use rankwright::traffic::Workload;
use rankwright::units::Seconds;

use super::run::{Run, RunOptions};
use crate::options::{Format, ReportOption, ResultOptions, inputs, parse_count_to};
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};
use crate::planning::reports::{names_of, program_text};

/// Options of `rankwright timeline show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    run: RunOptions,
    /// Length of a bin of JSON and CSV, like 10 ms [default: a hundredth of the run]
    #[arg(long, value_name = "TIME")]
    bin: Option<Seconds>,
    /// Number of windows for load balance, serialisation and transfer
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = parse_count_to::<100_000>,
        allow_negative_numbers = true,
    )]
    windows: u32,
    /// Most rows for ranks; if there are more ranks, neighbours share one
    #[arg(
        long,
        value_name = "N",
        default_value_t = 64,
        value_parser = parse_count_to::<100_000>,
        allow_negative_numbers = true,
    )]
    rows: u32,
    /// `-o run.svg` writes a picture
    #[command(flatten)]
    result: ResultOptions,
    #[command(flatten)]
    report: ReportOption,
}

/// The most bins of a run.
const MOST_BINS: f64 = 1e7;
/// The width of a text that does not go to a terminal.
const WIDTH: usize = 100;

/// The report of a time line of a workload.
fn page(report: &TimelineReport, run: &Run, workload: &Workload) -> Report {
    let ranks = 0..run.profile.ranks.len();
    // Without messages there is neither a site nor a row of a rank.
    let nodes = ranks.filter(|rank| *rank < run.sites.ranks());
    let nodes: Vec<u32> = nodes.map(|rank| run.sites.node(Rank::from_index(rank))).collect();
    let mut report = Report::of_timeline(workload, report, &nodes);
    report.find(run.doubts.iter().cloned());
    match &run.cluster {
        Some(cluster) => report.with_cluster_facts(cluster),
        None => report,
    }
}

impl Show {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<()> {
        self.result.check()?;
        self.check_picture()?;
        self.report.check(&[self.result.file()])?;
        let run = self.run.read(verbosity)?;
        let timeline = run.timeline(self.windows as usize, verbosity)?;
        let is_picture = self.result.is_named(".svg");
        let (first_start, counted_span) = run.counted_span();
        let span = timeline.as_ref().map_or(counted_span, |timeline| timeline.span);
        let bins = match (is_picture, self.result.format) {
            (true, _) => TimelineReport::PICTURE_BINS,
            (false, Format::Table) => self.columns(&run),
            (false, Format::Json | Format::Csv) => 100,
        };
        // Text is as wide as the terminal; a picture is scaled.
        let is_text = !is_picture && self.result.format == Format::Table;
        let drawn = timeline.as_ref().filter(|_| is_text).map_or(span, last_send);
        let bin = self.bin(span, drawn / bins as f64)?;
        let mut report = match &timeline {
            Some(timeline) => {
                TimelineReport::new(timeline, bin, run.times_from, run.bandwidth_from)
            }
            None => {
                let ranks = run.profile.ranks.len();
                let width =
                    run.series.iter().map(|node| node.sampling.period_s).fold(0.0, f64::max);
                let report = TimelineReport::of_counters(&run.series, width, span, ranks);
                TimelineReport { bin_s: bin, ..report }
            }
        };
        let bins = match &timeline {
            Some(timeline) => bins_to_last_send(timeline, bin),
            None => bins_of(span, bin),
        };
        report.counted = CountedRow::of(counted(&run.series, first_start, &bins));
        self.result.write(&self.shown(&report, &run, is_picture))?;
        self.write_report(&report, &run, verbosity)
    }

    /// Writes the report, if it is wanted.
    fn write_report(
        &self,
        report: &TimelineReport,
        run: &Run,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        if !self.report.is_wanted() {
            return Ok(());
        }
        let (profile, cluster) = self.run.inputs();
        let quiet = Verbosity { quiet: true, ..*verbosity };
        let workload = inputs::workload(profile, &quiet)?;
        let page = page(report, run, &workload).with_day_of(profile, &run.profile);
        let program = program_text(&[], &workload);
        let on = (cluster, String::new());
        self.report.write(page, &names_of(profile, on, workload.rank_count(), program), verbosity)
    }

    /// Refuses other pictures than SVG, and a picture in another format.
    fn check_picture(&self) -> Result<(), UsageError> {
        if [".png", ".pdf", ".jpg", ".jpeg", ".gif", ".eps"]
            .iter()
            .any(|other| self.result.is_named(other))
        {
            return Err(UsageError(
                "-o: pictures are written as SVG: name the file .svg".to_owned(),
            ));
        }
        if self.result.is_named(".svg") && self.result.format != Format::Table {
            let text =
                "-o FILE.svg writes a picture: leave out --format, or name the file otherwise";
            return Err(UsageError(text.to_owned()));
        }
        Ok(())
    }

    fn shown(&self, report: &TimelineReport, run: &Run, is_picture: bool) -> String {
        match self.result.format {
            _ if is_picture => timeline_picture(report, &run.profile.run.program),
            Format::Json => to_json(report),
            Format::Csv => {
                let (header, rows) = report.csv();
                output::csv(&header, &rows)
            }
            Format::Table => {
                let (header, rows) = report.windows_table();
                let windows = match rows.is_empty() {
                    true => String::new(),
                    false => format!("\n{}", output::table(&header, &rows)),
                };
                report.text(self.rows as usize) + &windows
            }
        }
    }

    /// The columns of time that fit into the terminal.
    fn columns(&self, run: &Run) -> usize {
        let terminal = terminal_size::terminal_size().filter(|_| !self.result.has_file());
        let width = terminal.map_or(WIDTH, |(width, _)| usize::from(width.0));
        let length = |text: &str| text.chars().count();
        let sites = run.sites.devices.iter();
        let sites = sites.map(|site| length(&site.node) + length(&site.device) + length("  out"));
        let counted = run.series.iter().flat_map(|node| {
            let devices = node.devices.iter();
            devices.map(|device| length(&node.host) + length(device) + length("  counted out"))
        });
        TimelineReport::columns(sites.chain(counted), width)
    }

    /// The length of a bin, in seconds: `fits` where it is not given, and in what is drawn.
    fn bin(&self, span: f64, fits: f64) -> anyhow::Result<f64> {
        let Some(bin) = self.bin else { return Ok(fits) };
        if bin.0 <= 0.0 || span / bin.0 > MOST_BINS {
            let least = Seconds(span / MOST_BINS);
            let text = format!("--bin: found {bin}, expected at least {least} for this run");
            return Err(output::exit_code::UsageError(text).into());
        }
        let is_drawn = self.result.format == Format::Table;
        Ok(if is_drawn { fits } else { bin.0 })
    }
}
