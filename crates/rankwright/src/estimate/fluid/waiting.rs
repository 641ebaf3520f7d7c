//! Waiting times of a run: in the fluid, by random arrivals, and of messages of one tick for each
//! other.

use super::flows::{Flows, Stream};
use super::noise::Phase;
use super::run::{Run, Stage};
use super::setup::Setup;

/// Random arrivals are not computed closely where they add less than this part of the waiting in the
/// fluid.
const NEGLIGIBLE: f64 = 1e-3;

/// The waiting at a server, seconds over all messages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Waiting {
    pub(super) fluid: f64,
    pub(super) random: f64,
    /// Of messages of one tick for each other.
    pub(super) batch: f64,
}

/// A run at its end.
pub(super) struct FinishedRun<'a> {
    pub(super) setup: &'a Setup,
    pub(super) flows: &'a Flows,
    pub(super) run: &'a Run,
}

/// The time between two ends of clocks, or after the last.
#[derive(Debug, Clone, Copy)]
struct PhaseTime {
    /// From 0 to the number of ends.
    number: usize,
    /// The number of phases.
    phases: usize,
    /// How long clocks tick in it, seconds; 0 after the last end.
    time: f64,
}

/// The arrivals at a server, per second.
#[derive(Debug, Clone, Copy, Default)]
struct ArrivalRates {
    /// Messages.
    count: f64,
    /// Seconds of service.
    work: f64,
    /// As [`Stream::moment`].
    moment: f64,
}

impl FinishedRun<'_> {
    /// `node`: row in tables by node; `memory`: position in
    /// [`Sites::memories`](crate::network::Sites::memories).
    pub(super) fn memory(&self, node: usize, memory: usize) -> Waiting {
        let flows = self.flows;
        let mut waiting = Waiting { batch: flows.batch_memory[memory], ..Waiting::default() };
        let uncongested = self.run.memories.uncongested[memory];
        for phase in self.phases() {
            let clocks = self.rates(memory, &[&flows.first, &flows.rest], phase.number);
            let mut passed = self.run.memories.phases[memory * phase.phases + phase.number];
            if uncongested {
                passed = clocks.over(phase.time);
                self.add_into_memory(node, memory, &phase, &mut passed);
            }
            // Only what clocks send is random: a network device has put the rest in line.
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

    /// Messages from one sending node have waited for each other before: at its device out. So
    /// random arrivals add what they add for all senders together, less what they add for each alone.
    pub(super) fn inward(&self, node: usize, port: usize) -> Waiting {
        let nodes = self.flows.used.len();
        let squares = self.flows.pairs.chunks_exact(nodes * nodes);
        let rows = squares.map(|square| &square[node * nodes..][..nodes]);
        let all: f64 = rows.clone().flatten().sum();
        let noise = |passed: &Phase, v: f64| {
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
        self.add(Waiting::default(), &self.run.ins, port, &self.flows.into, noise)
    }

    /// Adds the waiting at a server behind others. `noise` takes what passed it in a phase, and half
    /// the variance of its work per second.
    fn add(
        &self,
        mut waiting: Waiting,
        stage: &Stage,
        server: usize,
        stream: &Stream,
        noise: impl Fn(&Phase, f64) -> f64,
    ) -> Waiting {
        for phase in self.phases() {
            let mut rates = self.rates(server, &[stream], phase.number);
            let mut passed = stage.phases[server * phase.phases + phase.number];
            if stage.uncongested[server] {
                passed = rates.over(phase.time);
            }
            // Arrivals after the clocks have stopped follow the pattern of those before.
            let mut before = phase.number;
            while rates.work == 0.0 && passed.work > 0.0 && before > 0 {
                before -= 1;
                rates = self.rates(server, &[stream], before);
            }
            let v = 0.5 * rates.moment / rates.work * passed.work / passed.time;
            waiting.add(&passed, |passed| noise(passed, v));
        }
        waiting
    }

    fn phases(&self) -> impl Iterator<Item = PhaseTime> {
        let ends = &self.setup.clocks.ends;
        let phases = ends.len() + 1;
        (0..phases).map(move |number| {
            let begin = number.checked_sub(1).map_or(0.0, |before| ends[before]);
            let time = ends.get(number).map_or(0.0, |end| end - begin);
            PhaseTime { number, phases, time }
        })
    }

    /// The arrivals at a server in a phase if no server before it delays them.
    fn rates(&self, server: usize, streams: &[&Stream], phase: usize) -> ArrivalRates {
        let (kinds, padded) = (&self.setup.clocks.kinds, self.setup.padded_kinds());
        let mut rates = ArrivalRates::default();
        for stream in streams {
            for (kind, at) in kinds.iter().zip(server * padded..) {
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
    fn add_into_memory(&self, node: usize, memory: usize, phase: &PhaseTime, passed: &mut Phase) {
        let (into, kinds) = (&self.flows.into_memory, self.setup.padded_kinds());
        let at = (phase.number * self.flows.used.len() + node) * kinds;
        let entered = &self.run.entered[at..][..kinds];
        for (entered, at) in entered.iter().zip(memory * kinds..) {
            passed.count += entered * into.count[at];
            passed.work += entered * into.work[at];
        }
    }
}

impl Waiting {
    pub(super) fn all(self) -> f64 {
        self.fluid + self.random + self.batch
    }

    /// Adds a phase; `noise` is the mean waiting of a message beyond that in the fluid.
    fn add(&mut self, passed: &Phase, noise: impl Fn(&Phase) -> f64) {
        if passed.count > 0.0 && passed.time > 0.0 {
            self.fluid += passed.fluid;
            self.random += passed.count * noise(passed);
        }
    }
}

impl ArrivalRates {
    fn over(&self, time: f64) -> Phase {
        Phase { time, count: self.count * time, work: self.work * time, fluid: 0.0 }
    }
}
