//! The PUs that srun gives to the tasks of a node that the job has alone (Slurm 22.05, task/affinity).

use crate::cluster::Machine;
use crate::ids::PuSet;

/// The part of a node that a task is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Package,
    Core,
    Thread,
}

/// How tasks follow each other on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Package after package, in turns.
    Cyclic,
    /// The first package is filled first.
    Block,
}

/// A node whose packages and cores are all alike.
pub(super) struct Node<'a> {
    machine: &'a Machine,
    threads: usize,
    package: usize,
}

impl<'a> Node<'a> {
    /// `None` if packages or cores differ.
    pub(super) fn new(machine: &'a Machine) -> Option<Self> {
        let threads = machine.cores.first()?.pus.len();
        let package = machine.pus.len() / machine.packages;
        let alike = machine.cores.iter().enumerate().all(|(index, core)| {
            core.pus.len() == threads && package > 0 && core.package == index * threads / package
        });
        let whole = package * machine.packages == machine.pus.len();
        (alike && whole && threads > 0).then_some(Self { machine, threads, package })
    }

    /// The number of hardware threads of a core.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    pub(super) fn pus(&self) -> usize {
        self.machine.pus.len()
    }

    /// What srun binds to without `--cpu-bind`, if the number of CPUs asked for is that of a unit.
    pub(super) fn unit_for(&self, cpus: usize) -> Option<Unit> {
        [
            (self.machine.packages, Unit::Package),
            (self.machine.cores.len(), Unit::Core),
            (self.pus(), Unit::Thread),
        ]
        .into_iter()
        .find_map(|(count, unit)| (count == cpus).then_some(unit))
    }

    /// The PUs of each task; `step` is 1, or the threads of a core if a task gets one PU of a core.
    pub(super) fn places(
        &self,
        (tasks, cpus): (usize, usize),
        unit: Unit,
        order: Order,
        step: usize,
    ) -> Vec<PuSet> {
        let (areas, size) = match order {
            Order::Cyclic => (self.machine.packages, self.package),
            Order::Block => (1, self.pus()),
        };
        // With cores as unit, what a task leaves of its last core stays unused.
        let unused = match unit {
            Unit::Core if cpus < self.threads => self.threads - cpus,
            Unit::Core => cpus % self.threads,
            _ => 0,
        };
        let mut used = vec![0; areas];
        let mut area = 0;
        let mut places = Vec::with_capacity(tasks);
        for _ in 0..tasks {
            let mut positions = Vec::with_capacity(cpus);
            for _ in 0..cpus {
                let free =
                    (0..areas).map(|next| (area + next) % areas).find(|area| used[*area] < size);
                if let Some(free) = free {
                    area = free;
                } else {
                    // All is used: begin again.
                    used.fill(0);
                }
                positions.push(area * size + used[area]);
                used[area] += step;
            }
            used[area] += unused;
            area = (area + 1) % areas;
            places.push(self.expanded(&positions, unit));
        }
        places
    }

    fn expanded(&self, positions: &[usize], unit: Unit) -> PuSet {
        let size = match unit {
            Unit::Package => self.package,
            Unit::Core => self.threads,
            Unit::Thread => 1,
        };
        let starts = positions.iter().map(|position| position / size * size);
        let pus = starts.flat_map(|start| self.machine.pus.iter().skip(start).take(size));
        pus.map(|pu| pu.id).collect()
    }
}
