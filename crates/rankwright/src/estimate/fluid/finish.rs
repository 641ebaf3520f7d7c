//! When jobs are done: the way of their last messages through the backlogs.

use super::queue::Queue;
use super::run::{Part, Run};
use super::waiting::After;
use crate::network::demand::{Clock, Demand, OUTSIDE};

/// Finds the end of each job; keeps what that needs.
#[derive(Debug, Clone, Default)]
pub(super) struct Finish {
    /// Clocks of one job that stop together.
    groups: Vec<Group>,
    /// Per job.
    finishes: Vec<f64>,
    /// Per site: when the last message of a group leaves, where it was asked for.
    exits: Vec<Option<Exit>>,
    /// Of one fan: per node, when the last message leaves it, zero without a sender; per site,
    /// whether a receiver is there.
    sent: Vec<f64>,
    receivers: Vec<bool>,
}

/// Clocks of one job that stop together.
#[derive(Debug, Clone, Default)]
struct Group {
    job: usize,
    end: usize,
    /// When the last of them is expected to tick for the last time.
    last: f64,
    clocks: f64,
    fans: Vec<usize>,
    singles: Vec<usize>,
}

impl Finish {
    pub(super) fn new(demand: &Demand) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut group = |clock: &Clock, clocks: usize| {
            let known = groups.iter().position(|g| (g.job, g.end) == (clock.job, clock.end));
            let known = known.unwrap_or_else(|| {
                groups.push(Group { job: clock.job, end: clock.end, ..Group::default() });
                groups.len() - 1
            });
            groups[known].clocks += clocks as f64;
            groups[known].last = last_tick(clock, groups[known].clocks);
            known
        };
        let of_fans: Vec<usize> =
            demand.fans.iter().map(|fan| group(&fan.clock, fan.senders.len())).collect();
        let of_singles: Vec<usize> =
            demand.singles.iter().map(|single| group(&single.clock, 1)).collect();
        for (fan, group) in of_fans.into_iter().enumerate() {
            groups[group].fans.push(fan);
        }
        for (single, group) in of_singles.into_iter().enumerate() {
            groups[group].singles.push(single);
        }
        Self { groups, ..Self::default() }
    }

    /// The time of the last arrival of each job.
    pub(super) fn find(&mut self, after: &After, site_of: &[u32]) -> &[f64] {
        let demand = after.demand;
        self.finishes.clear();
        self.finishes.resize(demand.jobs, 0.0);
        for group in &self.groups {
            self.exits.clear();
            self.exits.resize(after.network.sites.len(), None);
            let mut finish = self.finishes[group.job];
            for fan in &group.fans {
                let fan = &demand.fans[*fan];
                self.sent.clear();
                self.sent.resize(after.network.nodes(), 0.0);
                for rank in &fan.senders {
                    let site = site_of[*rank as usize] as usize;
                    let exit = self.exits[site].get_or_insert_with(|| after.exit(site, group.last));
                    let sent = &mut self.sent[after.network.sites[site].node];
                    *sent = sent.max(exit.node);
                    finish = finish.max(exit.memory);
                }
                self.receivers.clear();
                self.receivers.resize(after.network.sites.len(), false);
                for rank in &fan.ranks {
                    self.receivers[site_of[*rank as usize] as usize] = true;
                }
                for (node, sites) in after.network.node_sites.iter().enumerate() {
                    if self.receivers[sites.clone()].contains(&true) {
                        let sent = after.last_before(&self.sent, node);
                        for site in sites.clone().filter(|site| self.receivers[*site]) {
                            finish = finish.max(after.arrival(site, sent));
                        }
                    }
                }
            }
            for single in &group.singles {
                let single = &demand.singles[*single];
                let site = site_of[single.sender as usize] as usize;
                let exit = *self.exits[site].get_or_insert_with(|| after.exit(site, group.last));
                for send in &single.sends {
                    finish = finish.max(match send.rank {
                        OUTSIDE => exit.node,
                        rank => after.last_arrival(site, site_of[rank as usize] as usize, exit),
                    });
                }
            }
            self.finishes[group.job] = finish;
        }
        // No step is so exact as the work of the busiest server.
        if let Some(last) = self.finishes.iter_mut().max_by(|a, b| a.total_cmp(b)) {
            *last = last.max(after.run.least_time);
        }
        &self.finishes
    }
}

impl After<'_> {
    /// When what a site sends at a time leaves its memory and its node.
    fn exit(&self, site: usize, time: f64) -> Exit {
        let (network, run) = (self.network, self.run);
        let memory = run.memories.exit(run, network.memory_of[site], time);
        let port = |port: &(usize, f64, f64)| run.outs.exit(run, port.0, memory);
        let node = network.ports_of[site].iter().map(port).fold(memory, f64::max);
        Exit { memory, node }
    }

    /// When the last of the messages that leave nodes at these times has passed all links to a node.
    fn last_before(&self, sent: &[f64], node: usize) -> f64 {
        let (network, nodes) = (self.network, sent.len());
        if network.links.is_empty() {
            return sent.iter().copied().fold(0.0, f64::max);
        }
        let routes = &network.routes[node * nodes..][..nodes];
        let passed = sent.iter().zip(routes).filter(|(sent, _)| **sent > 0.0);
        passed.map(|(sent, route)| self.through(route, *sent)).fold(0.0, f64::max)
    }

    /// When what comes to links at a time has passed them.
    fn through(&self, route: &[u32], time: f64) -> f64 {
        let run = self.run;
        route.iter().fold(time, |time, link| run.links.exit(run, *link as usize, time))
    }

    /// When a message that passed all links at a time is in the memory of a site.
    fn arrival(&self, site: usize, sent: f64) -> f64 {
        let (network, run) = (self.network, self.run);
        let port = |port: &(usize, f64, f64)| run.ins.exit(run, port.0, sent);
        let came = network.ports_of[site].iter().map(port).fold(sent, f64::max);
        run.memories.exit(run, network.memory_of[site], came)
    }

    fn last_arrival(&self, from: usize, to: usize, exit: Exit) -> f64 {
        let (network, run) = (self.network, self.run);
        let (node, other) = (network.sites[from].node, network.sites[to].node);
        if node == other {
            return run.memories.exit(run, network.memory_of[from], exit.memory);
        }
        let route = &network.routes[other * network.nodes() + node];
        self.arrival(to, self.through(route, exit.node))
    }
}

/// When the last message leaves a memory, and its node.
#[derive(Debug, Clone, Copy)]
struct Exit {
    memory: f64,
    node: f64,
}

/// When the last tick of some clocks is expected: the mean of the largest of as many normal
/// variables, nearly.
fn last_tick(clock: &Clock, clocks: f64) -> f64 {
    let mean = clock.rounds / clock.rate;
    let deviation = (clock.cv2 * clock.rounds).sqrt() / clock.rate;
    if clocks < 2.0 {
        return mean;
    }
    let z = (2.0 * clocks.ln()).sqrt();
    mean + deviation * (z - (clocks.ln().ln().max(0.0) + 2.53) / (2.0 * z)).max(0.5)
}

impl Part {
    /// When what comes at a time leaves.
    fn exit(&self, run: &Run, server: usize, time: f64) -> f64 {
        if self.clear[server] {
            return time;
        }
        time + self.queues[server].backlog_at(&run.times, time)
    }
}

impl Queue {
    /// The backlog at a time.
    fn backlog_at(&self, times: &[f64], time: f64) -> f64 {
        let after = times.partition_point(|end| *end < time);
        let Some(next) = times.get(after) else {
            return 0.0;
        };
        let (begin, backlog) =
            after.checked_sub(1).map_or((0.0, 0.0), |last| (times[last], self.backlogs[last]));
        backlog + (self.backlogs[after] - backlog) * (time - begin) / (next - begin)
    }
}
