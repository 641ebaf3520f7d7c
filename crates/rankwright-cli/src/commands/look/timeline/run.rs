//! The recorded run of a time line, and the network devices of its ranks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use rankwright::cluster::Cluster;
use rankwright::placement::{Placement, PlacementFile, digest};
use rankwright::report::page::{Finding, Severity, doubts_of_recording};
use rankwright::report::timeline::{BandwidthFrom, TimesFrom};
use rankwright::sim::replay::{ReplayOptions, Replayer};
use rankwright::timeline::{Messages, RecordedRun, SendTimes, Sites, Timeline, counted_span};
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::counter_series::{self, NodeSeries};
use rankwright::traffic::read::profile_file;
use rankwright::units::{BytesPerSecond, counted};

use crate::launching::made_for;
use crate::options::{NodesOption, given, inputs, refuse, site};
use crate::output::exit_code::{Infeasible, UsageError};
use crate::output::progress::ProgressLine;
use crate::output::{self, Verbosity};
use crate::planning::simulations::Watch;

/// A run, and where its ranks are.
#[derive(Debug, Args)]
pub(super) struct RunOptions {
    /// A profile with a time line (`rankwright profile --timeline mpi,device`)
    profile: String,
    /// The cluster, whose network devices the ranks use: a cluster.toml, an hwloc XML file,
    /// synthetic:STRING or a built-in name [default: that of site.toml, if it has the hosts of the run]
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    #[command(flatten)]
    nodes: NodesOption,
    /// Placement file: the ranks are there, not on the hosts of the run
    #[arg(long, value_name = "FILE")]
    placement: Option<PathBuf>,
    /// What tells when bytes are sent: mpi (calls, when messages are handed to the library), transport
    /// (when bytes are handed to the kernel on TCP connections, or messages to UCX or Open MPI's PML), or replay (the
    /// calls replayed under --placement, as a prediction) [default: replay under a placement other than that of the run;
    /// else transport if it was recorded, else mpi]
    #[arg(long, value_enum, value_name = "SOURCE", hide_possible_values = true)]
    times: Option<Times>,
    /// Bandwidth of the one network device that each host has, without a cluster
    #[arg(long, value_name = "RATE", conflicts_with_all = ["on", "placement", "nodes"])]
    bandwidth: Option<BytesPerSecond>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Times {
    Mpi,
    Transport,
    Replay,
}

/// What a time line is made of.
pub(super) struct Run {
    pub(super) profile: Profile,
    pub(super) sites: Sites,
    pub(super) bandwidth_from: BandwidthFrom,
    /// What the network devices counted; empty if that was not recorded.
    pub(super) series: Vec<NodeSeries>,
    pub(super) times_from: TimesFrom,
    /// The cluster, if one is known.
    pub(super) cluster: Option<Cluster>,
    /// Where the recorded run was not like one on the nodes of a cluster.
    pub(super) doubts: Vec<Finding>,
    recorded: Option<RecordedRun>,
    /// What is replayed instead.
    replay: Option<Replay>,
}

/// Where the ranks are.
#[derive(Default)]
struct Place {
    sites: Sites,
    cluster: Option<Cluster>,
    /// `None`: on the hosts of the run.
    placed: Option<(Cluster, Placement)>,
}

/// The calls of the run, to be replayed.
struct Replay {
    replayer: Replayer,
    cluster: Cluster,
    placement: Placement,
}

impl RunOptions {
    /// The names of the profile and of the cluster, as the user gave them.
    pub(super) fn inputs(&self) -> (&str, Option<&str>) {
        (&self.profile, self.on.as_deref())
    }

    /// Reads the profile and finds the devices.
    pub(super) fn read(&self, verbosity: &Verbosity) -> anyhow::Result<Run> {
        if !inputs::is_profile(Path::new(&self.profile)).unwrap_or(true) {
            return Err(UsageError(no_profile(&self.profile)).into());
        }
        let profile = profile_file::read(Path::new(&self.profile))?;
        let mut series = counter_series::read(Path::new(&self.profile))?;
        cut_after_program(&mut series, &profile);
        if profile.run.events.is_none() && series.is_empty() {
            let what = match profile.ranks.iter().all(|rank| rank.host.is_empty()) {
                true => "was not recorded by rankwright",
                false => "was recorded without one",
            };
            let text = format!(
                "{}: no time line: the run {what}; record it with `rankwright profile --timeline mpi` \
                 (who sends when), `--timeline device` (what network devices count), or both",
                self.profile
            );
            return Err(Infeasible(text).into());
        }
        let recorded = match &profile.run.events {
            Some(_) => Some(RecordedRun::open(Path::new(&self.profile))?),
            None => None,
        };
        let (Place { sites, cluster, placed }, bandwidth_from) = match recorded {
            Some(_) => self.place(&profile, verbosity)?,
            None => (Place::default(), BandwidthFrom::Counted),
        };
        let elsewhere = placed
            .as_ref()
            .is_some_and(|(cluster, placement)| !is_as_recorded(&profile, cluster, placement));
        let times_from = self.times_from(recorded.as_ref(), elsewhere)?;
        // What devices counted belongs to the run as it was.
        if (elsewhere || times_from == TimesFrom::Replay) && !series.is_empty() {
            series.clear();
            output::note(
                verbosity,
                "left out: what network devices counted, which is of the run as recorded",
            );
        }
        let doubts = match placed {
            None => told_doubts(&profile, verbosity),
            Some(_) => Vec::new(),
        };
        let replay = match (times_from, placed) {
            (TimesFrom::Replay, Some((cluster, placement))) => {
                let replayer = Replayer::open(&[&self.profile])?;
                Some(Replay { replayer, cluster, placement })
            }
            _ => None,
        };
        Ok(Run {
            profile,
            sites,
            bandwidth_from,
            series,
            times_from,
            cluster,
            doubts,
            recorded,
            replay,
        })
    }

    /// Where the timestamps come from. `elsewhere`: the placement differs from that of the recorded run, so recorded
    /// timestamps do not apply.
    fn times_from(
        &self,
        recorded: Option<&RecordedRun>,
        elsewhere: bool,
    ) -> anyhow::Result<TimesFrom> {
        let has_transport = recorded.is_some_and(RecordedRun::has_transport);
        match self.times {
            Some(Times::Replay) if self.placement.is_none() => {
                let text = "--times replay: expected --placement FILE, the placement to predict";
                Err(UsageError(text.to_owned()).into())
            }
            Some(Times::Replay) if recorded.is_none() => {
                let text = format!(
                    "{}: --times replay: calls were not recorded; record the run with `rankwright \
                     profile --timeline mpi`",
                    self.profile
                );
                Err(Infeasible(text).into())
            }
            Some(Times::Replay) => Ok(TimesFrom::Replay),
            Some(Times::Transport) if !has_transport => {
                let text = format!(
                    "{}: --times transport: nothing that ranks sent over TCP, UCX or Open MPI's PML was recorded; \
                     record the run with `rankwright profile --timeline transport`, and with Open MPI \
                     (3.1 or newer) or an MPI library that sends over TCP or UCX",
                    self.profile
                );
                Err(Infeasible(text).into())
            }
            Some(Times::Transport) => Ok(TimesFrom::Transport),
            None if elsewhere => Ok(TimesFrom::Replay),
            None if has_transport => Ok(TimesFrom::Transport),
            Some(Times::Mpi) | None => Ok(TimesFrom::Mpi),
        }
    }

    fn place(
        &self,
        profile: &Profile,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(Place, BandwidthFrom)> {
        let hosts: Vec<String> = profile.ranks.iter().map(|rank| rank.host.clone()).collect();
        if let Some(bandwidth) = self.bandwidth {
            let positive = bandwidth.0 > 0.0;
            refuse(&[(given("--bandwidth", !positive), ": expected more than 0 B/s")])?;
            return Ok((Place::recorded(&hosts, bandwidth), BandwidthFrom::Given));
        }
        let named = self.on.is_some() || self.nodes.is_given();
        let cluster = match (named, &self.placement) {
            (true, _) => Some(self.nodes.read(self.on.as_deref())?),
            (false, Some(_)) => Some(site::cluster(None, self.nodes.count()?)?),
            (false, None) => site::cluster_if_any(None, self.nodes.count()?)?,
        };
        let Some(cluster) = cluster else { return Ok(assumed(&hosts)) };
        let mut placed = None;
        let sites = match &self.placement {
            Some(path) => {
                let placement = self.placed(&cluster, path, hosts.len(), verbosity)?;
                let sites = Sites::placed(&cluster, &placement);
                placed = Some(placement);
                sites
            }
            None => match Sites::recorded_on(&cluster, &hosts) {
                Ok(sites) => sites,
                // The user did not name the cluster of the site.
                Err(_) if !named => return Ok(assumed(&hosts)),
                Err(host) => {
                    let text = format!(
                        "{}: ranks ran on host `{host}`, which cluster `{}` does not have; give a \
                         placement on it with --placement, or the cluster of the run with --on",
                        self.profile, cluster.name
                    );
                    return Err(Infeasible(text).into());
                }
            },
        };
        let is_measured = sites.devices.iter().all(|device| device.curve.is_measured());
        let from = if is_measured { BandwidthFrom::Curve } else { BandwidthFrom::Device };
        let placed = placed.map(|placement| (cluster.clone(), placement));
        Ok((Place { sites, cluster: Some(cluster), placed }, from))
    }

    fn placed(
        &self,
        cluster: &Cluster,
        path: &Path,
        ranks: usize,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Placement> {
        let file = PlacementFile::read(path)?;
        let placement = made_for::placement(&file, cluster)?;
        let placed: usize = placement.jobs().iter().map(|job| job.ranks.len()).sum();
        if file.jobs.len() != 1 || placed != ranks {
            let text = format!(
                "{}: found {} of {}, expected one job of {} as in {}",
                path.display(),
                counted(file.jobs.len(), "job"),
                counted(placed, "rank"),
                counted(ranks, "rank"),
                self.profile
            );
            return Err(Infeasible(text).into());
        }
        if file.cluster.digest != digest(cluster) {
            let text = format!("{} was made for another cluster description", path.display());
            output::warn(verbosity, made_for::with_advice(text, &file, cluster));
        }
        Ok(placement)
    }
}

/// What to give instead of an input that is not a profile.
fn no_profile(name: &str) -> String {
    match inputs::is_placement(Path::new(name)) {
        true => format!(
            "`{name}` is a placement: give the profile of a run, and the placement with --placement, as \
             `PROFILE --placement {name} --on CLUSTER`"
        ),
        false => format!(
            "`{name}` is not a profile; a time line needs a run recorded with `rankwright profile --events` \
             or `--timeline mpi`"
        ),
    }
}

/// Tells where the recorded run was not like one on the nodes of a cluster.
fn told_doubts(profile: &Profile, verbosity: &Verbosity) -> Vec<Finding> {
    let doubts = doubts_of_recording(profile);
    for doubt in &doubts {
        match doubt.severity {
            Severity::High => output::warn(verbosity, &doubt.text),
            _ => output::note(verbosity, &doubt.text),
        }
    }
    doubts
}

/// Leaves out what was counted after the last rank called MPI_Finalize: then the tracer gathers its records.
fn cut_after_program(series: &mut [NodeSeries], profile: &Profile) {
    let end = profile.ranks.iter().map(|rank| rank.wall.0).fold(0.0, f64::max);
    if end > 0.0 {
        for node in series {
            let last = end + node.sampling.period_s;
            node.samples.retain(|sample| sample.time as f64 * 1e-9 <= last);
        }
    }
}

/// Whether each rank is placed on the host where it ran.
fn is_as_recorded(profile: &Profile, cluster: &Cluster, placement: &Placement) -> bool {
    let ranks = placement.jobs().iter().flat_map(|job| &job.ranks);
    ranks.zip(&profile.ranks).all(|(at, ran)| cluster.find_node(&ran.host) == Some(at.node))
}

/// Without a cluster: the hosts of the run, with the rate of an unknown device.
fn assumed(hosts: &[String]) -> (Place, BandwidthFrom) {
    let bandwidth = rankwright::cluster::Rates::default().unknown_nic_bandwidth();
    (Place::recorded(hosts, bandwidth), BandwidthFrom::Assumed)
}

impl Place {
    /// On the hosts of the run, each with one device of this bandwidth.
    fn recorded(hosts: &[String], bandwidth: BytesPerSecond) -> Self {
        Self { sites: Sites::recorded(hosts, bandwidth), cluster: None, placed: None }
    }
}

impl Run {
    /// The time line, with the figures of this many windows; `None` if calls were not recorded.
    pub(super) fn timeline(
        &self,
        windows: usize,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Option<Timeline>> {
        let Some(recorded) = &self.recorded else { return Ok(None) };
        if let Some(replay) = &self.replay {
            return self.replayed(replay, verbosity).map(Some);
        }
        let times = match self.times_from {
            TimesFrom::Transport => SendTimes::Transport,
            _ => SendTimes::Mpi,
        };
        let line = ProgressLine::new(verbosity, "reading the calls of the run");
        let timeline = recorded.timeline(&self.sites, times, windows)?;
        drop(line);
        self.warn(&timeline.left_out, verbosity);
        Ok(Some(timeline))
    }

    fn replayed(&self, replay: &Replay, verbosity: &Verbosity) -> anyhow::Result<Timeline> {
        let Replay { replayer, cluster, placement } = replay;
        let watch = Watch::new(verbosity, 1);
        let (replayed, messages) = replayer.replay_with_messages(
            (&[0], None),
            (cluster, placement),
            ReplayOptions::default(),
            &mut |progress| watch.observe(0, progress),
        )?;
        drop(watch);
        if replayed.outcome.stopped.is_some() {
            bail!("interrupted: nothing was written");
        }
        self.warn(&replayed.left_out, verbosity);
        let span = replayed.outcome.jobs[0].finish;
        let messages = Messages::of_replay(replayed.ranks.len() as u32, span, &messages);
        Ok(Timeline::new(messages, None, &self.sites))
    }

    fn warn(&self, left_out: &BTreeMap<&'static str, u64>, verbosity: &Verbosity) {
        for (what, count) in left_out {
            output::warn(verbosity, format!("left out: {count} {what}"));
        }
        let library = self.profile.library();
        if let (Some(why), false) = (library.estimated(), self.profile.collectives.is_empty()) {
            output::warn(verbosity, format_args!("collectives are estimated: {why}"));
        }
    }

    /// When the first rank started, in nanoseconds since 1970, and how long the run took by its counters.
    pub(super) fn counted_span(&self) -> (i64, f64) {
        let (first, span) = counted_span(&self.series);
        (self.recorded.as_ref().map_or(first, RecordedRun::first_start), span)
    }
}
