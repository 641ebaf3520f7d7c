//! How long a mode keeps which machines busy.

/// Seconds in each direction: what goes out and what comes in.
pub(in super::super) type Directions = [f64; 2];

/// One way to process a task.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Mode {
    /// Ascending by machine.
    pub(super) uses: Vec<MachineUse>,
    /// The sum over ranks of the mean distance of their devices, 0 beside them; it breaks ties.
    pub(in super::super) distance: f64,
}

/// What a mode needs of a machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct MachineUse {
    pub(super) machine: usize,
    /// How long it keeps the machine busy.
    pub(super) times: Directions,
    /// How many contexts it takes: one for each rank.
    pub(super) contexts: u32,
}

impl Mode {
    /// Adds what one rank needs of a machine.
    pub(in super::super) fn add(&mut self, machine: usize, times: Directions) {
        match self.uses.binary_search_by_key(&machine, |other| other.machine) {
            Ok(index) => {
                let MachineUse { times: sum, contexts, .. } = &mut self.uses[index];
                *sum = [sum[0] + times[0], sum[1] + times[1]];
                *contexts += 1;
            }
            Err(index) => self.uses.insert(index, MachineUse { machine, times, contexts: 1 }),
        }
    }

    /// How many contexts it takes of machines that have a limit.
    pub(super) fn limited_contexts(&self, capacities: &[Option<u32>]) -> u64 {
        let limited = self.uses.iter().filter(|used| capacities[used.machine].is_some());
        limited.map(|used| u64::from(used.contexts)).sum()
    }

    /// The longest time of a machine and direction.
    pub(super) fn longest(&self) -> f64 {
        self.uses.iter().fold(0.0, |most, used| most.max(used.times[0]).max(used.times[1]))
    }
}
