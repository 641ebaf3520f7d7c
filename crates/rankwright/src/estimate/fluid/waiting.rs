//! Waiting times of a run: those of the fluid, what chance adds, and what messages of one tick wait
//! for each other.

use super::flows::{Flows, Stream};
use super::network::Network;
use super::noise::Phase;
use super::run::{Part, Run, room};
use crate::network::demand::Demand;

/// What chance adds is not looked at closely where it is below this part of the waiting in the fluid.
const NEGLIGIBLE: f64 = 1e-3;

/// Seconds of waiting of a server: in the fluid, by chance, within ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Waiting {
    pub(super) fluid: f64,
    pub(super) chance: f64,
    pub(super) batch: f64,
}

/// Looks at a run after its end.
pub(super) struct After<'a> {
    pub(super) demand: &'a Demand,
    pub(super) network: &'a Network,
    pub(super) flows: &'a Flows,
    pub(super) run: &'a Run,
}

impl After<'_> {
    pub(super) fn memory(&self, node: usize, memory: usize) -> Waiting {
        let flows = self.flows;
        let mut waiting = Waiting { batch: flows.batch_memory[memory], ..Waiting::default() };
        let clear = self.run.memories.clear[memory];
        for phase in self.phases() {
            let clocks = self.rates(memory, &[&flows.first, &flows.rest], phase.number);
            let mut passed = self.run.memories.phases[memory * phase.of + phase.number];
            if clear {
                passed = clocks.over(phase.time);
                self.add_into_memory(node, memory, &phase, &mut passed);
            }
            // Only what clocks send comes by chance: what comes from a network device is in order.
            waiting.add(&passed, |passed| passed.noise(1.0, 0.5 * clocks.moment));
        }
        waiting
    }

    pub(super) fn out(&self, port: usize) -> Waiting {
        let batch = self.flows.batch_out[port];
        let waiting = Waiting { batch, ..Waiting::default() };
        self.add(waiting, &self.run.outs, port, &self.flows.out, |passed, v| passed.noise(1.0, v))
    }

    pub(super) fn link(&self, link: usize) -> Waiting {
        let (waiting, links) = (Waiting::default(), &self.run.links);
        self.add(waiting, links, link, &self.flows.links, |passed, v| passed.noise(1.0, v))
    }

    /// Messages that come through one line do not wait for each other here: they have done so
    /// before. What all lines together make wait less what each alone would is what remains.
    pub(super) fn inward(&self, node: usize, port: usize) -> Waiting {
        let nodes = self.network.nodes();
        let squares = self.flows.pairs.chunks_exact(nodes * nodes);
        let rows = squares.map(|square| &square[node * nodes..][..nodes]);
        let all: f64 = rows.clone().flatten().sum();
        let chance = |passed: &Phase, v: f64| {
            let mut noise = passed.noise(1.0, v);
            if noise * passed.count < NEGLIGIBLE * passed.fluid {
                return noise;
            }
            for from in 0..nodes {
                let share = rows.clone().map(|row| row[from]).sum::<f64>() / all;
                if share > 0.0 {
                    noise -= passed.noise(share, v * share);
                }
            }
            noise.max(0.0) / (passed.work / passed.time).min(1.0)
        };
        self.add(Waiting::default(), &self.run.ins, port, &self.flows.into, chance)
    }

    /// The waiting at a server behind others; `chance` takes what passed it in a phase, and half the
    /// variance of its work per second.
    fn add(
        &self,
        mut waiting: Waiting,
        part: &Part,
        server: usize,
        stream: &Stream,
        chance: impl Fn(&Phase, f64) -> f64,
    ) -> Waiting {
        for phase in self.phases() {
            let mut rates = self.rates(server, &[stream], phase.number);
            let mut passed = part.phases[server * phase.of + phase.number];
            if part.clear[server] {
                passed = rates.over(phase.time);
            }
            // What comes after its clocks have stopped comes like what came before.
            let mut before = phase.number;
            while rates.work == 0.0 && passed.work > 0.0 && before > 0 {
                before -= 1;
                rates = self.rates(server, &[stream], before);
            }
            let v = 0.5 * rates.moment / rates.work * passed.work / passed.time;
            waiting.add(&passed, |passed| chance(passed, v));
        }
        waiting
    }

    /// The times between ends of clocks, and the one after the last.
    fn phases(&self) -> impl Iterator<Item = Times> {
        let ends = &self.demand.ends;
        let of = ends.len() + 1;
        (0..of).map(move |number| {
            let begin = number.checked_sub(1).map_or(0.0, |before| ends[before]);
            let time = ends.get(number).map_or(0.0, |end| end - begin);
            Times { number, of, time }
        })
    }

    /// What comes to a server per second in a phase if nothing is held up before it.
    fn rates(&self, server: usize, streams: &[&Stream], phase: usize) -> Rates {
        let kinds = &self.demand.kinds;
        let mut rates = Rates::default();
        for stream in streams {
            for (kind, at) in kinds.iter().zip(server * room(kinds.len())..) {
                if kind.end >= phase {
                    rates.count += stream.count[at];
                    rates.work += stream.work[at];
                    rates.moment += stream.moment[at];
                }
            }
        }
        rates
    }

    /// Adds what came from other nodes in a phase to what passed a memory.
    fn add_into_memory(&self, node: usize, memory: usize, phase: &Times, passed: &mut Phase) {
        let (into, kinds) = (&self.flows.into_memory, room(self.demand.kinds.len()));
        let came = &self.run.came[(phase.number * self.network.nodes() + node) * kinds..][..kinds];
        for (came, at) in came.iter().zip(memory * kinds..) {
            passed.count += came * into.count[at];
            passed.work += came * into.work[at];
        }
    }
}

impl Waiting {
    pub(super) fn all(self) -> f64 {
        self.fluid + self.chance + self.batch
    }

    /// Adds a phase; `chance` says what each message waits longer than in the fluid.
    fn add(&mut self, passed: &Phase, chance: impl Fn(&Phase) -> f64) {
        if passed.count > 0.0 && passed.time > 0.0 {
            self.fluid += passed.fluid;
            self.chance += passed.count * chance(passed);
        }
    }
}

/// A phase: its number, of how many, and how long clocks tick in it.
#[derive(Debug, Clone, Copy)]
struct Times {
    number: usize,
    of: usize,
    time: f64,
}

/// Messages, work and second moments of work per second.
#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    count: f64,
    work: f64,
    moment: f64,
}

impl Rates {
    fn over(&self, time: f64) -> Phase {
        Phase { time, count: self.count * time, work: self.work * time, fluid: 0.0 }
    }
}
