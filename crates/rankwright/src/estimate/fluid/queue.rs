//! A first-in first-out server whose messages are a fluid.

/// A server on its way through a run. It distinguishes kinds of messages; the amount of a kind that
/// arrived or left is counted in seconds for which its clocks tick.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    /// The backlog, waiting or in service: seconds of service.
    pub(super) backlog: f64,
    /// At the end of each step: seconds of service. Index: step.
    pub(super) backlogs: Vec<f64>,
    /// The work that arrived: seconds of service. Index: step.
    work: Vec<f64>,
    /// The arrivals: seconds of clocks. Index: (step × streams + stream) × padded kinds + kind.
    arrived: Vec<f64>,
    /// The step whose arrivals are being served.
    head: usize,
    /// The part of the head step's work that is done: seconds of service.
    done: f64,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stepped {
    /// The work that arrived: seconds of service.
    pub(super) work: f64,
    /// The backlog that an arrival met, on average over the step: seconds of service.
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

    /// Takes in `arrivals` of each stream and kind, evenly over `time` seconds, with `work` per unit
    /// of each. Returns how much of each leaves.
    ///
    /// If there are three streams, what is served of the first arrives again as the second, whose
    /// arrivals are set here.
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
        // The share s of this step's arrivals that is served in it solves
        // s (work that arrives + s work that arrives again) = open.
        let mut back = 0.0;
        if STREAMS == 3 {
            arrivals[1] = left[0];
            back = product(&arrivals[0], &work[1]);
        }
        let arriving = product(arrivals.as_flattened(), work.as_flattened());
        let share = if open <= 0.0 {
            0.0
        } else if arriving + back <= open {
            1.0
        } else if back > 0.0 {
            ((arriving * arriving + 4.0 * back * open).sqrt() - arriving) / (2.0 * back)
        } else {
            open / arriving
        };
        if share > 0.0 {
            if STREAMS == 3 {
                let (first, rest) = arrivals.split_at_mut(1);
                add(&mut rest[0], share, &first[0]);
            }
            add(left.as_flattened_mut(), share, arrivals.as_flattened());
        }
        let arriving = arriving + share * back;
        self.work.push(arriving);
        self.arrived.extend_from_slice(arrivals.as_flattened());
        if share == 1.0 || (arriving == 0.0 && self.head == step) {
            self.head = step + 1;
            self.done = 0.0;
            self.backlog = 0.0;
        } else {
            if self.head == step {
                self.done = share * arriving;
            }
            self.backlog = (before + arriving - time).max(0.0);
        }
        self.backlogs.push(self.backlog);
        let met = if self.backlog > 0.0 {
            0.5 * (before + self.backlog)
        } else if before > 0.0 {
            // The queue is empty after this share of the step.
            0.5 * before * (before / (time - arriving)).min(1.0)
        } else {
            0.0
        };
        (Stepped { work: arriving, met }, left)
    }

    /// Serves what arrived in earlier steps, for at most `time` seconds, and adds to `left` what
    /// leaves. Returns the seconds that remain.
    fn serve(&mut self, time: f64, left: &mut [f64]) -> f64 {
        let (mut open, kinds) = (time, left.len());
        while self.head < self.work.len() && open > 0.0 {
            let rest = self.work[self.head] - self.done;
            let taken = rest.min(open);
            if rest > 0.0 {
                let share = taken / self.work[self.head];
                add(left, share, &self.arrived[self.head * kinds..][..kinds]);
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

// By index: in unoptimised test programs an iterator costs several calls for each number.

/// Adds a multiple of `values` to `sums`, which are as many.
fn add(sums: &mut [f64], factor: f64, values: &[f64]) {
    let values = &values[..sums.len()];
    let mut at = 0;
    while at < sums.len() {
        sums[at] += factor * values[at];
        at += 1;
    }
}

/// The dot product of as many numbers, in four sums side by side, so that no addition waits for the
/// one before.
pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let (b, b_rest) = (&b[..a.len()], &b_rest[..a_rest.len()]);
    let mut sums = [0.0; 4];
    let mut at = 0;
    while at < a.len() {
        let (a, b) = (&a[at], &b[at]);
        sums[0] += a[0] * b[0];
        sums[1] += a[1] * b[1];
        sums[2] += a[2] * b[2];
        sums[3] += a[3] * b[3];
        at += 1;
    }
    let (mut rest, mut at) = (0.0, 0);
    while at < a_rest.len() {
        rest += a_rest[at] * b_rest[at];
        at += 1;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
