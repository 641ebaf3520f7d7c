//! A first-in first-out server whose messages are a fluid.

/// A server on its way through a run. It tells kinds of messages apart; how much of a kind came or
/// left is counted in seconds of its clock.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    /// Seconds of service of what waits or is served.
    pub(super) backlog: f64,
    /// The backlog at the end of each step.
    pub(super) backlogs: Vec<f64>,
    /// What came in each step: seconds of service.
    work: Vec<f64>,
    /// And how much of each kind.
    arrived: Vec<f64>,
    /// The step whose arrivals are now served, and how much of their work is done.
    head: usize,
    done: f64,
}

/// What a step of a queue did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stepped {
    /// Seconds of service that came.
    pub(super) work: f64,
    /// The backlog that an arrival met, on average over the step.
    pub(super) met: f64,
}

impl Queue {
    pub(super) fn clear(&mut self) {
        self.backlog = 0.0;
        self.head = 0;
        self.done = 0.0;
        self.backlogs.clear();
        self.work.clear();
        self.arrived.clear();
    }

    /// Takes in `arrivals` of each stream and kind, evenly over `time`, with `work` per unit of
    /// each, and says how much of each leaves.
    ///
    /// Of three streams the first comes back once served, as the second, whose arrivals are set
    /// here.
    pub(super) fn step<const STREAMS: usize, const KINDS: usize>(
        &mut self,
        time: f64,
        arrivals: &mut [[f64; KINDS]; STREAMS],
        work: &[[f64; KINDS]; STREAMS],
    ) -> (Stepped, [[f64; KINDS]; STREAMS]) {
        let before = self.backlog;
        let step = self.work.len();
        let mut left = [[0.0; KINDS]; STREAMS];
        let open = self.serve(time, left.as_flattened_mut());
        // What of this step's own arrivals is served in it: the share s with
        // s (work that comes + s work that comes back) = open.
        let mut back = 0.0;
        if STREAMS == 3 {
            arrivals[1] = left[0];
            back = product(&arrivals[0], &work[1]);
        }
        let come = product(arrivals.as_flattened(), work.as_flattened());
        let share = if open <= 0.0 {
            0.0
        } else if come + back <= open {
            1.0
        } else if back > 0.0 {
            ((come * come + 4.0 * back * open).sqrt() - come) / (2.0 * back)
        } else {
            open / come
        };
        if share > 0.0 {
            if STREAMS == 3 {
                let (first, rest) = arrivals.split_at_mut(1);
                for (rest, first) in rest[0].iter_mut().zip(&first[0]) {
                    *rest += share * first;
                }
            }
            let arrived = arrivals.as_flattened();
            for (left, arrived) in left.as_flattened_mut().iter_mut().zip(arrived) {
                *left += share * arrived;
            }
        }
        let come = come + share * back;
        self.work.push(come);
        self.arrived.extend_from_slice(arrivals.as_flattened());
        if share == 1.0 || (come == 0.0 && self.head == step) {
            self.head = step + 1;
            self.done = 0.0;
            self.backlog = 0.0;
        } else {
            if self.head == step {
                self.done = share * come;
            }
            self.backlog = (before + come - time).max(0.0);
        }
        self.backlogs.push(self.backlog);
        let met = if self.backlog > 0.0 {
            0.5 * (before + self.backlog)
        } else if before > 0.0 {
            // It is empty after this share of the step.
            0.5 * before * (before / (time - come)).min(1.0)
        } else {
            0.0
        };
        (Stepped { work: come, met }, left)
    }

    /// Serves what came in steps before, for at most `time`, and adds to `left` what leaves; the
    /// time that is over.
    fn serve(&mut self, time: f64, left: &mut [f64]) -> f64 {
        let (mut open, kinds) = (time, left.len());
        while self.head < self.work.len() && open > 0.0 {
            let rest = self.work[self.head] - self.done;
            let taken = rest.min(open);
            if rest > 0.0 {
                let share = taken / self.work[self.head];
                let row = &self.arrived[self.head * kinds..][..kinds];
                for (left, arrived) in left.iter_mut().zip(row) {
                    *left += share * arrived;
                }
            }
            if open < rest {
                self.done += open;
                return 0.0;
            }
            open -= rest;
            self.head += 1;
            self.done = 0.0;
        }
        open
    }
}

/// The sum of products. Four sums side by side, so that no addition waits for the one before.
pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
