//! The report of a record of counters, beside what was predicted.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{FactGroup, JobRanks, Kind, Outcome, Report, Verdict};
use super::findings::Found;
use super::machine::{Device, Machine, MachineNode, NodeType};
use super::packed::Packed;
use super::placements::{DeviceLoad, PlacementRole, PlacementView, UNBOUND};
use super::traffic::Traffic;
use crate::rails::counters::{Judgement, NodeDevices, Record, Row, Verdict as Judged};
use crate::units::{Seconds, counted};

impl Report {
    /// The report of what network devices counted during a job.
    #[must_use]
    pub fn of_counters(record: &Record, judgement: &Judgement) -> Self {
        let nodes = counted(record.nodes.len(), "node");
        let title = format!("{} on {nodes} of {}, counted", record.job, record.cluster);
        let verdict = Verdict {
            text: judgement.sentence.clone(),
            outcome: match judgement.verdict {
                Judged::AsPredicted => Outcome::AsPredicted,
                Judged::Fault => Outcome::Fault,
                Judged::CannotTell => Outcome::Unknown,
            },
            details: vec![
                "Counted bytes are without the traffic of others, and with the headers of the network."
                    .to_owned(),
            ],
        };
        let mut report = Self::new(Kind::Counters, title, verdict);
        report.fact(FactGroup::Run, "job", format!("{} ({})", record.job, ranks(record)));
        report.fact(FactGroup::Run, "placed by", record.strategy.clone());
        if let Some(end) = record.end {
            let text = format!("{:.2}, exit code {}", Seconds(end.seconds), end.exit_code);
            report.fact(FactGroup::Run, "run time", text);
        }
        report.fact(FactGroup::Run, "variables of the devices", record.variables.join(" "));
        report.fact(FactGroup::Machine, "cluster", record.cluster.clone());
        report.fact(FactGroup::Machine, "cluster digest", record.cluster_digest.clone());
        let sources: BTreeSet<&str> =
            judgement.devices.iter().map(|row| row.source.as_str()).collect();
        let sources = sources.into_iter().filter(|source| !source.is_empty());
        report.fact(FactGroup::Machine, "counters", sources.collect::<Vec<_>>().join(", "));
        report.jobs =
            vec![JobRanks { name: record.job.clone(), first_rank: 0, ranks: record.ranks.len() }];
        let pairs: Vec<(u32, u32, u64, u64)> = (record.flows.iter())
            .map(|(from, to, bytes, messages, _)| (*from, *to, *bytes, *messages))
            .collect();
        report.traffic = (!pairs.is_empty()).then(|| Traffic::between(&pairs, record.ranks.len()));
        report.machine = Some(machine(record));
        report.placements = vec![placement(record, judgement)];
        report.devices = judgement.devices.iter().filter_map(|row| load(record, row)).collect();
        report.find(found(judgement).into_iter().map(Found::finding));
        report
    }
}

fn ranks(record: &Record) -> String {
    counted(record.ranks.len(), "rank")
}

fn found(judgement: &Judgement) -> Vec<Found> {
    let each = |code: &'static str, texts: &[String]| {
        texts.iter().map(|text| Found::new(code, text.clone())).collect::<Vec<_>>()
    };
    let mut found = each("counters-fault", &judgement.faults);
    found.extend(each("counters-untold", &judgement.untold));
    found.extend(each("counters-note", &judgement.notes));
    if judgement.verdict == Judged::AsPredicted {
        found.push(Found::new("counters-as-predicted", judgement.sentence.clone()));
    }
    found
}

/// The nodes of a record. It does not know their cores.
fn machine(record: &Record) -> Machine {
    let mut types: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    let names = |node: &'_ NodeDevices| -> Vec<String> {
        node.devices.iter().filter_map(|names| names.first().cloned()).collect()
    };
    let lists: Vec<Vec<String>> = record.nodes.iter().map(names).collect();
    for list in &lists {
        types.entry(list.iter().map(String::as_str).collect()).or_default();
    }
    types.values_mut().enumerate().for_each(|(number, position)| *position = number);
    let node = |(node, list): (&NodeDevices, &Vec<String>)| MachineNode {
        name: node.name.clone(),
        node_type: types[&list.iter().map(String::as_str).collect::<Vec<_>>()],
        switch: None,
    };
    let device =
        |name: &&str| Device { name: (*name).to_owned(), near: Vec::new(), bandwidth: None };
    let node_type = |list: &Vec<&str>| NodeType {
        cores: 0,
        pus: 0,
        packages: Vec::new(),
        nics: list.iter().map(device).collect(),
        gpus: Vec::new(),
    };
    Machine {
        name: record.cluster.clone(),
        rates: "not part of a record of counters".to_owned(),
        nodes: record.nodes.iter().zip(&lists).map(node).collect(),
        other_nodes: 0,
        types: types.keys().map(node_type).collect(),
        switches: Vec::new(),
    }
}

fn placement(record: &Record, judgement: &Judgement) -> PlacementView {
    let node: Vec<u32> = record.ranks.iter().map(|rank| rank.node as u32).collect();
    let mut order: Vec<usize> = (0..node.len()).collect();
    order.sort_by_key(|rank| (node[*rank], *rank));
    let mut position = vec![0; node.len()];
    for (place, rank) in (0..).zip(order) {
        position[rank] = place;
    }
    let has_nics = record.ranks.iter().any(|rank| !rank.nics.is_empty());
    let nics = record.ranks.iter().filter(|_| has_nics).map(|rank| rank.nics.clone());
    PlacementView {
        role: PlacementRole::Given,
        name: record.strategy.clone(),
        node: Packed::whole(&node),
        core: Packed::whole(&vec![UNBOUND; node.len()]),
        cores: Packed::whole(&vec![0; node.len()]),
        core_list: None,
        position: Packed::whole(&position),
        nics: nics.collect(),
        gpus: Vec::new(),
        inter_node_bytes: judgement.devices.iter().map(|row| row.predicted_out).sum(),
    }
}

/// A device beside its prediction; `None` if its node is not among those of the record.
fn load(record: &Record, row: &Row) -> Option<DeviceLoad> {
    let node = record.nodes.iter().position(|node| node.name == row.node)?;
    let remark = match row.background {
        Some(background) if background > 0 => {
            format!("{}; {background} B by others during the job", row.remark)
        }
        _ => row.remark.clone(),
    };
    Some(DeviceLoad {
        node: node as u32,
        nic: (row.device != "all").then(|| row.device.clone()),
        out: vec![row.predicted_out],
        incoming: vec![row.predicted_in],
        counted_out: row.out,
        counted_in: row.incoming,
        counted_note: (!remark.is_empty()).then_some(remark),
    })
}
