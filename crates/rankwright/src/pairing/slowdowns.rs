//! The table of what jobs lose or gain beside each other.

/// The run time of each job beside each other one, in percent of its run time alone on whole nodes with
/// as many ranks (Table III of the paper).
#[derive(Debug, Clone, PartialEq)]
pub struct Slowdowns {
    count: usize,
    /// Row: background job; column: measured job.
    percent: Vec<f64>,
}

impl Slowdowns {
    /// A table of `count` jobs, by rows: a row per background job, a column per measured job.
    ///
    /// # Panics
    /// If the number of cells is not the square of `count`.
    #[must_use]
    pub fn new(count: usize, percent: Vec<f64>) -> Self {
        assert_eq!(percent.len(), count * count, "a square table");
        Self { count, percent }
    }

    /// The table that follows from two numbers per job: `half`, its run time alone on half of the cores
    /// of twice as many nodes, in percent of that on whole nodes; and `pressure`, the share of that gain
    /// which its neighbours lose by it, 0 for none.
    #[must_use]
    pub fn from_pressures(half: &[f64], pressure: &[f64]) -> Self {
        let cells = pressure.iter().flat_map(|x| half.iter().map(move |h| h + (100.0 - h) * x));
        Self::new(half.len(), cells.collect())
    }

    /// The pressure of each job that fits the table best, by least squares, where `half` is as in
    /// [`Slowdowns::from_pressures`]. 0 where no job has anything to lose.
    #[must_use]
    pub fn pressures(&self, half: &[f64]) -> Vec<f64> {
        let squares: f64 = half.iter().map(|h| (100.0 - h).powi(2)).sum();
        let pressure = |row: &[f64]| {
            let product: f64 =
                row.iter().zip(half).map(|(percent, h)| (percent - h) * (100.0 - h)).sum();
            if squares > 0.0 { product / squares } else { 0.0 }
        };
        self.percent.chunks(self.count.max(1)).map(pressure).collect()
    }

    /// The number of jobs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The run time of `measured` beside `background`.
    #[must_use]
    pub fn percent(&self, background: usize, measured: usize) -> f64 {
        self.percent[background * self.count + measured]
    }

    /// The best that a job can reach by sharing, as far as the table shows: beside its best neighbour.
    pub(super) fn best_of(&self, measured: usize) -> f64 {
        (0..self.count).map(|row| self.percent(row, measured)).fold(100.0, f64::min)
    }
}
