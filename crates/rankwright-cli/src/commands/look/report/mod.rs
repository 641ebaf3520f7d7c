//! `rankwright report`: one file that says whether a placement pays, and what to type.

mod run_times;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use rankwright::choose::{Basis, Planner};
use rankwright::cluster::read::hostfile;
use rankwright::cluster::{Cluster, Levels};
use rankwright::estimate::Load;
use rankwright::files::{check_writable, write_atomically};
use rankwright::launch::{Launcher, shell};
use rankwright::map::Strategy;
use rankwright::placement::{Granularity, Placement, PlacementFile, RanksPer, Share};
use rankwright::report::page::{
    Command, Names, PlacementRole, Report as Page, ReportForm, Shown, Simulated,
};
use rankwright::sim::replay::{ReplayOptions, Replayer};
use rankwright::sim::{Progress, Replications, replicate};
use rankwright::traffic::{Job as TrafficJob, Workload};

use crate::host::signals::interrupt;
use crate::launching::preview::{preview, with_launches};
use crate::launching::{lab, made_for};
use crate::options::{
    Given, NodeGroupOptions, ProgramsOption, RankSize, SearchOptions, SelectionOptions, finished,
    form_by_name, inputs, programs, refuse, strategy_help,
};
use crate::output::exit_code::{Infeasible, UsageError};
use crate::output::{self, Verbosity};
use crate::planning::placing::{LauncherOptions, PlacingOptions};
use crate::planning::reports::{self, Placed, program_text};
use crate::planning::simulations::Watch;
use crate::planning::{launcher_default, plan, time_line};

/// Options of `rankwright report`.
#[derive(Debug, Args)]
#[command(after_help = strategy_help())]
pub(crate) struct Report {
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    placing: PlacingOptions,
    #[command(flatten)]
    launcher: LauncherOptions,
    /// The workload of a placement: report on the placement file that is named instead of a workload
    #[arg(long, value_name = "WORKLOAD")]
    profile: Option<String>,
    /// Form of the report [default: by the ending of --output, else html]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Form>,
    /// File to write; - prints [default: report.html; other forms are printed]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The program and its arguments, for what to type; or several programs: -n 2 ./a x : -n 6 ./b y
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A page, in one file that needs no network
    Html,
    /// Markdown, for an issue tracker
    Md,
    /// Text
    Text,
    /// The data of the page
    Json,
}

/// Seeds of the simulations of a placement that exists.
const SEEDS: usize = 5;

/// The most messages of a run that is replayed, for each placement: as `place` does by its default effort.
const MOST_REPLAYED: u64 = 400_000;

/// The file of a page without --output.
const PAGE: &str = "report.html";

/// The placement file that commands of a report name.
const PLACEMENT: &str = "placement.json";

impl Report {
    pub(crate) fn run(mut self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.launcher.take_defaults()?;
        let (form, path) = self.destination()?;
        if let Some(path) = &path {
            check_writable(path)?;
        }
        let run_times = run_times::file(&self.placing.workloads).map(Path::to_owned);
        let (report, names) = match (run_times, self.profile.clone()) {
            (Some(file), _) => {
                self.refuse_placing()?;
                run_times::page(&file)?
            }
            (None, Some(profile)) => self.of_placement(&profile, verbosity)?,
            (None, None) => self.of_workload(verbosity)?,
        };
        let answer = report.verdict.text.clone();
        let text = finished(report, &names).render(form);
        match path {
            None => output::print(&text)?,
            Some(path) => {
                write_atomically(&path, text.as_bytes())?;
                output::note(verbosity, answer);
                output::print(&format!("{}\n", path.display()))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The form of the report, and its file; `None` for standard output.
    fn destination(&self) -> Result<(ReportForm, Option<PathBuf>), UsageError> {
        let by_option = self.format.map(|form| match form {
            Form::Html => ReportForm::Html,
            Form::Md => ReportForm::Markdown,
            Form::Text => ReportForm::Text,
            Form::Json => ReportForm::Json,
        });
        let Some(path) = &self.output else {
            let form = by_option.unwrap_or(ReportForm::Html);
            return Ok((form, (form == ReportForm::Html).then(|| PathBuf::from(PAGE))));
        };
        if path.as_os_str() == "-" {
            return Ok((by_option.unwrap_or(ReportForm::Html), None));
        }
        let form = by_option.or_else(|| form_by_name(path)).ok_or_else(|| {
            let text = format!(
                "--output: found `{}`, expected a name that ends in .html, .md, .txt or .json, or \
                 --format",
                path.display()
            );
            UsageError(text)
        })?;
        Ok((form, Some(path.clone())))
    }

    /// The report of a workload, placed as `place` does.
    fn of_workload(&mut self, verbosity: &Verbosity) -> anyhow::Result<(Page, Names)> {
        self.placing.refuse_misplaced()?;
        self.refuse_placements()?;
        let several = !self.program.is_empty() && self.placing.workloads.len() > 1;
        let line = (!self.program.is_empty()).then(|| programs(&self.program)).transpose()?;
        if several {
            let text = "one program for several jobs: leave out `-- PROGRAM`";
            return Err(UsageError(text.to_owned()).into());
        }
        let usual = self.placing.strategies()?;
        let whole = self.placing.cluster.read()?;
        let mut job = self.placing.job(whole, usual, line.as_ref(), verbosity)?;
        let launcher = self.launcher.find(&job.workload);
        let entry = lab::entry_to(&job.cluster);
        let (plan, comparison) =
            self.placing.plan(&mut job, launcher, (false, &entry), verbosity)?;
        let placed = Placed { options: &self.placing, job: &job };
        let mut report = reports::of_plan(placed, (&plan, &comparison), verbosity)?;
        let quiet = Verbosity { quiet: true, ..*verbosity };
        let file = self.placing.file(&job, plan.best(), &quiet)?;
        let program = program_text(&self.program, &job.workload);
        report.commands.push(Command {
            title: "Write the placement and its launch files".to_owned(),
            text: as_place(&self.given, &program),
            file: None,
        });
        let folder = Path::new(PLACEMENT).with_extension("launch");
        let launches = preview(&file, launcher, self.launcher.fabric(), &folder, line.as_ref());
        let report = with_launches(report, launches, Path::new(PLACEMENT), &program);
        let names = reports::names(&self.placing, &job, program, entry);
        Ok((report, names))
    }

    /// Refuses options that say where ranks go.
    fn refuse_placing(&self) -> Result<(), UsageError> {
        let why = " has no effect on measured run times";
        refuse(&[
            (self.given.first_of::<PlacingOptions>(), why),
            (self.given.first_of::<LauncherOptions>(), why),
            (self.profile.as_ref().map(|_| "--profile".to_owned()), why),
        ])
    }

    /// Refuses a placement file in the place of a workload.
    fn refuse_placements(&self) -> Result<(), UsageError> {
        let is_placement = |name: &&String| inputs::is_placement(Path::new(name.as_str()));
        match self.placing.workloads.iter().find(is_placement) {
            None => Ok(()),
            Some(name) => Err(UsageError(format!(
                "{name} is a placement: name its workload, too, as `rankwright report {name} --profile \
                 WORKLOAD --on CLUSTER`"
            ))),
        }
    }

    /// The report of a placement that exists, beside the launcher's default.
    fn of_placement(
        &mut self,
        profile: &str,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(Page, Names)> {
        let [name] = &self.placing.workloads[..] else {
            let text = "--profile: expected one placement file before it";
            return Err(UsageError(text.to_owned()).into());
        };
        let why = " has no effect with --profile: the ranks are where the placement has them";
        refuse(&[
            (self.given.option_of::<PlacingOptions>("strategies"), why),
            (self.given.option_of::<PlacingOptions>("share"), why),
            (self.given.first_of::<RankSize>(), why),
            (self.given.first_of::<SelectionOptions>(), why),
            (self.given.first_of::<NodeGroupOptions>(), why),
            (self.given.first_of::<ProgramsOption>(), why),
            (self.given.option_of::<SearchOptions>("effort"), why),
            (self.given.option_of::<SearchOptions>("time"), why),
            (self.given.option_of::<SearchOptions>("objective"), why),
            (self.given.option_of::<SearchOptions>("moves"), why),
            (self.given.option_of::<SearchOptions>("balance"), why),
        ])?;
        let path = Path::new(name);
        let file = PlacementFile::read(path)?;
        let whole = self.placing.cluster.read()?;
        let workload = inputs::workload(profile, verbosity)?;
        refuse_others(path, &file, (&whole, &workload))?;
        let cluster = hostfile::part(&whole, file.nodes.iter().map(|node| node.name.as_str()))?;
        let placement = file.placement(&cluster)?;
        let launcher = self.launcher.find(&workload);
        let default = self.default_of(launcher, (&cluster, &workload), &placement, verbosity)?;
        let load = |placement: &Placement| {
            Load::new(&cluster, &Levels::new(&cluster), &workload, placement)
        };
        let loads =
            [default.as_ref().map(|(_, placement)| load(placement)), Some(load(&placement))];
        let mut simulated = Vec::new();
        if let (Some((name, placement)), Some(load)) = (&default, &loads[0]) {
            let role = PlacementRole::Default;
            simulated.push(Shown { role, name: name.clone(), placement, load });
        }
        if let Some(load) = &loads[1] {
            let (role, name) = (PlacementRole::Given, file.strategy.clone());
            simulated.push(Shown { role, name, placement: &placement, load });
        }
        let simulated = self.simulated(simulated, (&cluster, &workload), profile, verbosity)?;
        let report = Page::of_placements((&cluster, &workload), &simulated);
        let report = reports::with_inputs(report, &whole, &[profile.to_owned()])?;
        let of_ranks = (&*file.strategy, &placement);
        let report = time_line::add(report, (&cluster, &workload), of_ranks, verbosity);
        let program = program_text(&self.program, &workload);
        let line = (!self.program.is_empty()).then(|| programs(&self.program)).transpose()?;
        let (fabric, folder) = (self.launcher.fabric(), path.with_extension("launch"));
        let launches = preview(&file, launcher, fabric, &folder, line.as_ref());
        let mut report = with_launches(report, launches, path, &program);
        report.commands.extend(to_launch((path, &folder), launcher, &program));
        let on = (self.placing.cluster.name(), lab::entry_to(&cluster));
        let names = reports::names_of(profile, on, workload.rank_count(), program);
        Ok((report, Names { placement: name.clone(), ..names }))
    }

    /// Where the launcher puts the ranks by default, with the nodes, the ranks on each of them and the
    /// cores of each rank as they are in the placement; `None` if its default has no placement there.
    /// `cluster` has the nodes of the placement only.
    fn default_of(
        &self,
        launcher: &'static Launcher,
        (cluster, workload): (&Cluster, &Workload),
        given: &Placement,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Option<(String, Placement)>> {
        let Some(granularity) = sizes(cluster, given) else { return Ok(None) };
        let name = launcher_default::strategy(launcher, workload.rank_count(), verbosity);
        let strategies = [name.parse::<Strategy>()?];
        let planner = Planner::new(cluster, workload)
            .strategies(&strategies)
            .granularity(granularity)
            .evaluate_all(false);
        Ok(match plan::plan(&self.placing.search, &planner, verbosity) {
            Ok(plan) => Some((plan.best().strategy.to_string(), plan.placement)),
            Err(_) => None,
        })
    }

    /// Simulates all placements, if the workload has message timing.
    fn simulated<'a>(
        &self,
        shown: Vec<Shown<'a>>,
        (cluster, workload): (&Cluster, &Workload),
        profile: &str,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Vec<Simulated<'a>>> {
        let timed = |job: &TrafficJob| !job.sources.is_empty() || job.flows.is_empty();
        if !workload.jobs.iter().all(timed) {
            let untimed = shown.into_iter();
            let by = Basis::Static;
            return Ok(untimed.map(|shown| Simulated { shown, replications: None, by }).collect());
        }
        if let Some(runs) = replayed(&shown, (cluster, workload), verbosity)? {
            let by = Basis::Replay;
            let of_run = |(shown, run)| Simulated { shown, replications: Some(run), by };
            return Ok(shown.into_iter().zip(runs).map(of_run).collect());
        }
        let search = &self.placing.search;
        let options = self.placing.simulation.options(search.seed(), &inputs::split(profile));
        let watch = Watch::new(verbosity, SEEDS * shown.len());
        let mut all = Vec::new();
        for (at, shown) in shown.into_iter().enumerate() {
            let runs = replicate(
                cluster,
                workload,
                shown.placement,
                &options,
                (SEEDS, search.threads().get()),
                &|number, progress| watch.observe(at * SEEDS + number, progress),
            )?;
            if interrupt::requested() {
                anyhow::bail!("interrupted");
            }
            all.push(Simulated { shown, replications: Some(runs), by: Basis::Simulation });
        }
        Ok(all)
    }
}

/// How to write the launch files of a placement to a folder, if that is not there.
fn to_launch(
    (file, folder): (&Path, &Path),
    launcher: &Launcher,
    program: &str,
) -> Option<Command> {
    let [file, to] = [file, folder].map(|path| shell::quote(&path.display().to_string()));
    let text = format!("rankwright launch {file} --for {} -o {to} -- {program}", launcher.name);
    let title = "Write these launch files".to_owned();
    (!folder.is_dir()).then_some(Command { title, text, file: None })
}

/// Replays the recorded calls under each placement, as `place` does; `None` if they were not recorded, are too
/// many, or cannot all be replayed.
fn replayed(
    shown: &[Shown<'_>],
    (cluster, workload): (&Cluster, &Workload),
    verbosity: &Verbosity,
) -> anyhow::Result<Option<Vec<Replications>>> {
    let recorded: Option<Vec<&Path>> =
        workload.jobs.iter().map(|job| job.seen.events.as_deref()).collect();
    let Some(recorded) = recorded.filter(|_| workload.clocked_messages() <= MOST_REPLAYED) else {
        return Ok(None);
    };
    let watch = Watch::new(verbosity, shown.len());
    let replayer = Replayer::open(&recorded)?;
    let mut runs = Vec::new();
    for (at, Shown { placement, .. }) in shown.iter().enumerate() {
        let how = ReplayOptions::default();
        let mut observer = |progress: &Progress| watch.observe(at, progress);
        let replayed = replayer.replay(cluster, placement, how, &mut observer)?;
        if interrupt::requested() {
            anyhow::bail!("interrupted");
        }
        if !replayed.left_out.is_empty() {
            return Ok(None);
        }
        runs.push(Replications::of_one(replayed.outcome));
    }
    Ok(Some(runs))
}

/// Refuses a placement that was made for another cluster or workload.
fn refuse_others(
    path: &Path,
    file: &PlacementFile,
    (cluster, workload): (&Cluster, &Workload),
) -> anyhow::Result<()> {
    let of_cluster = made_for::other_count(file, cluster);
    let of_cluster = of_cluster.unwrap_or_else(|| "give that cluster with --on".to_owned());
    let inputs = [
        (made_for::other_cluster(file, cluster), of_cluster),
        (made_for::other_workload(file, workload), "give that workload with --profile".to_owned()),
    ];
    for (other, advice) in inputs {
        if let Some(other) = other {
            let text = format!("{}: {other}: {advice}, or place anew", path.display());
            return Err(Infeasible(text).into());
        }
    }
    Ok(())
}

/// As many ranks on each node as a placement has there, each with as many cores; `None` if ranks have
/// different numbers of cores.
fn sizes(cluster: &Cluster, placement: &Placement) -> Option<Granularity> {
    let mut counts = vec![0; cluster.nodes.len()];
    let mut cores = Vec::new();
    for rank in placement.ranks() {
        counts[rank.node.index()] += 1;
        cores.extend(rank.cores.iter().map(|core| (rank.node, *core)));
    }
    let each = placement.ranks().next()?.cores.len();
    if placement.ranks().any(|rank| rank.cores.len() != each) {
        return None;
    }
    let all = cores.len();
    cores.sort_unstable();
    cores.dedup();
    let share = match cores.len() < all {
        true => Share::Pus,
        false => Share::CoresEach(NonZeroU32::new(u32::try_from(each).ok()?)?),
    };
    Some(Granularity::Part { ranks: RanksPer::NodeByNode(counts), share })
}

/// The command line of `place` for that of `report`.
fn as_place(given: &Given, program: &str) -> String {
    let mut words = vec!["rankwright".to_owned(), "place".to_owned()];
    words.extend(given.words_of::<PlacingOptions>());
    words.extend(given.words_of::<LauncherOptions>());
    format!("{} -- {program}", shell::join(&words))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        verbosity: Verbosity,
        #[command(flatten)]
        report: Report,
    }

    #[test]
    fn the_line_of_place_has_the_options_of_the_report_but_its_file() {
        let place = |text: &str| {
            let Line { verbosity, report } = Line::try_parse_from(text.split(' ')).unwrap();
            assert_eq!(verbosity.quiet, text.contains(" -q"));
            as_place(&report.given, "./app")
        };
        let expected = "rankwright place app.rwp --on c.toml --for slurm -- ./app";
        for report in [
            "report app.rwp --on c.toml -o x.md --for slurm",
            "report app.rwp --on c.toml -qo x.json --for slurm",
            "report --on c.toml --for slurm --format=md -qox.html app.rwp",
            "report --output=x app.rwp --on c.toml --format json --for slurm -- ./other",
        ] {
            assert_eq!(place(report), expected);
        }
        assert_eq!(
            place("report app.rwp --on c.toml --keep-node-groups --nodes n[0-3]"),
            "rankwright place app.rwp --on c.toml --nodes 'n[0-3]' --keep-node-groups=recorded -- ./app"
        );
    }
}
