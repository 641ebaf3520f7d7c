//! The cluster of most commands, and which of its nodes they use.

use clap::Args;
use rankwright::choose::{
    NamedNodesError, named_nodes, nearest_nodes, nearest_of_number, nodes_in_part, useful_nodes,
};
use rankwright::cluster::{Cluster, NodeCount, hostlist};
use rankwright::placement::{Granularity, RanksPer, slots};
use rankwright::units::counted;

use super::nodes::Nodes;
use super::site;
use crate::host::batch_job;
use crate::output::exit_code::{Infeasible, UsageError};
use crate::output::{Verbosity, note, warn};

/// The cluster and its nodes.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterOptions {
    /// The cluster: a cluster.toml, an hwloc XML file, synthetic:STRING or a built-in name [default:
    /// that of site.toml]
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    #[command(flatten)]
    pub(crate) nodes: NodesOption,
}

/// The nodes of the cluster to use.
#[derive(Debug, Clone, Args)]
pub(crate) struct NodesOption {
    /// Nodes to use: at most this many, like 4, or only these, like n[0-3]; in a batch job only granted
    /// ones, also without this option. An hwloc description of one node then stands for as many. `place`
    /// also takes a range (4..16) or a list (4,8,16) and compares them
    #[arg(long, value_name = "NODES")]
    nodes: Option<Nodes>,
}

impl ClusterOptions {
    /// The name that the user gave.
    pub(crate) fn name(&self) -> Option<&str> {
        self.on.as_deref()
    }

    /// The name that the user gave, else that of the site.
    pub(crate) fn name_or_default(&self) -> Option<String> {
        let of_site = || site::Defaults::read().ok()?.cluster_name().map(str::to_owned);
        self.on.clone().or_else(of_site)
    }

    /// Reads the cluster, with all its nodes.
    pub(crate) fn read(&self) -> anyhow::Result<Cluster> {
        self.nodes.read(self.on.as_deref())
    }

    /// The numbers of nodes to compare, if any, and a cluster with the largest of them.
    pub(crate) fn read_several(&self) -> anyhow::Result<Option<(Cluster, Vec<usize>)>> {
        let Some(Nodes::Several { text, counts }) = &self.nodes.nodes else { return Ok(None) };
        let counts: Vec<u32> = counts.iter().map(|count| count.get()).collect();
        let most = counts.last().copied().unwrap_or(1);
        let cluster = site::cluster(self.on.as_deref(), NodeCount::AtLeast(most))?;
        let available = cluster.nodes.len();
        if available < most as usize {
            return Err(UsageError(format!(
                "--nodes {text}: `{}` has {}, expected at most that many",
                self.on.as_deref().unwrap_or(&cluster.name),
                counted(available, "node")
            ))
            .into());
        }
        Ok(Some((cluster, counts.into_iter().map(|count| count as usize).collect())))
    }
}

impl NodesOption {
    /// The option of a command that compares no numbers of nodes.
    pub(crate) fn new(nodes: &Nodes) -> Result<Self, UsageError> {
        nodes.refuse_several()?;
        Ok(Self { nodes: Some(nodes.clone()) })
    }

    /// Whether the user gave it.
    pub(crate) fn is_given(&self) -> bool {
        self.nodes.is_some()
    }

    /// How many nodes, or which ones, the description of one node stands for.
    pub(crate) fn count(&self) -> Result<NodeCount<'_>, UsageError> {
        self.nodes.as_ref().map_or(Ok(()), Nodes::refuse_several)?;
        Ok(match &self.nodes {
            Some(Nodes::AtMost(count)) => NodeCount::AtLeast(*count),
            Some(Nodes::These(names)) => NodeCount::Named(names),
            None | Some(Nodes::Several { .. }) => NodeCount::AsDescribed,
        })
    }

    /// Reads the cluster that `--on` names, or that of the site, with all its nodes; the description of
    /// one node stands for as many as are wanted.
    pub(crate) fn read(&self, on: Option<&str>) -> anyhow::Result<Cluster> {
        site::cluster(on, self.count()?)
    }

    /// As [`read`](Self::read), where a command also works without a cluster.
    pub(crate) fn read_if_any(&self, on: Option<&str>) -> anyhow::Result<Option<Cluster>> {
        match self.is_given() {
            true => self.read(on).map(Some),
            false => site::cluster_if_any(on, self.count()?),
        }
    }

    /// As [`read_if_any`](Self::read_if_any), with only the nodes that the option names, if it names any.
    pub(crate) fn read_named(&self, on: Option<&str>) -> anyhow::Result<Option<Cluster>> {
        let cluster = self.read_if_any(on)?;
        match (&self.nodes, cluster) {
            (Some(Nodes::These(names)), Some(whole)) => these(&whole, names, None).map(Some),
            (_, cluster) => Ok(cluster),
        }
    }

    /// The part of a cluster that is used for these ranks: of the nodes that the batch job around has,
    /// the wanted ones, or the nearest to each other. With a number of ranks per object no more nodes than
    /// these need. Without the option all nodes where the job has too few, with a warning.
    ///
    /// # Errors
    /// If wanted nodes do not exist or are not granted, or the ranks do not fit.
    pub(crate) fn chosen(
        &self,
        whole: &Cluster,
        ranks: usize,
        granularity: &Granularity,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Cluster> {
        let useful = |cluster: &Cluster| useful_nodes(cluster, granularity, ranks);
        let job = JobNodes::around(whole)?;
        let Some(nodes) = &self.nodes else {
            let part = job.and_then(|job| job.used_for(whole, ranks, granularity, verbosity));
            let part = part.as_ref().unwrap_or(whole);
            return Ok(nearest_nodes(part, granularity, ranks, useful(part)));
        };
        if let Some(job) = &job {
            job.warn_of_part(verbosity);
        }
        let (part, text) = match nodes {
            Nodes::These(names) => {
                let text = hostlist::compress(names);
                (these(whole, names, job.as_ref())?, text)
            }
            Nodes::AtMost(most) => {
                let (title, granted) = match &job {
                    Some(job) => (job.title.clone(), &job.nodes),
                    None => (format!("`{}`", whole.name), whole),
                };
                let has = granted.nodes.len();
                if has < *most as usize {
                    let has = counted(has, "node");
                    note(verbosity, format_args!("--nodes {most}: {title} has only {has}"));
                }
                let count = useful(granted).min(*most as usize);
                (nearest_nodes(granted, granularity, ranks, count), most.to_string())
            }
            Nodes::Several { text, counts } => {
                let most = counts.last().map_or(1, |count| count.get() as usize);
                if let Some(job) = job.as_ref().filter(|job| job.nodes.nodes.len() < most) {
                    let text = format!("--nodes {text}: {} has only {}", job.title, job.names());
                    return Err(Infeasible(text).into());
                }
                let granted = job.as_ref().map_or(whole, |job| &job.nodes);
                return Ok(nearest_of_number(granted, granularity, ranks, most));
            }
        };
        match slots(&part, granularity.clone(), ranks) {
            // Without the option they would not fit either.
            Err(error) if part.nodes.len() < whole.nodes.len() => {
                let of_job = job
                    .map_or(String::new(), |job| format!(" ({} has {})", job.title, job.names()));
                Err(Infeasible(format!("--nodes {text}{of_job}: {error}")).into())
            }
            // A description of one node takes any name, also that of a number.
            Err(error) if matches!(nodes, Nodes::These(names) if names.len() == 1) => {
                let text = format!(
                    "--nodes {text}: one host of that name (for a number of nodes: --nodes 4): {error}"
                );
                Err(Infeasible(text).into())
            }
            _ => Ok(part),
        }
    }
}

/// The nodes of a cluster that the batch job around has.
struct JobNodes {
    /// Its name in messages: `job 7 of Slurm`.
    title: String,
    /// The nodes, whole.
    nodes: Cluster,
    /// The names of those of which it has fewer CPUs than they have free cores, where that is known.
    in_part: Vec<String>,
}

impl JobNodes {
    /// Those of the current job; `None` outside of a job, and in a job on other hosts.
    fn around(whole: &Cluster) -> anyhow::Result<Option<Self>> {
        if whole.invented {
            return Ok(None);
        }
        let Some((title, hosts)) = batch_job::hosts_around()? else { return Ok(None) };
        let Some(nodes) = hosts.nodes_of(whole)? else { return Ok(None) };
        // LSF counts slots: a job has a host for itself with any number of them.
        let in_part = match batch_job::system() {
            Some("lsf:") => Vec::new(),
            _ => nodes_in_part(&nodes, &hosts).into_iter().map(str::to_owned).collect(),
        };
        Ok(Some(Self { title, nodes, in_part }))
    }

    /// The nodes to use without further options: these, where the cluster has others and the ranks fit.
    fn used_for(
        self,
        whole: &Cluster,
        ranks: usize,
        granularity: &Granularity,
        verbosity: &Verbosity,
    ) -> Option<Cluster> {
        // As the job has tasks: on its nodes, which are counted among all.
        if matches!(granularity, Granularity::Part { ranks: RanksPer::NodeByNode(_), .. }) {
            self.warn_of_part(verbosity);
            return None;
        }
        if slots(&self.nodes, granularity.clone(), ranks).is_err() {
            let text = format!(
                "{} has only {}, too few for {}: planned for all nodes of `{}`",
                self.title,
                self.names(),
                counted(ranks, "rank"),
                whole.name
            );
            if self.nodes.nodes.len() < whole.nodes.len() {
                warn(verbosity, text);
            }
            return None;
        }
        self.warn_of_part(verbosity);
        if self.nodes.nodes.len() < whole.nodes.len() {
            note(verbosity, format_args!("only the nodes of {}: {}", self.title, self.names()));
        }
        Some(self.nodes)
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.nodes.nodes.iter().map(|node| node.name.as_str()).collect();
        hostlist::compress(&names)
    }

    /// Warns of nodes of which the job has only some CPUs.
    fn warn_of_part(&self, verbosity: &Verbosity) {
        if self.in_part.is_empty() {
            return;
        }
        let system = batch_job::system().unwrap_or_default();
        let text = format!(
            "{} has {} in part, but all their cores are planned with; for those granted: `rankwright \
             cluster import {system} --on CLUSTER -o job.toml`, then --on job.toml",
            self.title,
            hostlist::compress(&self.in_part)
        );
        warn(verbosity, text);
    }
}

/// The nodes of these names.
fn these(whole: &Cluster, names: &[String], job: Option<&JobNodes>) -> anyhow::Result<Cluster> {
    if let Some(job) = job
        && let Err(NamedNodesError::Missing { missing, has, .. }) = named_nodes(&job.nodes, names)
    {
        let text = format!("--nodes: {missing} is not granted; {} has {has}", job.title);
        return Err(Infeasible(text).into());
    }
    named_nodes(whole, names).map_err(|error| match error {
        NamedNodesError::Missing { .. } => UsageError(format!("--nodes: {error}")).into(),
        NamedNodesError::Invalid(error) => error.into(),
        error => error.into(),
    })
}
