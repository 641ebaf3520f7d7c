//! `rankwright nic`: network devices, the ranks that use them, and the variables that select them.

mod report;
mod show;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::placement::{PlacementFile, digest};
use rankwright::rails::Selection;
use rankwright::traffic::Workload;

use crate::host::this_host;
use crate::launching::made_for;
use crate::options::{
    FabricOptions, Given, NodesOption, RankSize, ResultOptions, SearchOptions, SimulationOptions,
    given, inputs, refuse, selection_help,
};
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};
use crate::planning::devices::{self, Balance};
use crate::planning::plan;
use report::{NicReport, OtherSelection};

/// Options of `rankwright nic`.
#[derive(Debug, Args)]
#[command(after_help = selection_help())]
pub(crate) struct Nic {
    #[command(flatten)]
    given: Given,
    /// A placement file, or a workload as for `place`. Without it, only the devices of the cluster
    /// (--on) or of this node are shown
    #[arg(value_name = "PLACEMENT|WORKLOAD")]
    input: Option<String>,
    /// The cluster: a cluster.toml, an hwloc XML file, synthetic:STRING or a built-in name [default,
    /// for a workload: that of site.toml]
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    #[command(flatten)]
    nodes: NodesOption,
    /// Strategy that places the ranks of a workload [default: blocked]
    #[arg(long, value_name = "STRATEGY")]
    strategy: Option<String>,
    /// Selection of devices, see below [default: that of the placement; for a workload,
    /// device-affinity]
    #[arg(long, value_name = "SELECTION", requires = "input")]
    selection: Option<Selection>,
    #[command(flatten)]
    fabric: FabricOptions,
    /// Show what the network stack does by default, and where that differs; needs --fabric
    #[arg(long, requires = "fabric")]
    explain: bool,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    result: ResultOptions,
    #[command(flatten)]
    simulation: SimulationOptions,
}

impl Nic {
    pub(crate) fn run(mut self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.result.check()?;
        let cluster = self.cluster()?;
        self.refuse_without_effect(cluster.is_some())?;
        if self.input.is_some() {
            self.fabric = self.fabric.or_of_site()?;
        }
        let report = match (&self.input, cluster) {
            (None, Some(cluster)) => NicReport::of_cluster(&cluster),
            (None, None) => NicReport::of_cluster(&this_host::cluster()?),
            (Some(input), None) => {
                let file = self.read_placement(input)?;
                self.report(None, &file, None, None)?
            }
            (Some(input), Some(cluster)) if is_placement(input) => {
                self.of_placement(input, &cluster, verbosity)?
            }
            (Some(input), Some(cluster)) => self.of_workload(input, &cluster, verbosity)?,
        };
        self.result.write(&show::show(&report, self.result.format)?)?;
        report.notes.iter().for_each(|text| output::note(verbosity, format_args!("note: {text}")));
        Ok(ExitCode::SUCCESS)
    }

    /// The cluster that the user names, or that of the site for what needs one.
    fn cluster(&self) -> anyhow::Result<Option<Cluster>> {
        let on = self.on.as_deref();
        match &self.input {
            Some(input) if is_placement(input) && self.selection.is_some() => {
                self.nodes.read(on).map(Some)
            }
            Some(input) if !is_placement(input) => self.nodes.read_if_any(on),
            _ if on.is_none() && !self.nodes.is_given() => Ok(None),
            _ => self.nodes.read(on).map(Some),
        }
    }

    /// An error for an option without effect.
    fn refuse_without_effect(&self, has_cluster: bool) -> Result<(), UsageError> {
        let no_ranks = " sets variables of ranks: give a placement or a workload";
        let fabric = self.input.is_none() && self.fabric.fabric.is_some();
        refuse(&[(given("--fabric", fabric), no_ranks)])?;
        if self.input.as_deref().is_some_and(|input| has_cluster && !is_placement(input)) {
            return Ok(());
        }
        let placed = " applies to a workload, given with --on; a placement keeps \
                      its ranks where they are";
        refuse(&[
            (given("--strategy", self.strategy.is_some()), placed),
            (self.given.first_of::<RankSize>(), placed),
            (self.given.first_of::<SearchOptions>(), placed),
            (self.given.first_of::<SimulationOptions>(), placed),
        ])
    }

    fn read_placement(&self, input: &str) -> anyhow::Result<PlacementFile> {
        let path = Path::new(input);
        if path.exists() && !is_placement(input) {
            let text = format!(
                "{input} is not a placement file; for a workload, give the cluster with --on"
            );
            return Err(UsageError(text).into());
        }
        Ok(PlacementFile::read(path)?)
    }

    /// A placement on its cluster, with other devices if a selection is given.
    fn of_placement(
        &self,
        input: &str,
        cluster: &Cluster,
        verbosity: &Verbosity,
    ) -> anyhow::Result<NicReport> {
        let mut file = self.read_placement(input)?;
        let placed = made_for::placement(&file, cluster);
        if file.cluster.digest != digest(cluster) {
            let text = format!("{input} was made for another description of the cluster");
            let text = match placed.is_ok() {
                true => made_for::with_advice(text, &file, cluster),
                // The error has the advice.
                false => text,
            };
            output::warn(verbosity, text);
        }
        let placement = placed?;
        let Some(selection) = &self.selection else {
            return self.report(Some(cluster), &file, None, None);
        };
        if selection.to_string().starts_with("by-load") {
            let text = "by-load needs the traffic between nodes: give the workload instead of the \
                        placement, and its --strategy";
            return Err(UsageError(text.to_owned()).into());
        }
        let nothing = Workload::default();
        let selected = devices::selected(cluster, &nothing, placement, selection)?;
        let entries = file.jobs.iter_mut().flat_map(|job| &mut job.ranks);
        for (entry, place) in entries.zip(selected.ranks()) {
            entry.nics.clone_from(&place.nics);
            entry.gpus.clone_from(&place.gpus);
        }
        self.report(Some(cluster), &file, Some(selection), None)
    }

    /// A workload, placed by a strategy.
    fn of_workload(
        &self,
        input: &str,
        cluster: &Cluster,
        verbosity: &Verbosity,
    ) -> anyhow::Result<NicReport> {
        let usual =
            || "device-affinity".parse::<Selection>().map_err(|e| UsageError(e.to_string()));
        let selection = match &self.selection {
            Some(selection) => selection.clone(),
            None => usual()?,
        };
        devices::require_devices(cluster, &selection)?;
        let workload = inputs::workload(input, verbosity)?;
        let granularity = self.rank_size.granularity();
        let cluster =
            &self.nodes.chosen(cluster, workload.rank_count(), &granularity, verbosity)?;
        if self.strategy.is_none() {
            let text =
                "the ranks are placed by blocked; otherwise: --strategy NAME, or a placement.json";
            output::note(verbosity, text);
        }
        let strategy = self.search.strategy(self.strategy.as_deref().unwrap_or("blocked"))?;
        let simulation = self.simulation.options(self.search.seed(), &inputs::split(input));
        let strategies = [strategy];
        let planner = self
            .search
            .planner(cluster, &workload, &strategies)?
            .granularity(granularity)
            .devices(selection.clone())
            .simulation(simulation)
            .evaluate_all(false);
        let plan = plan::plan(&self.search, &planner, verbosity)?;
        let candidate = plan.best();
        plan::note_choice(verbosity, candidate);
        let balance = devices::balance(cluster, &workload, candidate, &selection)?;
        let file = candidate.file(cluster, &workload);
        let mut report = self.report(Some(cluster), &file, Some(&selection), balance)?;
        report.other = other_selection(&selection).and_then(|other| {
            let busiest = devices::busiest_under(cluster, &workload, &candidate.placement, &other)?;
            Some(OtherSelection { selection: other.to_string(), busiest_device_s: busiest.0 })
        });
        Ok(report)
    }

    fn report(
        &self,
        cluster: Option<&Cluster>,
        file: &PlacementFile,
        selection: Option<&Selection>,
        balance: Option<Balance>,
    ) -> anyhow::Result<NicReport> {
        let mut report = NicReport::new(cluster, file, self.fabric, self.explain)?;
        report.selection = selection.map(ToString::to_string);
        if let Some(balance) = balance {
            report.busiest_device_s = Some(balance.busiest.0);
            report.lower_bound_s = Some(balance.lower_bound.0);
        }
        if let Some(stack) = self.fabric.fabric.filter(|_| self.explain) {
            report.explain(file, stack);
        }
        Ok(report)
    }
}

/// The selection to compare another one with: by-load, and for by-load itself device-affinity. `None` if
/// options restrict the devices of the first.
fn other_selection(selection: &Selection) -> Option<Selection> {
    match selection.to_string().as_str() {
        "none" => None,
        restricted if restricted.contains("devices=") => None,
        by_load if by_load.starts_with("by-load") => "device-affinity".parse().ok(),
        _ => "by-load".parse().ok(),
    }
}

/// Whether a file is a placement: workloads are never JSON objects.
fn is_placement(input: &str) -> bool {
    use std::io::Read;
    let mut begin = [0; 64];
    let read = std::fs::File::open(input).and_then(|mut file| file.read(&mut begin));
    read.is_ok_and(|count| begin[..count].trim_ascii_start().starts_with(b"{"))
}
