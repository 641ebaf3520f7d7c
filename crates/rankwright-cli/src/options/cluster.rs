//! The cluster of most commands, and which of its nodes they use.

use clap::Args;
use rankwright::choose::{NamedNodesError, named_nodes, nearest_nodes, useful_nodes};
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
        let Some(nodes) = &self.nodes else {
            let of_job = of_job(whole, ranks, granularity, verbosity)?;
            let part = of_job.as_ref().unwrap_or(whole);
            return Ok(nearest_nodes(part, granularity, ranks, useful(part)));
        };
        let granted = granted(whole)?;
        let (part, text) = match nodes {
            Nodes::These(names) => {
                let text = hostlist::compress(names);
                (these(whole, names, granted.as_ref())?, text)
            }
            Nodes::AtMost(most) => {
                let (title, granted) = match &granted {
                    Some((job, cluster)) => (job.clone(), cluster),
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
                let of_job = granted.as_ref().filter(|(_, cluster)| cluster.nodes.len() < most);
                if let Some((job, cluster)) = of_job {
                    let has = names_of(cluster);
                    return Err(Infeasible(format!("--nodes {text}: {job} has only {has}")).into());
                }
                let granted = granted.as_ref().map(|(_, cluster)| cluster).unwrap_or(whole);
                return Ok(nearest_nodes(granted, granularity, ranks, most));
            }
        };
        match slots(&part, granularity.clone(), ranks) {
            // Without the option they would not fit either.
            Err(error) if part.nodes.len() < whole.nodes.len() => {
                let of_job = granted.map_or(String::new(), |(job, cluster)| {
                    format!(" ({job} has {})", names_of(&cluster))
                });
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

/// The nodes of a cluster that the batch job around has, with the title of the job; `None` outside of a
/// job, and in a job on other hosts.
fn granted(whole: &Cluster) -> anyhow::Result<Option<(String, Cluster)>> {
    if whole.invented {
        return Ok(None);
    }
    let Some((title, hosts)) = batch_job::hosts_around()? else { return Ok(None) };
    Ok(hosts.nodes_of(whole)?.map(|cluster| (title, cluster)))
}

/// The nodes of a cluster that the batch job around has, where that has others and the ranks fit on these.
fn of_job(
    whole: &Cluster,
    ranks: usize,
    granularity: &Granularity,
    verbosity: &Verbosity,
) -> anyhow::Result<Option<Cluster>> {
    // As the job has tasks: on its nodes, which are counted among all.
    if matches!(granularity, Granularity::Part { ranks: RanksPer::NodeByNode(_), .. }) {
        return Ok(None);
    }
    let is_part = |(_, part): &(String, Cluster)| part.nodes.len() < whole.nodes.len();
    let Some((job, part)) = granted(whole)?.filter(is_part) else { return Ok(None) };
    let has = names_of(&part);
    if slots(&part, granularity.clone(), ranks).is_err() {
        let text = format!(
            "{job} has only {has}, too few for {}: planned for all nodes of `{}`",
            counted(ranks, "rank"),
            whole.name
        );
        warn(verbosity, text);
        return Ok(None);
    }
    note(verbosity, format_args!("only the nodes of {job}: {has}"));
    Ok(Some(part))
}

/// The nodes of these names.
fn these(
    whole: &Cluster,
    names: &[String],
    granted: Option<&(String, Cluster)>,
) -> anyhow::Result<Cluster> {
    if let Some((job, granted)) = granted
        && let Err(NamedNodesError::Missing { missing, has, .. }) = named_nodes(granted, names)
    {
        return Err(
            Infeasible(format!("--nodes: {missing} is not granted; {job} has {has}")).into()
        );
    }
    named_nodes(whole, names).map_err(|error| match error {
        NamedNodesError::Missing { .. } => UsageError(format!("--nodes: {error}")).into(),
        NamedNodesError::Invalid(error) => error.into(),
        error => error.into(),
    })
}

fn names_of(cluster: &Cluster) -> String {
    let names: Vec<&str> = cluster.nodes.iter().map(|node| node.name.as_str()).collect();
    hostlist::compress(&names)
}
