//! `rankwright simulate`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{ArgGroup, Args, ValueEnum};
use rankwright::cluster::{Cluster, Levels};
use rankwright::estimate::Load;
use rankwright::placement::{JobShape, Placement, PlacementFile, digest};
use rankwright::report::page::{PlacementRole, Report, Shown};
use rankwright::report::simulation::SimulationReport;
use rankwright::sim::replay::{Discipline, ReplayOptions, Replayer};
use rankwright::sim::{Options, Progress, replicate};
use rankwright::traffic::Workload;
use rankwright::traffic::profile::OversubscribedHost;
use rankwright::traffic::read::profile_file;
use rankwright::units::{Bytes, Seconds};

use crate::launching::{lab, made_for};
use crate::options::{
    ClusterOptions, Format, RankSize, ReportOption, ResultOptions, SearchOptions,
    SimulationOptions, inputs, parse_count, parse_count_to, strategy_help,
};
use crate::output::exit_code::{Infeasible, UsageError};
use crate::output::{self, Verbosity};
use crate::planning::simulations::Watch;
use crate::planning::{plan, reports};

/// Options of `rankwright simulate`.
#[derive(Debug, Args)]
#[command(after_help = strategy_help())]
#[command(group = ArgGroup::new("placed").required(true).args(["strategy", "placement"]))]
pub(crate) struct Simulate {
    /// Jobs with message timing: a profile, jobs.toml, paper:..., nas:..., or pattern:... with a
    /// rate
    workload: String,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Strategy that places the ranks
    #[arg(long, value_name = "STRATEGY")]
    strategy: Option<String>,
    /// Placement file of `place` or `map`
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "cores_per_rank", "per", "ranks_per_node", "ranks_per_package", "ranks_per_numa",
            "ranks_per_gpu"
        ]
    )]
    placement: Option<PathBuf>,
    #[command(flatten)]
    rank_size: RankSize,
    /// Replay the calls that `profile --events` recorded: ranks compute, send and wait as in the
    /// run
    #[arg(long, conflicts_with_all = ["replications", "arrivals", "pacing", "service"])]
    replay: bool,
    /// Longest message that a replay sends before its receive is posted (eager protocol) [default:
    /// as `calibrate` measured, else 16 KiB]
    #[arg(long, value_name = "BYTES", requires = "replay")]
    eager_limit: Option<Bytes>,
    /// How messages of a replay share a network device, link or memory: fifo (one after the other)
    /// or max-min (all at once, by fair shares)
    #[arg(long, value_name = "DISCIPLINE", default_value = "fifo", hide_possible_values = true)]
    #[arg(requires = "replay")]
    discipline: DisciplineOption,
    /// Number of servers to list: those at which messages wait longest
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 10,
        value_parser = parse_count::<usize>,
        allow_negative_numbers = true,
    )]
    top: usize,
    /// Number of seeds to simulate; with several, the result has 95 % confidence intervals
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        value_parser = parse_count_to::<10_000>,
        allow_negative_numbers = true,
    )]
    replications: u32,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    result: ResultOptions,
    #[command(flatten)]
    report: ReportOption,
    #[command(flatten)]
    simulation: SimulationOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DisciplineOption {
    Fifo,
    MaxMin,
}

impl Simulate {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.result.check()?;
        self.report.check(&[self.result.file()])?;
        let mut cluster = self.cluster.read()?;
        let workload = inputs::workload(&self.workload, verbosity)?;
        if self.placement.is_none() {
            let (ranks, granularity) = (workload.rank_count(), self.rank_size.granularity());
            cluster = self.cluster.nodes.chosen(&cluster, ranks, &granularity, verbosity)?;
        }
        let (name, placement) = self.placement(&cluster, &workload, verbosity)?;
        if self.replay {
            return self.replay((&cluster, &workload), &name, &placement, verbosity);
        }
        let options = self.options();
        let count = self.replications as usize;
        let watch = Watch::new(verbosity, count);
        let replications = replicate(
            &cluster,
            &workload,
            &placement,
            &options,
            (count, self.search.threads().get()),
            &|number, progress| watch.observe(number, progress),
        )?;
        let wall = Seconds(watch.elapsed());
        drop(watch);
        let first = replications.outcomes.first().context("interrupted before the begin")?;
        let mut report = SimulationReport::new(&cluster, &name, first, wall);
        if count > 1 {
            report = report.with_replications(&replications);
        }
        let whole =
            replications.outcomes.iter().filter(|outcome| outcome.stopped.is_none()).count();
        if count > 1 && whole < count {
            self.result.write(&self.show(&report))?;
            bail!("interrupted: {whole} of {count} replications were complete");
        }
        let simulated = ((&cluster, &workload), &placement);
        self.finish(&report, simulated, first.stopped, verbosity)
    }

    fn replay(
        &self,
        (cluster, workload): (&Cluster, &Workload),
        name: &str,
        placement: &Placement,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let profiles = inputs::split(&self.workload);
        let is_profile = |name: &String| inputs::is_profile(Path::new(name)).unwrap_or(false);
        if let Some(other) = profiles.iter().find(|name| !is_profile(name)) {
            let text = format!(
                "--replay: `{other}` is not a profile made with `rankwright profile --events`"
            );
            return Err(UsageError(text).into());
        }
        let replayer = Replayer::open(&profiles)?;
        let options = ReplayOptions {
            eager_limit: self.eager_limit,
            discipline: match self.discipline {
                DisciplineOption::Fifo => Discipline::Fifo,
                DisciplineOption::MaxMin => Discipline::MaxMin,
            },
        };
        let watch = Watch::new(verbosity, 1);
        let mut observer = |progress: &Progress| watch.observe(0, progress);
        let replayed = replayer.replay(cluster, placement, options, &mut observer)?;
        let wall = Seconds(watch.elapsed());
        drop(watch);
        for profile in &profiles {
            let profile = profile_file::read(Path::new(profile))?;
            let waits_known = profile.ranks.iter().all(|rank| rank.waited_for_pu.is_some());
            let shared = profile.shared_pus().filter(|_| !waits_known);
            let library = profile.library();
            if let (Some(why), false) = (library.estimated(), profile.collectives.is_empty()) {
                output::warn(verbosity, format_args!("collectives are estimated: {why}"));
            }
            if let Some(OversubscribedHost { host, ranks, pus }) = shared {
                let text = format!(
                    "{ranks} ranks shared {pus} PUs on {host}: their time outside MPI, which is \
                     replayed, may be too long or too short"
                );
                output::warn(verbosity, text);
            }
        }
        for (what, count) in &replayed.left_out {
            output::warn(verbosity, format!("left out: {count} {what}"));
        }
        let report = SimulationReport::new(cluster, name, &replayed.outcome, wall)
            .with_ranks(&replayed.ranks);
        let simulated = ((cluster, workload), placement);
        self.finish(&report, simulated, replayed.outcome.stopped, verbosity)
    }

    /// Writes the report, with a warning if it is incomplete.
    fn finish(
        &self,
        report: &SimulationReport,
        (job, placement): ((&Cluster, &Workload), &Placement),
        stopped: Option<Seconds>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        self.result.write(&self.show(report))?;
        if let Some(time) = stopped {
            bail!(
                "interrupted at {time:.3} of simulated time: the numbers cover the messages so far; \
                 servers are simulated further than jobs"
            );
        }
        if self.report.is_wanted() {
            self.write_report(report, job, placement, verbosity)?;
        }
        if self.result.format != Format::Table {
            output::note(verbosity, caveat(report));
        }
        let recorded = job.1.jobs.iter().all(|job| job.seen.events.is_some());
        if recorded && !self.replay {
            let text = "the calls were recorded: `place` and `compare` replay them, `simulate` does with --replay";
            output::note(verbosity, format_args!("note: {text}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write_report(
        &self,
        report: &SimulationReport,
        (cluster, workload): (&Cluster, &Workload),
        placement: &Placement,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        let load = Load::new(cluster, &Levels::new(cluster), workload, placement);
        let (role, name) = (PlacementRole::Given, report.strategy.clone());
        let shown = Shown { role, name, placement, load: &load };
        let mut page = Report::of_simulation((cluster, workload), &shown, report);
        page.verdict.details.push(caveat(report));
        let page = reports::with_inputs(page, cluster, std::slice::from_ref(&self.workload))?;
        let on = (self.cluster.name(), lab::entry_to(cluster));
        let ranks = workload.rank_count();
        let program = reports::program_text(&[], workload);
        let names = reports::names_of(&self.workload, on, ranks, program);
        self.report.write(page, &names, verbosity)
    }

    /// The placement with its name.
    fn placement(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(String, Placement)> {
        if let Some(path) = &self.placement {
            let file = PlacementFile::read(path)?;
            let placement = made_for::placement(&file, cluster)?;
            let placed: Vec<u32> = file.jobs.iter().map(|job| job.ranks.len() as u32).collect();
            let expected: Vec<u32> = JobShape::of(workload).iter().map(|job| job.ranks).collect();
            if placed != expected {
                let what = format!(
                    "{}: found jobs of {placed:?} ranks, expected {expected:?} as in {}; place this \
                     workload anew",
                    path.display(),
                    self.workload
                );
                return Err(Infeasible(what).into());
            }
            for (made, here, what) in [
                (&file.cluster.digest, digest(cluster), "cluster description"),
                (&file.workload_digest, digest(workload), "workload"),
            ] {
                // One from a launcher's file was made for no workload.
                if *made != here && !made.is_empty() {
                    let text = format!("{} was made for another {what}", path.display());
                    let text = match what {
                        "workload" => text,
                        _ => made_for::with_advice(text, &file, cluster),
                    };
                    output::warn(verbosity, text);
                }
            }
            return Ok((file.strategy, placement));
        }
        let strategy = self.search.strategy(self.strategy.as_deref().unwrap_or_default())?;
        let strategies = [strategy];
        let planner = self
            .search
            .planner(cluster, workload, &strategies)?
            .granularity(self.rank_size.granularity())
            .simulation(self.options())
            .evaluate_all(false);
        let plan = plan::plan(&self.search, &planner, verbosity)?;
        plan::note_choice(verbosity, plan.best());
        Ok((plan.best().strategy.to_string(), plan.placement))
    }

    fn options(&self) -> Options {
        self.simulation.options(self.search.seed(), &inputs::split(&self.workload))
    }

    fn show(&self, report: &SimulationReport) -> String {
        match self.result.format {
            Format::Json => report.to_json(),
            Format::Csv => {
                let (header, rows) = report.csv();
                output::csv(&header, &rows)
            }
            Format::Table => {
                let several = match &report.replications {
                    Some(several) => format!("mean of {} seeds", several.count),
                    None => String::new(),
                };
                let first = if several.is_empty() { "" } else { "first seed" };
                let header = [report.strategy.as_str(), first, &several];
                let totals = output::table(&header, &report.totals_table());
                let (header, rows) = report.job_table();
                let jobs = output::table(&header, &rows);
                let (header, rows) = report.server_table(self.top);
                let servers = output::table(&header, &rows);
                let (messages, events) = (report.totals.messages, report.totals.events);
                let caveat = caveat(report);
                format!(
                    "{totals}\n{jobs}\n{servers}\n{messages} messages, {events} events in {:.2}\n\
                     {caveat}\n",
                    Seconds(report.wall_s)
                )
            }
        }
    }
}

fn caveat(report: &SimulationReport) -> String {
    let origin = if report.calibrated { "calibrated" } else { "assumed" };
    let is_replay = !report.per_rank.is_empty();
    let (what, seed) = match report.replications {
        _ if is_replay => ("replay of the recorded calls", ""),
        // One draw of when ranks send; other commands draw others.
        None => (
            "simulation",
            "; one seed: `place` and `compare` use others, whose runs end earlier or later \
             (--replications 10: the mean)",
        ),
        Some(_) => ("simulation", ""),
    };
    format!("{what}, rates {origin}: {}{seed}", report.rates)
}
