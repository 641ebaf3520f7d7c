//! The hosts on which the launcher's default runs in a comparison. The batch system grants them to all
//! ways; where there is none, they are those of the placements, with as many ranks on each.

use std::collections::BTreeMap;

use rankwright::cluster::hostlist;
use rankwright::cluster::read::hostfile::Host;
use rankwright_shim_format::same_host;

use super::super::arguments::Run;
use super::super::preparation::DefaultHosts;
use crate::host::batch_job::BatchJob;
use crate::host::this_host;
use crate::launching::prepared::Prepared;
use crate::output::exit_code::NotStarted;

/// The hosts of the default, and what the user should know about them.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) hosts: DefaultHosts,
    pub(super) note: Option<String>,
}

/// The hosts of a way, with the ranks on each.
type Ranks<'a> = BTreeMap<&'a str, u32>;

impl Run {
    /// The hosts of the launcher's default, if it is among the ways.
    ///
    /// # Errors
    /// If no hosts are granted and the placements differ in theirs.
    pub(super) fn default_hosts(
        &self,
        ways: &[(&str, Option<&Prepared>)],
        batch: Option<&BatchJob>,
    ) -> anyhow::Result<Chosen> {
        if ways.iter().all(|(_, prepared)| prepared.is_some()) {
            return Ok(Chosen::default());
        }
        let placed: Vec<(&str, &Prepared)> =
            ways.iter().filter_map(|(name, prepared)| Some((*name, (*prepared)?))).collect();
        let Some((_, of_first)) = placed.first() else { return Ok(Chosen::default()) };
        let emulated = of_first.placement().cluster.emulated;
        let listed = self.placing.hosts();
        let granted = match batch {
            Some(batch) if listed.is_empty() => {
                batch.hosts.names().iter().map(|name| (*name).to_owned()).collect()
            }
            _ => names(&listed),
        };
        if !granted.is_empty() {
            let note = used_in_part(&granted, &placed)?;
            return Ok(Chosen { hosts: DefaultHosts { hosts: listed, emulated }, note });
        }
        let hosts = hosts_of(&placed)?;
        Ok(Chosen { hosts: DefaultHosts { hosts, emulated }, note: None })
    }
}

/// The hosts of the placements, with their ranks as slots; none if they are this host.
fn hosts_of(placed: &[(&str, &Prepared)]) -> anyhow::Result<Vec<Host>> {
    let Some((first, of_first)) = placed.first() else { return Ok(Vec::new()) };
    let ranks = ranks_of(of_first)?;
    for (name, prepared) in &placed[1..] {
        let other = ranks_of(prepared)?;
        if !other.keys().eq(ranks.keys()) {
            return Err(refused(format!(
                "{first} runs on {}, {name} on {}: outside of a job the launcher's default runs where \
                 the placement does; compare them with it one by one",
                shown(&ranks),
                shown(&other)
            )));
        }
    }
    let here = this_host::name()?;
    if ranks.keys().all(|host| same_host(host, &here)) {
        return Ok(Vec::new());
    }
    let nodes = of_first.placement().nodes.iter().map(|node| node.name.as_str());
    let host = |name: &str| {
        let slots = *ranks.get(name)?;
        Some(Host { name: name.to_owned(), slots: Some(slots) })
    };
    Ok(nodes.filter_map(host).collect())
}

fn ranks_of(prepared: &Prepared) -> anyhow::Result<Ranks<'_>> {
    let mut ranks = Ranks::new();
    for entry in &prepared.one_job()?.ranks {
        *ranks.entry(&entry.node).or_default() += 1;
    }
    Ok(ranks)
}

fn names(hosts: &[Host]) -> Vec<String> {
    hosts.iter().map(|host| host.name.clone()).collect()
}

fn shown(ranks: &Ranks<'_>) -> String {
    hostlist::compress(&ranks.keys().collect::<Vec<_>>())
}

fn refused(why: String) -> anyhow::Error {
    NotStarted { code: 125, why: format!("--compare default: {why}") }.into()
}

/// A sentence if a placement uses only some of the granted hosts, which the default may not.
fn used_in_part(
    granted: &[String],
    placed: &[(&str, &Prepared)],
) -> anyhow::Result<Option<String>> {
    for (name, prepared) in placed {
        let used = ranks_of(prepared)?;
        if used.len() < granted.len() {
            return Ok(Some(format!(
                "{name} uses {} of the {} hosts; default is what the launcher does with all of them",
                used.len(),
                granted.len()
            )));
        }
    }
    Ok(None)
}
