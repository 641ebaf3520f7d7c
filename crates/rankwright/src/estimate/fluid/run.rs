//! The run of a fluid through the servers, step by step.

use super::flows::{Flows, Stream};
use super::network::Network;
use super::noise::Phase;
use super::queue::{Queue, product};
use crate::network::demand::Demand;

/// Kinds of messages that are told apart.
pub(super) const MOST_KINDS: usize = 8;

/// For how many kinds there is room where there are so many: one of few numbers, so that the code for
/// each can be translated by itself.
pub(super) fn room(kinds: usize) -> usize {
    kinds.next_power_of_two()
}

/// Steps after the last end of clocks, as parts of their usual length.
const SHORTEST: f64 = 0.35;
const LONGEST: f64 = 1.5;

/// The servers of one part of the network while the fluid passes them.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub(super) queues: Vec<Queue>,
    /// Whether a server is never busy all the time: what comes leaves at once.
    pub(super) clear: Vec<bool>,
    /// Per server and phase: what happened. Phases are the times between ends of clocks, and one
    /// after the last.
    pub(super) phases: Vec<Phase>,
    /// How much of each kind left in the last step: server by server.
    left: Vec<f64>,
}

/// A run.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    pub(super) memories: Part,
    pub(super) outs: Part,
    pub(super) ins: Part,
    pub(super) links: Part,
    /// The end of each step.
    pub(super) times: Vec<f64>,
    /// Until the last end of clocks, or as long as the server with the most work needs for it.
    pub(super) least_time: f64,
    /// How much of each kind left each node in the last step: kind by kind.
    node_out: Vec<f64>,
    /// How much of each kind came into each node per second in the last step, and how much came that
    /// its memories do not know yet. They work before it comes, so they expect it to go on, and are
    /// put right in the next step.
    node_in: Vec<f64>,
    unknown: Vec<f64>,
    /// How much of each kind came into each node in each phase: phase by phase, node by node.
    pub(super) came: Vec<f64>,
    /// One over the bytes per second that come into each node: kind by kind.
    pair_scale: Vec<f64>,
    link_scale: Vec<f64>,
}

/// The present step.
struct Step<'a, const KINDS: usize> {
    network: &'a Network,
    flows: &'a Flows,
    phase: usize,
    phases: usize,
    time: f64,
    /// How long the clock of each kind ticks in it.
    ticks: [f64; KINDS],
}

impl Part {
    fn start(&mut self, servers: usize, kinds: usize, phases: usize) {
        self.queues.resize_with(servers, Queue::default);
        self.queues.iter_mut().for_each(Queue::clear);
        self.clear.clear();
        self.phases.clear();
        self.phases.resize(servers * phases, Phase::default());
        self.left.clear();
        self.left.resize(servers * kinds, 0.0);
    }
}

impl Stream {
    /// The utilisation of a server while all clocks tick.
    fn utilisation(&self, server: usize, kinds: usize) -> f64 {
        self.work[server * kinds..][..kinds].iter().sum()
    }

    /// All work that comes to a server.
    fn all_work(&self, server: usize, demand: &Demand) -> f64 {
        let kinds = &demand.kinds;
        self.work[server * room(kinds.len())..]
            .iter()
            .zip(kinds)
            .map(|(work, kind)| work * demand.ends[kind.end])
            .sum()
    }
}

impl Run {
    /// Runs until all clocks have stopped and all queues are empty: `steps` steps until each end of
    /// clocks, and about `drain` steps after the last.
    pub(super) fn run(
        &mut self,
        demand: &Demand,
        network: &Network,
        flows: &Flows,
        (steps, drain): (usize, usize),
    ) {
        match room(demand.kinds.len()) {
            1 => self.run_kinds::<1>(demand, network, flows, (steps, drain)),
            2 => self.run_kinds::<2>(demand, network, flows, (steps, drain)),
            4 => self.run_kinds::<4>(demand, network, flows, (steps, drain)),
            _ => self.run_kinds::<MOST_KINDS>(demand, network, flows, (steps, drain)),
        }
    }

    fn run_kinds<const KINDS: usize>(
        &mut self,
        demand: &Demand,
        network: &Network,
        flows: &Flows,
        (steps, drain): (usize, usize),
    ) {
        let phases = demand.ends.len() + 1;
        self.start(demand, network, flows);
        let longest = self.find_clear(demand, network, flows);
        self.least_time = longest;
        let mut ticks = [0.0; KINDS];
        let (mut now, mut begin) = (0.0, 0.0);
        for (phase, end) in demand.ends.iter().enumerate() {
            let time = (end - begin) / steps as f64;
            for (ticks, kind) in ticks.iter_mut().zip(&demand.kinds) {
                *ticks = if kind.end >= phase { time } else { 0.0 };
            }
            for _ in 0..steps {
                now += time;
                self.step(&Step { network, flows, phase, phases, time, ticks });
                self.times.push(now);
            }
            begin = *end;
        }
        let mut usual = (longest - begin).max(1e-6 * begin) / drain as f64;
        let mut done = 0;
        // The last step lets what left the other servers into the memories.
        let mut busy = true;
        while busy {
            let shortest = self.shortest_backlog();
            busy = shortest < f64::INFINITY;
            // However long it takes, the steps stay few.
            if done >= 2 * drain {
                usual *= 1.5;
            }
            done += 1;
            // Short steps follow the queues that are empty soon, but not all the way.
            let least = if done > drain { 1.0 } else { SHORTEST };
            let time = shortest.clamp(least * usual, LONGEST * usual);
            now += time;
            let (phase, ticks) = (phases - 1, [0.0; KINDS]);
            self.step(&Step { network, flows, phase, phases, time, ticks });
            self.times.push(now);
        }
    }

    /// Steps of servers in the run, times kinds of messages.
    pub(super) fn server_steps(&self) -> u64 {
        let parts = [&self.memories, &self.outs, &self.ins, &self.links];
        let clear = parts.into_iter().flat_map(|part| &part.clear);
        let servers = clear.filter(|clear| !**clear).count();
        let kinds = self.memories.left.len() / self.memories.queues.len().max(1);
        (servers * self.times.len() * kinds) as u64
    }

    /// No queue is empty before this time has passed.
    fn shortest_backlog(&self) -> f64 {
        let parts = [&self.memories, &self.outs, &self.ins, &self.links];
        let backlogs = parts.into_iter().flat_map(|part| &part.queues).map(|queue| queue.backlog);
        backlogs.filter(|backlog| *backlog > 0.0).fold(f64::INFINITY, f64::min)
    }

    fn start(&mut self, demand: &Demand, network: &Network, flows: &Flows) {
        let (kinds, nodes) = (room(demand.kinds.len()), network.nodes());
        let phases = demand.ends.len() + 1;
        self.memories.start(network.memories.len(), kinds, phases);
        self.outs.start(network.ports.len(), kinds, phases);
        self.ins.start(network.ports.len(), kinds, phases);
        self.links.start(network.links.len(), kinds, phases);
        self.times.clear();
        let parts =
            [&mut self.node_out, &mut self.node_in, &mut self.unknown, &mut self.pair_scale];
        for values in parts {
            values.clear();
            values.resize(kinds * nodes, 0.0);
        }
        for (scale, row) in self.pair_scale.iter_mut().zip(flows.pairs.chunks_exact(nodes)) {
            *scale = inverse(row.iter().sum());
        }
        self.came.clear();
        self.came.resize(phases * nodes * kinds, 0.0);
        self.link_scale.clear();
        for link in &network.links {
            for square in flows.pairs.chunks_exact(nodes * nodes) {
                let bytes = link.pairs.iter().map(|(pair, _)| square[*pair as usize]).sum();
                self.link_scale.push(inverse(bytes));
            }
        }
    }

    /// Marks the servers that let everything pass at once; the longest time that a server works.
    fn find_clear(&mut self, demand: &Demand, network: &Network, flows: &Flows) -> f64 {
        let kinds = room(demand.kinds.len());
        let mut longest = demand.ends.last().copied().unwrap_or(0.0);
        let mut work = |streams: &[&Stream], server: usize| {
            let work = streams.iter().map(|stream| stream.all_work(server, demand)).sum();
            longest = longest.max(work);
            streams.iter().map(|stream| stream.utilisation(server, kinds)).sum::<f64>()
        };
        for memory in 0..network.memories.len() {
            let load = work(&[&flows.first, &flows.rest, &flows.into_memory], memory);
            self.memories.clear.push(load <= 1.0);
        }
        for (memories, ports) in network.node_memories.iter().zip(&network.node_ports) {
            let before = self.memories.clear[memories.clone()].iter().all(|clear| *clear);
            for port in ports.clone() {
                self.outs.clear.push(work(&[&flows.out], port) <= 1.0 && before);
            }
        }
        let before = network.links.is_empty() && self.outs.clear.iter().all(|clear| *clear);
        for port in 0..network.ports.len() {
            self.ins.clear.push(work(&[&flows.into], port) <= 1.0 && before);
        }
        self.links.clear.resize(network.links.len(), false);
        longest
    }

    fn step<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        self.step_memories(step);
        self.step_outs(step);
        self.step_links(step);
        self.step_ins(step);
    }

    fn step_memories<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        let (flows, nodes) = (step.flows, step.network.nodes());
        for (node, memories) in step.network.node_memories.iter().enumerate() {
            let mut expected = [0.0; KINDS];
            for (kind, expected) in expected.iter_mut().enumerate() {
                let at = kind * nodes + node;
                *expected = (self.node_in[at] * step.time + self.unknown[at]).max(0.0);
                self.unknown[at] -= *expected;
            }
            for memory in memories.clone() {
                let at = memory * KINDS;
                if self.memories.clear[memory] {
                    self.memories.left[at..at + KINDS].copy_from_slice(&step.ticks);
                    continue;
                }
                let mut arrivals = [step.ticks, [0.0; KINDS], expected];
                let streams = [&flows.first, &flows.rest, &flows.into_memory];
                let work = streams.map(|stream| row(&stream.work, memory));
                let queue = &mut self.memories.queues[memory];
                let (stepped, left) = queue.step(step.time, &mut arrivals, &work);
                self.memories.left[at..at + KINDS].copy_from_slice(&left[0]);
                let count = streams.map(|stream| row::<KINDS>(&stream.count, memory));
                let count = product(count.as_flattened(), arrivals.as_flattened());
                self.memories.phases[memory * step.phases + step.phase]
                    .add(step.time, count, stepped);
            }
        }
    }

    fn step_outs<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        let (flows, nodes) = (step.flows, step.network.nodes());
        let parts = step.network.node_memories.iter().zip(&step.network.node_ports);
        for (node, (memories, ports)) in parts.enumerate() {
            let mut arrivals = step.ticks;
            if self.memories.clear[memories.clone()].contains(&false) {
                let (mut amount, mut rate) = ([0.0; KINDS], [0.0; KINDS]);
                for memory in memories.clone() {
                    let remote: [f64; KINDS] = row(&flows.remote, memory);
                    let left: [f64; KINDS] = row(&self.memories.left, memory);
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
            for port in ports.clone() {
                let left = self.outs.step(step, port, arrivals, &flows.out);
                let weight: [f64; KINDS] = row(&flows.out.count, port);
                for kind in 0..KINDS {
                    amount[kind] += weight[kind] * left[kind];
                    rate[kind] += weight[kind];
                }
            }
            for kind in 0..KINDS {
                self.node_out[kind * nodes + node] = amount[kind] * inverse(rate[kind]);
            }
        }
    }

    fn step_links<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        let nodes = step.network.nodes();
        for (number, link) in step.network.links.iter().enumerate() {
            let mut arrivals = [0.0; KINDS];
            for (kind, arrivals) in arrivals.iter_mut().enumerate() {
                let square = &step.flows.pairs[kind * nodes * nodes..][..nodes * nodes];
                let amount = |(pair, before): &(u32, Option<u32>)| {
                    let of_node = self.node_out[kind * nodes + *pair as usize % nodes];
                    let left = |link: u32| self.links.left[link as usize * KINDS + kind];
                    square[*pair as usize] * before.map_or(of_node, left)
                };
                let amount: f64 = link.pairs.iter().map(amount).sum();
                *arrivals = amount * self.link_scale[number * KINDS + kind];
            }
            self.links.step(step, number, arrivals, &step.flows.links);
        }
    }

    fn step_ins<const KINDS: usize>(&mut self, step: &Step<KINDS>) {
        let nodes = step.network.nodes();
        for (node, ports) in step.network.node_ports.iter().enumerate() {
            let mut arrivals = [0.0; KINDS];
            for (kind, arrivals) in arrivals.iter_mut().enumerate() {
                let row = &step.flows.pairs[(kind * nodes + node) * nodes..][..nodes];
                let out = &self.node_out[kind * nodes..][..nodes];
                let amount = if step.network.links.is_empty() {
                    product(row, out)
                } else {
                    let routes = &step.network.routes[node * nodes..][..nodes];
                    let left = |link: &u32| self.links.left[*link as usize * KINDS + kind];
                    let pairs = row.iter().zip(out).zip(routes);
                    pairs.map(|((bytes, out), route)| bytes * route.last().map_or(*out, left)).sum()
                };
                *arrivals = amount * self.pair_scale[kind * nodes + node];
            }
            // What comes in by several devices is told apart no more.
            let mut all = [0.0; KINDS];
            for port in ports.clone() {
                let left = self.ins.step(step, port, arrivals, &step.flows.into);
                for (all, left) in all.iter_mut().zip(left) {
                    *all += left / ports.len() as f64;
                }
            }
            let came = &mut self.came[(step.phase * nodes + node) * KINDS..][..KINDS];
            for (kind, left) in all.into_iter().enumerate() {
                came[kind] += left;
                self.node_in[kind * nodes + node] = left / step.time;
                self.unknown[kind * nodes + node] += left;
            }
        }
    }
}

impl Part {
    /// A step of a server through which every message passes once; what leaves it.
    fn step<const KINDS: usize>(
        &mut self,
        step: &Step<KINDS>,
        server: usize,
        arrivals: [f64; KINDS],
        stream: &Stream,
    ) -> [f64; KINDS] {
        if self.clear[server] {
            return arrivals;
        }
        let work = [row(&stream.work, server)];
        let (stepped, [left]) = self.queues[server].step(step.time, &mut [arrivals], &work);
        let count = product(&arrivals, &row::<KINDS>(&stream.count, server));
        self.phases[server * step.phases + step.phase].add(step.time, count, stepped);
        self.left[server * KINDS..][..KINDS].copy_from_slice(&left);
        left
    }
}

/// The values of a server.
fn row<const KINDS: usize>(values: &[f64], server: usize) -> [f64; KINDS] {
    let mut row = [0.0; KINDS];
    row.copy_from_slice(&values[server * KINDS..][..KINDS]);
    row
}

fn inverse(value: f64) -> f64 {
    if value > 0.0 { 1.0 / value } else { 0.0 }
}
