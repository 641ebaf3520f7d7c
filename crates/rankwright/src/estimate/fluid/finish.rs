//! When jobs are done: the paths of their last messages through the backlogs.

use super::queue::Queue;
use super::run::{Run, Stage};
use super::setup::Setup;
use super::used_nodes::Rows;
use super::waiting::FinishedRun;
use crate::network::{Clock, ClockGroups, Multicast, OUTSIDE, SingleClock};

/// Finds the end of each job. Keeps its buffers from one evaluation to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Finish {
    groups: Vec<StopGroup>,
    /// Seconds. Index: job.
    finishes: Vec<f64>,
    /// When the last message of the present group leaves, as far as it was computed. Index: site.
    exits: Vec<Option<Exit>>,
    /// When the last message of the present multicast leaves a node: seconds, 0 without a sender.
    /// Index: used node.
    sent: Vec<f64>,
    /// The used nodes with senders of the present multicast.
    senders: Rows,
    /// The used nodes whose value in `passed` is that of the present multicast.
    receivers: Rows,
    /// When the last message of the present multicast to a node has passed all links: seconds. Index: used
    /// node.
    passed: Vec<f64>,
    /// When the last message of the multicasts of the present group to a site has passed all links:
    /// seconds, 0 without one. A message never overtakes one that passed before it, so that only
    /// the last can be the last to arrive. Index: site.
    latest: Vec<f64>,
}

/// The clocks of one job that stop at one end.
#[derive(Debug, Clone, Default)]
struct StopGroup {
    /// Index in [`Workload::jobs`](crate::traffic::Workload::jobs).
    job: usize,
    /// Index in [`ClockGroups::ends`].
    end: usize,
    /// The expected time of the last tick of all these clocks, seconds.
    last: f64,
    /// The number of clocks.
    clocks: f64,
    /// Indices in [`ClockGroups::multicasts`].
    multicasts: Vec<usize>,
    /// Indices in [`ClockGroups::singles`].
    singles: Vec<usize>,
}

/// When the last message leaves a memory, and its node: seconds.
#[derive(Debug, Clone, Copy)]
struct Exit {
    memory: f64,
    node: f64,
}

impl Finish {
    pub(super) fn new(clocks: &ClockGroups) -> Self {
        let mut groups: Vec<StopGroup> = Vec::new();
        let mut group = |clock: &Clock, clocks: usize| {
            let same = |group: &StopGroup| (group.job, group.end) == (clock.job, clock.end);
            let number = groups.iter().position(same).unwrap_or_else(|| {
                let (job, end) = (clock.job, clock.end);
                groups.push(StopGroup { job, end, ..StopGroup::default() });
                groups.len() - 1
            });
            groups[number].clocks += clocks as f64;
            groups[number].last = last_tick(clock, groups[number].clocks);
            number
        };
        let senders = |multicast: &Multicast| multicast.senders.len();
        let multicasts = clocks.multicasts.iter();
        let of_multicasts: Vec<usize> =
            multicasts.map(|multicast| group(&multicast.clock, senders(multicast))).collect();
        let of_singles: Vec<usize> =
            clocks.singles.iter().map(|single| group(&single.clock, 1)).collect();
        for (multicast, group) in of_multicasts.into_iter().enumerate() {
            groups[group].multicasts.push(multicast);
        }
        for (single, group) in of_singles.into_iter().enumerate() {
            groups[group].singles.push(single);
        }
        Self { groups, ..Self::default() }
    }

    /// The time of the last arrival of each job, seconds. Index of `site_of`:
    /// [`GlobalRank`](crate::ids::GlobalRank).
    pub(super) fn find(&mut self, finished: &FinishedRun, site_of: &[u32]) -> &[f64] {
        let clocks = &finished.setup.clocks;
        self.finishes.clear();
        self.finishes.resize(clocks.job_count, 0.0);
        let groups = std::mem::take(&mut self.groups);
        for group in &groups {
            self.exits.clear();
            self.exits.resize(finished.setup.sites.sites.len(), None);
            let mut finish = self.finishes[group.job];
            if !group.multicasts.is_empty() {
                finish = finish.max(self.of_multicasts(finished, site_of, group));
            }
            for single in &group.singles {
                let single = &clocks.singles[*single];
                finish = finish.max(self.of_single(finished, site_of, single, group.last));
            }
            self.finishes[group.job] = finish;
        }
        self.groups = groups;
        // The work of the busiest server is a lower bound without any error of the steps.
        if let Some(latest) = self.finishes.iter_mut().max_by(|a, b| a.total_cmp(b)) {
            *latest = latest.max(finished.run.least_time);
        }
        &self.finishes
    }

    fn of_multicasts(&mut self, finished: &FinishedRun, site_of: &[u32], group: &StopGroup) -> f64 {
        let (sites, nodes) = (finished.setup.sites.sites.len(), finished.flows.used.len());
        for (times, count) in
            [(&mut self.sent, nodes), (&mut self.passed, nodes), (&mut self.latest, sites)]
        {
            times.clear();
            times.resize(count, 0.0);
        }
        let mut finish = 0.0_f64;
        for multicast in &group.multicasts {
            let multicast = &finished.setup.clocks.multicasts[*multicast];
            finish = finish.max(self.send(finished, site_of, multicast, group.last));
            self.pass_links(finished, site_of, multicast);
            self.senders.iter().for_each(|row| self.sent[row] = 0.0);
        }
        let received = self.latest.iter().enumerate().filter(|(_, latest)| **latest > 0.0);
        received.map(|(site, latest)| finished.arrival(site, *latest)).fold(finish, f64::max)
    }

    /// Sends the last messages of a multicast. Returns when the last leaves the memory of its sender.
    fn send(
        &mut self,
        finished: &FinishedRun,
        site_of: &[u32],
        multicast: &Multicast,
        last: f64,
    ) -> f64 {
        let (sites, used) = (&finished.setup.sites.sites, &finished.flows.used);
        let mut finish = 0.0_f64;
        self.senders.clear(used.len());
        for rank in &multicast.senders {
            let site = site_of[rank.index()] as usize;
            let exit = self.exits[site].get_or_insert_with(|| finished.exit(site, last));
            let row = used.row(sites[site].node);
            self.senders.insert(row);
            self.sent[row] = self.sent[row].max(exit.node);
            finish = finish.max(exit.memory);
        }
        finish
    }

    /// Brings the last messages of a multicast to the nodes of its members.
    fn pass_links(&mut self, finished: &FinishedRun, site_of: &[u32], multicast: &Multicast) {
        let used = &finished.flows.used;
        let sent = self.senders.iter().map(|row| self.sent[row]).fold(0.0, f64::max);
        self.receivers.clear(used.len());
        for rank in &multicast.members {
            let site = site_of[rank.index()] as usize;
            let mut passed = sent;
            if !finished.setup.links.is_empty() {
                let node = finished.setup.sites.sites[site].node;
                let row = used.row(node);
                if self.receivers.insert(row) {
                    self.passed[row] = finished.last_before(&self.senders, &self.sent, node);
                }
                passed = self.passed[row];
            }
            self.latest[site] = self.latest[site].max(passed);
        }
    }

    fn of_single(
        &mut self,
        finished: &FinishedRun,
        site_of: &[u32],
        single: &SingleClock,
        last: f64,
    ) -> f64 {
        let site = site_of[single.sender.index()] as usize;
        let exit = *self.exits[site].get_or_insert_with(|| finished.exit(site, last));
        let arrival = |rank| match rank {
            OUTSIDE => exit.node,
            rank => finished.last_arrival(site, site_of[rank.index()] as usize, exit),
        };
        single.sends.iter().map(|send| arrival(send.rank)).fold(0.0, f64::max)
    }
}

/// All times are seconds from the start.
impl FinishedRun<'_> {
    /// When a message that a site sends at `time` leaves its memory and its node.
    fn exit(&self, site: usize, time: f64) -> Exit {
        let (Setup { sites, .. }, run) = (self.setup, self.run);
        let site = &sites.sites[site];
        let memory = run.memories.exit(run, site.memory_index, time);
        let ports = site.ports.iter().map(|port| run.outs.exit(run, port.index, memory));
        Exit { memory, node: ports.fold(memory, f64::max) }
    }

    /// When the last of the messages that leave nodes, `senders`, at these times has passed all links to a
    /// node.
    fn last_before(&self, senders: &Rows, sent: &[f64], node: usize) -> f64 {
        let from = senders.iter().map(|row| (self.flows.used.nodes()[row], sent[row]));
        from.map(|(from, sent)| self.through((from, node), sent)).fold(0.0, f64::max)
    }

    /// When a message between two nodes that arrives at the first of their links at `time` has passed all
    /// of them.
    fn through(&self, (from, into): (usize, usize), time: f64) -> f64 {
        let (Setup { sites, links, .. }, run) = (self.setup, self.run);
        let route = links.route(sites, from, into).iter();
        let route = route.filter_map(|link| self.flows.passed.number(*link));
        route.fold(time, |time, link| run.links.exit(run, link, time))
    }

    /// When a message that has passed all links at `sent` is in the memory of a site.
    fn arrival(&self, site: usize, sent: f64) -> f64 {
        let (site, run) = (&self.setup.sites.sites[site], self.run);
        let ports = site.ports.iter().map(|port| run.ins.exit(run, port.index, sent));
        let arrived = ports.fold(sent, f64::max);
        run.memories.exit(run, site.memory_index, arrived)
    }

    /// When the last message from a site is in the memory of another.
    fn last_arrival(&self, from: usize, to: usize, exit: Exit) -> f64 {
        let (sites, run) = (&self.setup.sites.sites, self.run);
        let (node, other) = (sites[from].node, sites[to].node);
        if node == other {
            return run.memories.exit(run, sites[from].memory_index, exit.memory);
        }
        if self.setup.links.is_empty() {
            return self.arrival(to, exit.node);
        }
        self.arrival(to, self.through((node, other), exit.node))
    }
}

/// When the last tick of some equal clocks is expected: about the mean of the largest of as many
/// normal variables.
fn last_tick(clock: &Clock, clocks: f64) -> f64 {
    let mean = clock.rounds / clock.rate;
    let deviation = (clock.cv2 * clock.rounds).sqrt() / clock.rate;
    if clocks < 2.0 {
        return mean;
    }
    let z = (2.0 * clocks.ln()).sqrt();
    mean + deviation * (z - (clocks.ln().ln().max(0.0) + 2.53) / (2.0 * z)).max(0.5)
}

impl Stage {
    /// When a message that arrives at `time` leaves a server.
    fn exit(&self, run: &Run, server: usize, time: f64) -> f64 {
        if self.uncongested[server] {
            return time;
        }
        time + self.queues[server].backlog_at(&run.times, time)
    }
}

impl Queue {
    /// The backlog at a time, seconds of service. `times`: the ends of the steps.
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
