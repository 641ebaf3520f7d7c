//! One scheduling problem for each node; on rail-optimised fabrics one for all nodes.

use super::device_sets;
use super::tasks::{DeviceOption, DeviceProblem, Member, Options};
use crate::cluster::Cluster;
use crate::rails::SelectionError;
use crate::rails::internode_traffic::InternodeTraffic;
use crate::rails::node_view::{DeviceSet, NodeView};

/// The devices of each rank of each view.
pub(in super::super) fn choose(
    cluster: &Cluster,
    views: &[NodeView],
    traffic: &InternodeTraffic,
) -> Result<Vec<Vec<DeviceSet>>, SelectionError> {
    if device_sets::are_railed(views) {
        return same_rails(cluster, views, traffic);
    }
    let mut chosen = Vec::with_capacity(views.len());
    for view in views {
        let tasks = (0..view.ranks.len()).map(|rank| vec![Member { view: 0, rank }]).collect();
        let views = std::slice::from_ref(view);
        let options = |members: &[Member], striped: bool| {
            let sets = device_sets::of_rank(view, members[0].rank, striped);
            sets.into_iter().map(|set| DeviceOption { of_member: vec![set] }).collect()
        };
        let problem = DeviceProblem { cluster, views, traffic, tasks, options: &options };
        chosen.extend(problem.solve()?);
    }
    Ok(chosen)
}

/// On rail-optimised fabrics: one rail, or all of them, for all ranks that exchange messages.
fn same_rails(
    cluster: &Cluster,
    views: &[NodeView],
    traffic: &InternodeTraffic,
) -> Result<Vec<Vec<DeviceSet>>, SelectionError> {
    let options: &Options<'_> = &|members: &[Member], striped: bool| {
        let on: Vec<&NodeView> = members.iter().map(|member| &views[member.view]).collect();
        let rails = device_sets::common_rails(&on);
        let of_rail = |rail: &u32| DeviceOption {
            of_member: on.iter().map(|view| device_sets::of_rail(view, *rail)).collect(),
        };
        let mut options: Vec<DeviceOption> = rails.iter().map(of_rail).collect();
        if (striped && rails.len() > 1) || rails.is_empty() {
            let all = on.iter().map(|view| device_sets::of_all_rails(view, &rails));
            options.push(DeviceOption { of_member: all.collect() });
        }
        options
    };
    let tasks = connected_ranks(views, traffic);
    DeviceProblem { cluster, views, traffic, tasks, options }.solve()
}

/// The connected components of ranks that exchange messages between nodes (union-find).
fn connected_ranks(views: &[NodeView], traffic: &InternodeTraffic) -> Vec<Vec<Member>> {
    let mut parent: Vec<usize> = (0..traffic.out.len()).collect();
    fn root(parent: &mut [usize], mut rank: usize) -> usize {
        while parent[rank] != rank {
            parent[rank] = parent[parent[rank]];
            rank = parent[rank];
        }
        rank
    }
    for (from, to) in &traffic.pairs {
        let (a, b) = (root(&mut parent, from.index()), root(&mut parent, to.index()));
        parent[a.max(b)] = a.min(b);
    }
    // Index: root.
    let mut position = vec![usize::MAX; parent.len()];
    let mut components: Vec<Vec<Member>> = Vec::new();
    for (index, view) in views.iter().enumerate() {
        for (rank, view_of_rank) in view.ranks.iter().enumerate() {
            let root = root(&mut parent, view_of_rank.rank.index());
            if position[root] == usize::MAX {
                position[root] = components.len();
                components.push(Vec::new());
            }
            components[position[root]].push(Member { view: index, rank });
        }
    }
    components
}
