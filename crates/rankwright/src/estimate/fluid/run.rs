//! The run of a fluid through the servers, step by step.

use super::flows::{Flows, Stream};
use super::links::LinkUser;
use super::noise::Phase;
use super::queue::{Queue, product};
use super::setup::{MOST_KINDS, Setup};
use crate::network::SiteNode;

/// The shortest and the longest step after the last end of clocks, in parts of their usual length.
const SHORTEST: f64 = 0.35;
const LONGEST: f64 = 1.5;

/// The servers of one stage of the network while the fluid passes them: memories, network devices
/// out, links, network devices in. Index of a server: its position in the list of the stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Stage {
    pub(super) queues: Vec<Queue>,
    /// Whether a server never has a backlog: what arrives leaves at once.
    pub(super) uncongested: Vec<bool>,
    /// The others. What this stage has of a server is valid for these alone.
    congested: Vec<usize>,
    /// Index: server × phases + phase. A phase is the time between two ends of clocks; the last one
    /// follows the last end.
    pub(super) phases: Vec<Phase>,
    /// The departures of the last step: seconds of clocks. Index: server × padded kinds + kind.
    left: Vec<f64>,
}

/// The state of a run. The amount of a kind of message is counted in seconds for which its clocks
/// tick.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    pub(super) memories: Stage,
    pub(super) outs: Stage,
    pub(super) ins: Stage,
    pub(super) links: Stage,
    /// The ends of the steps, seconds.
    pub(super) times: Vec<f64>,
    /// A lower bound of the time of the run: the last end of clocks, or the seconds of service that
    /// the server with most work needs.
    pub(super) least_time: f64,
    /// The departures from each used node in the last step. Index: kind × used nodes + row.
    node_out: Vec<f64>,
    /// The arrivals at each used node per second in the last step. Index as `node_out`. Memories are
    /// stepped before network devices in, so they expect it to continue in this step.
    node_in: Vec<f64>,
    /// The arrivals at each node beyond those its memories expected; corrects the next step. Index
    /// as `node_out`.
    unexpected: Vec<f64>,
    /// The arrivals at each used node in each phase. Index: (phase × used nodes + row) × padded kinds +
    /// kind.
    pub(super) entered: Vec<f64>,
    /// One over the bytes per second that enter each used node. Index as `node_out`.
    pair_scale: Vec<f64>,
    /// One over the bytes per second that pass each link. Index: number in [`Flows::passed`] × padded kinds +
    /// kind.
    link_scale: Vec<f64>,
}

/// The present step.
struct Step<'a, const KINDS: usize> {
    setup: &'a Setup,
    flows: &'a Flows,
    phase: usize,
    /// The number of phases.
    phases: usize,
    /// The length of the step, seconds.
    time: f64,
    /// The part of the step for which the clocks of each kind tick, seconds.
    ticks: [f64; KINDS],
}

impl<const KINDS: usize> Step<'_, KINDS> {
    /// The used nodes, each with its row in tables by node.
    fn used_nodes(&self) -> impl Iterator<Item = (usize, &SiteNode)> {
        let nodes = &self.setup.sites.nodes;
        self.flows.used.nodes().iter().map(|node| &nodes[*node]).enumerate()
    }
}

impl Stage {
    /// Makes all servers uncongested.
    fn start(&mut self, servers: usize, kinds: usize, phases: usize) {
        self.queues.resize_with(servers, Queue::default);
        self.uncongested.clear();
        self.uncongested.resize(servers, true);
        self.congested.clear();
        self.phases.resize(servers * phases, Phase::default());
        self.left.resize(servers * kinds, 0.0);
    }

    fn set_congested(&mut self, server: usize, phases: usize) {
        self.uncongested[server] = false;
        self.congested.push(server);
        self.queues[server].clear();
        self.phases[server * phases..][..phases].fill(Phase::default());
    }
}

impl Stream {
    /// The utilisation of a server while all clocks tick.
    fn utilisation(&self, server: usize, kinds: usize) -> f64 {
        self.work[server * kinds..][..kinds].iter().sum()
    }

    /// All work that arrives at a server, seconds of service.
    fn all_work(&self, server: usize, setup: &Setup) -> f64 {
        self.work[server * setup.padded_kinds()..]
            .iter()
            .zip(&setup.clocks.kinds)
            .map(|(work, kind)| work * setup.clocks.ends[kind.end])
            .sum()
    }
}

impl Run {
    /// Runs until all clocks have stopped and all queues are empty: `steps` steps until each end of
    /// clocks, and about `drain` steps after the last.
    pub(super) fn run(&mut self, setup: &Setup, flows: &Flows, (steps, drain): (usize, usize)) {
        match setup.padded_kinds() {
            1 => self.run_kinds::<1>(setup, flows, (steps, drain)),
            2 => self.run_kinds::<2>(setup, flows, (steps, drain)),
            4 => self.run_kinds::<4>(setup, flows, (steps, drain)),
            _ => self.run_kinds::<MOST_KINDS>(setup, flows, (steps, drain)),
        }
    }

    fn run_kinds<const KINDS: usize>(
        &mut self,
        setup: &Setup,
        flows: &Flows,
        (steps, drain): (usize, usize),
    ) {
        let phases = setup.clocks.ends.len() + 1;
        self.start(setup, flows);
        let longest = self.find_uncongested(setup, flows);
        self.least_time = longest;
        let mut ticks = [0.0; KINDS];
        let (mut now, mut begin) = (0.0, 0.0);
        for (phase, end) in setup.clocks.ends.iter().enumerate() {
            let time = (end - begin) / steps as f64;
            for (ticks, kind) in ticks.iter_mut().zip(&setup.clocks.kinds) {
                *ticks = if kind.end >= phase { time } else { 0.0 };
            }
            for _ in 0..steps {
                now += time;
                self.step(&Step { setup, flows, phase, phases, time, ticks });
                self.times.push(now);
            }
            begin = *end;
        }
        let mut usual = (longest - begin).max(1e-6 * begin) / drain as f64;
        let mut done = 0;
        // One more step after all queues are empty: it brings what left the other servers into the
        // memories.
        let mut busy = true;
        while busy {
            let shortest = self.shortest_backlog();
            busy = shortest < f64::INFINITY;
            // Longer and longer steps bound their number.
            if done >= 2 * drain {
                usual *= 1.5;
            }
            done += 1;
            // A step ends when the next queue is empty, but is not too short.
            let least = if done > drain { 1.0 } else { SHORTEST };
            let time = shortest.clamp(least * usual, LONGEST * usual);
            now += time;
            let (phase, ticks) = (phases - 1, [0.0; KINDS]);
            self.step(&Step { setup, flows, phase, phases, time, ticks });
            self.times.push(now);
        }
    }

    /// Steps of servers in the run times padded kinds of messages.
    pub(super) fn server_steps(&self) -> u64 {
        let stages = [&self.memories, &self.outs, &self.ins, &self.links];
        let servers: usize = stages.into_iter().map(|stage| stage.congested.len()).sum();
        let kinds = self.memories.left.len() / self.memories.queues.len().max(1);
        (servers * self.times.len() * kinds) as u64
    }

    /// The time until the first queue is empty if nothing arrives, seconds; infinite without queues.
    fn shortest_backlog(&self) -> f64 {
        let stages = [&self.memories, &self.outs, &self.ins, &self.links];
        let backlogs = stages
            .into_iter()
            .flat_map(|stage| stage.congested.iter().map(|server| stage.queues[*server].backlog));
        backlogs.filter(|backlog| *backlog > 0.0).fold(f64::INFINITY, f64::min)
    }

    fn start(&mut self, setup: &Setup, flows: &Flows) {
        let (kinds, nodes) = (setup.padded_kinds(), flows.used.len());
        let phases = setup.clocks.ends.len() + 1;
        self.memories.start(setup.sites.memories.len(), kinds, phases);
        self.outs.start(setup.sites.ports.len(), kinds, phases);
        self.ins.start(setup.sites.ports.len(), kinds, phases);
        self.links.start(flows.passed.len(), kinds, phases);
        self.times.clear();
        let by_kind_and_node =
            [&mut self.node_out, &mut self.node_in, &mut self.unexpected, &mut self.pair_scale];
        for values in by_kind_and_node {
            values.clear();
            values.resize(kinds * nodes, 0.0);
        }
        for (scale, row) in self.pair_scale.iter_mut().zip(flows.pairs.chunks_exact(nodes)) {
            *scale = inverse(row.iter().sum());
        }
        self.entered.clear();
        self.entered.resize(phases * nodes * kinds, 0.0);
        self.link_scale.clear();
        for link in 0..flows.passed.len() {
            let users = flows.passed.users(link);
            for square in flows.pairs.chunks_exact(nodes * nodes) {
                let bytes = users.iter().map(|user| square[user.pair as usize]).sum();
                self.link_scale.push(inverse(bytes));
            }
        }
    }

    /// Marks the servers that never have a backlog. Returns the longest time that a server works, or
    /// the last end of clocks if that is later, seconds.
    fn find_uncongested(&mut self, setup: &Setup, flows: &Flows) -> f64 {
        let (kinds, phases) = (setup.padded_kinds(), setup.clocks.ends.len() + 1);
        let nodes = || flows.used.nodes().iter().map(|node| &setup.sites.nodes[*node]);
        let mut longest = setup.clocks.ends.last().copied().unwrap_or(0.0);
        let mut utilisation = |streams: &[&Stream], server: usize| {
            let work = streams.iter().map(|stream| stream.all_work(server, setup)).sum();
            longest = longest.max(work);
            streams.iter().map(|stream| stream.utilisation(server, kinds)).sum::<f64>()
        };
        for node in nodes() {
            for memory in node.memories.clone() {
                let streams = [&flows.first, &flows.rest, &flows.into_memory];
                if utilisation(&streams, memory) > 1.0 {
                    self.memories.set_congested(memory, phases);
                }
            }
            let before = !self.memories.uncongested[node.memories.clone()].contains(&false);
            for port in node.ports.clone() {
                if utilisation(&[&flows.out], port) > 1.0 || !before {
                    self.outs.set_congested(port, phases);
                }
            }
        }
        (0..flows.passed.len()).for_each(|link| self.links.set_congested(link, phases));
        let before = setup.links.is_empty() && self.outs.congested.is_empty();
        for port in nodes().flat_map(|node| node.ports.clone()) {
            if utilisation(&[&flows.into], port) > 1.0 || !before {
                self.ins.set_congested(port, phases);
            }
        }
        longest
    }

    fn step<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        self.step_memories(step);
        self.step_outs(step);
        self.step_links(step);
        self.step_ins(step);
    }

    fn step_memories<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        let (flows, nodes) = (step.flows, step.flows.used.len());
        for (number, node) in step.used_nodes() {
            let mut expected = [0.0; KINDS];
            for (kind, expected) in expected.iter_mut().enumerate() {
                let at = kind * nodes + number;
                *expected = (self.node_in[at] * step.time + self.unexpected[at]).max(0.0);
                self.unexpected[at] -= *expected;
            }
            for memory in node.memories.clone() {
                let at = memory * KINDS;
                if self.memories.uncongested[memory] {
                    self.memories.left[at..at + KINDS].copy_from_slice(&step.ticks);
                    continue;
                }
                let mut arrivals = [step.ticks, [0.0; KINDS], expected];
                let [first, rest, into] = [&flows.first, &flows.rest, &flows.into_memory];
                let work = |stream: &Stream| *row::<KINDS>(&stream.work, memory);
                let work = [work(first), work(rest), work(into)];
                let queue = &mut self.memories.queues[memory];
                let (stepped, left) = queue.step(step.time, &mut arrivals, &work);
                self.memories.left[at..at + KINDS].copy_from_slice(&left[0]);
                let count = |stream: &Stream| *row::<KINDS>(&stream.count, memory);
                let count = [count(first), count(rest), count(into)];
                let count = product(count.as_flattened(), arrivals.as_flattened());
                self.memories.phases[memory * step.phases + step.phase]
                    .add(step.time, count, stepped);
            }
        }
    }

    fn step_outs<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        let (flows, nodes) = (step.flows, step.flows.used.len());
        for (number, node) in step.used_nodes() {
            let mut arrivals = step.ticks;
            if self.memories.uncongested[node.memories.clone()].contains(&false) {
                let (mut amount, mut rate) = ([0.0; KINDS], [0.0; KINDS]);
                for memory in node.memories.clone() {
                    let remote = row::<KINDS>(&flows.remote, memory);
                    let left = row::<KINDS>(&self.memories.left, memory);
                    for kind in 0..KINDS {
                        amount[kind] += remote[kind] * left[kind];
                        rate[kind] += remote[kind];
                    }
                }
                for kind in 0..KINDS {
                    arrivals[kind] = amount[kind] * inverse(rate[kind]);
                }
            }
            let (mut amount, mut rate) = ([0.0; KINDS], [0.0; KINDS]);
            for port in node.ports.clone() {
                let left = self.outs.step(step, port, arrivals, &flows.out);
                let weight = row::<KINDS>(&flows.out.count, port);
                for kind in 0..KINDS {
                    amount[kind] += weight[kind] * left[kind];
                    rate[kind] += weight[kind];
                }
            }
            for kind in 0..KINDS {
                self.node_out[kind * nodes + number] = amount[kind] * inverse(rate[kind]);
            }
        }
    }

    fn step_links<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        let nodes = step.flows.used.len();
        for number in 0..step.flows.passed.len() {
            let users = step.flows.passed.users(number);
            let mut arrivals = [0.0; KINDS];
            for (kind, arrivals) in arrivals.iter_mut().enumerate() {
                let square = &step.flows.pairs[kind * nodes * nodes..][..nodes * nodes];
                let mut amount = 0.0;
                for LinkUser { pair, before } in users {
                    let left = match before {
                        None => self.node_out[kind * nodes + *pair as usize % nodes],
                        Some(link) => self.links.left[*link as usize * KINDS + kind],
                    };
                    amount += square[*pair as usize] * left;
                }
                *arrivals = amount * self.link_scale[number * KINDS + kind];
            }
            self.links.step(step, number, arrivals, &step.flows.links);
        }
    }

    fn step_ins<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        let nodes = step.flows.used.len();
        for (number, node) in step.used_nodes() {
            let mut arrivals = [0.0; KINDS];
            for (kind, arrivals) in arrivals.iter_mut().enumerate() {
                let row = &step.flows.pairs[(kind * nodes + number) * nodes..][..nodes];
                let out = &self.node_out[kind * nodes..][..nodes];
                let amount = if step.setup.links.is_empty() {
                    product(row, out)
                } else {
                    let mut amount = 0.0;
                    for (from, last) in step.flows.passed.senders(number) {
                        let left = match last {
                            None => out[*from as usize],
                            Some(link) => self.links.left[*link as usize * KINDS + kind],
                        };
                        amount += row[*from as usize] * left;
                    }
                    amount
                };
                *arrivals = amount * self.pair_scale[kind * nodes + number];
            }
            // Behind the devices the fluid does not track through which of them a message came.
            let mut all = [0.0; KINDS];
            for port in node.ports.clone() {
                let left = self.ins.step(step, port, arrivals, &step.flows.into);
                for kind in 0..KINDS {
                    all[kind] += left[kind] / node.ports.len() as f64;
                }
            }
            let entered = &mut self.entered[(step.phase * nodes + number) * KINDS..][..KINDS];
            for kind in 0..KINDS {
                entered[kind] += all[kind];
                self.node_in[kind * nodes + number] = all[kind] / step.time;
                self.unexpected[kind * nodes + number] += all[kind];
            }
        }
    }
}

impl Stage {
    /// A step of a server that every message passes once. Returns what leaves it.
    fn step<const KINDS: usize>(
        &mut self,
        step: &Step<KINDS>,
        server: usize,
        arrivals: [f64; KINDS],
        stream: &Stream,
    ) -> [f64; KINDS] {
        if self.uncongested[server] {
            return arrivals;
        }
        let work = [*row(&stream.work, server)];
        let (stepped, [left]) = self.queues[server].step(step.time, &mut [arrivals], &work);
        let count = product(&arrivals, row::<KINDS>(&stream.count, server));
        self.phases[server * step.phases + step.phase].add(step.time, count, stepped);
        self.left[server * KINDS..][..KINDS].copy_from_slice(&left);
        left
    }
}

/// The values of a server.
#[inline(always)]
fn row<const KINDS: usize>(values: &[f64], server: usize) -> &[f64; KINDS] {
    values[server * KINDS..].first_chunk().expect("a row for each server")
}

/// The reciprocal; 0 for 0.
#[inline(always)]
fn inverse(value: f64) -> f64 {
    if value > 0.0 { 1.0 / value } else { 0.0 }
}
