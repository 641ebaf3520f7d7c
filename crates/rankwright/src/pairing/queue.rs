//! Which waiting job of a batch queue to start next, and beside which one.
//!
//! A job that runs on a part of the cores of its nodes has room for another beside it; two waiting jobs
//! can start together. Who goes with whom is found as for any jobs ([`pair`]), but two running jobs
//! cannot be brought together any more, and a job that waits must fit into the room there is.

use std::collections::BTreeMap;

use super::matching::shared;
use super::{Compatibility, JobSet, PairOptions, Pairing, described, pair};

/// A job that waits or runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedJob {
    /// Its number in the batch system.
    pub id: String,
    /// Its name there: that of its program ([`kind_of`]).
    pub name: String,
    /// Whose it is; empty if unknown.
    pub user: String,
    /// Where it runs; empty while it waits.
    pub hosts: Vec<String>,
    /// The number of nodes that it has or wants, from 1.
    pub nodes: u32,
    /// The number of CPUs that it has or wants on all of them.
    pub cpus: u32,
    /// Beside whom it may run.
    pub sharing: NodeSharing,
    /// It holds CPUs and does not run: it is ending, suspended or stopped. Nothing starts beside it.
    pub is_held: bool,
    /// What it waits for, while it waits.
    pub waits_for: WaitsFor,
}

/// What a job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// CPUs, or what the queue does not tell.
    Cpus,
    /// Its owner, who holds it.
    Owner,
    /// An administrator, who holds it.
    Administrator,
    /// Other jobs, on which it depends.
    OtherJobs,
    /// CPUs for several tasks: it stands for all waiting tasks of an array.
    CpusOfTasks,
}

/// Beside whom a job may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeSharing {
    /// Beside any job.
    Any,
    /// Beside jobs of the same user (`--exclusive=user`).
    SameUser,
    /// Beside none (`--exclusive`).
    Never,
}

impl QueuedJob {
    /// Whether it runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// The CPUs that it has or wants on each node, if its nodes have equally many (rounded up): queues
    /// tell only their sum.
    #[must_use]
    pub fn cpus_per_node(&self) -> u32 {
        self.cpus.div_ceil(self.nodes.max(1))
    }

    fn may_meet(&self, other: &Self) -> bool {
        let either = |sharing| self.sharing == sharing || other.sharing == sharing;
        match () {
            () if either(NodeSharing::Never) => false,
            () if either(NodeSharing::SameUser) => self.user == other.user,
            () => true,
        }
    }
}

/// What to start.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The best first.
    pub starts: Vec<Start>,
    /// The jobs in no start, in the order of the queue, and why.
    pub left: Vec<(usize, Why)>,
    /// By how much the run times of all jobs in starts are shorter than alone on whole nodes: the mean of
    /// their shares.
    pub gain: f64,
}

/// A waiting job to start beside another. Jobs by their place in the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The waiting job.
    pub job: usize,
    /// The other one, which runs or waits, too.
    pub beside: usize,
    /// Where to start it: as many nodes of the other one as it wants; empty if both wait.
    pub hosts: Vec<String>,
    /// The run time of the job and of the other one in percent of that alone on whole nodes.
    pub percent: (f64, f64),
    /// How well they go together.
    pub compatibility: Compatibility,
}

impl Start {
    /// By how much the run times of both are shorter than alone on whole nodes: the mean of both shares.
    #[must_use]
    pub fn gain(&self) -> f64 {
        1.0 - (self.percent.0 + self.percent.1) / 200.0
    }
}

/// Why a job is in no start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Nothing is known of a program of its name.
    Unknown,
    /// It stands for several tasks of an array: one update would be for all of them.
    Array,
    /// It depends on other jobs: another dependency would replace that.
    Depends,
    /// An administrator holds it.
    HeldByAdministrator,
    /// It must not share its nodes.
    WholeNodes,
    /// It takes all CPUs of its nodes, or already has a neighbour there.
    Full,
    /// It fits beside none that may meet it, or none waits that fits beside it.
    NoRoom,
    /// Beside each one that it could run with, it or the other would lose.
    Hinders,
    /// Those that it could run with are better off with others.
    LeftOver,
    /// Other jobs come first in the queue: of those that wait, and of those that run with room beside
    /// them, [`MOST_CONSIDERED`] each are considered.
    Later,
}

/// How many waiting jobs are considered, and how many running ones: the first of the queue.
pub const MOST_CONSIDERED: usize = 250;

/// The job of a [`JobSet`] that a name in the queue means: that of the same name, else the longest name
/// that it begins with, followed by `-`, `_` or `.` (`cg-large` is a `cg`).
#[must_use]
pub fn kind_of(name: &str, jobs: &JobSet) -> Option<usize> {
    let means = |known: &str| {
        let rest = name.strip_prefix(known)?;
        (rest.is_empty() || rest.starts_with(['-', '_', '.'])).then_some(known.len())
    };
    let known = jobs.facts().iter().enumerate();
    known.filter_map(|(kind, job)| Some((means(&job.name)?, kind))).max().map(|(_, kind)| kind)
}

/// Finds what to start next, and beside which job. At most two jobs share a node.
///
/// `jobs` has what is known of each program, `cpus_per_node` is what the batch system counts as CPUs of
/// a node. The same queue and options give the same proposal.
#[must_use]
pub fn propose(
    jobs: &JobSet,
    queue: &[QueuedJob],
    cpus_per_node: u32,
    options: &PairOptions,
) -> Proposal {
    let room = Room::new(queue, cpus_per_node);
    let (candidates, mut left) = candidates(jobs, queue, &room);
    let job = |candidate: usize| &queue[candidates[candidate].0];
    let kinds: Vec<usize> = candidates.iter().map(|(_, kind)| *kind).collect();
    let ranks = (0..kinds.len()).map(|candidate| job(candidate).cpus_per_node());
    let mut set = jobs.chosen(&kinds).with_ranks(&ranks.collect::<Vec<_>>());
    for b in 0..kinds.len() {
        for a in 0..b {
            if !room.fit(job(a), job(b)) {
                set = set.apart(a, b);
            }
        }
    }
    let two = std::num::NonZeroUsize::new(2).expect("not zero");
    let options = &PairOptions { per_node: two, ..*options };
    let mut pairing = pair(&set, options);
    prefer_running(&mut pairing, &set, options, |candidate| job(candidate).runs());
    let mut starts: Vec<Start> = Vec::new();
    for group in &pairing.groups {
        let [a, b] = &group.members[..] else { continue };
        // The one that runs is the other one; of two that wait, the earlier one is.
        let (first, other) = if job(b.job).runs() { (a, b) } else { (b, a) };
        starts.push(Start {
            job: candidates[first.job].0,
            beside: candidates[other.job].0,
            hosts: room.hosts_for(job(first.job), job(other.job)),
            percent: (first.percent, other.percent),
            compatibility: group.compatibility,
        });
    }
    starts.sort_by(|a, b| b.gain().total_cmp(&a.gain()).then(a.job.cmp(&b.job)));
    for alone in &pairing.alone {
        let others = || (0..kinds.len()).filter(|other| other != alone);
        let meets = |other: usize| set.may_share(&[*alone, other]);
        let why = match () {
            () if !others().any(meets) => Why::NoRoom,
            () if !others().any(|other| shared(&set, options, *alone, other).is_some()) => {
                Why::Hinders
            }
            () => Why::LeftOver,
        };
        left.push((candidates[*alone].0, why));
    }
    left.sort_unstable_by_key(|(at, _)| *at);
    let sum: f64 = starts.iter().map(Start::gain).sum();
    let gain = if starts.is_empty() { 0.0 } else { sum / starts.len() as f64 };
    Proposal { starts, left, gain }
}

/// A job by its place in the queue, with its kind.
type Candidate = (usize, usize);

/// The jobs that may share nodes with others, and those that cannot, with the reason. Jobs that are held
/// are neither.
fn candidates(
    jobs: &JobSet,
    queue: &[QueuedJob],
    room: &Room,
) -> (Vec<Candidate>, Vec<(usize, Why)>) {
    let (mut candidates, mut left) = (Vec::new(), Vec::new());
    let mut considered = [0; 2];
    for (at, job) in queue.iter().enumerate().filter(|(_, job)| !job.is_held) {
        let count = &mut considered[usize::from(job.runs())];
        match (kind_of(&job.name, jobs), room.refusal(job)) {
            (None, _) => left.push((at, Why::Unknown)),
            (_, Some(why)) => left.push((at, why)),
            (Some(_), None) if *count == MOST_CONSIDERED => left.push((at, Why::Later)),
            (Some(kind), None) => {
                *count += 1;
                candidates.push((at, kind));
            }
        }
    }
    (candidates, left)
}

/// Of partners that are equal within the tolerance a running one is better: it has nodes already.
fn prefer_running(
    pairing: &mut Pairing,
    set: &JobSet,
    options: &PairOptions,
    runs: impl Fn(usize) -> bool,
) {
    for group in &mut pairing.groups {
        let members: Vec<usize> = group.members.iter().map(|member| member.job).collect();
        if members.iter().any(|job| runs(*job)) {
            continue;
        }
        let cost = set.cost(options, &members);
        // The cost of a speedup is negative.
        let limit = cost + options.tolerance * cost.abs();
        let equal = |job: usize, partner: usize| {
            shared(set, options, job, partner).filter(|cost| *cost <= limit)
        };
        let partners = pairing.alone.iter().copied().filter(|partner| runs(*partner));
        let better = partners.flat_map(|partner| members.iter().map(move |job| (*job, partner)));
        let better = better.filter_map(|(job, partner)| Some((equal(job, partner)?, job, partner)));
        let best = better.min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, job, partner)) = best else { continue };
        pairing.alone.retain(|alone| *alone != partner);
        pairing.alone.extend(members.into_iter().filter(|member| *member != job));
        let mut joined = [job, partner];
        joined.sort_unstable();
        *group = described(set, &joined);
    }
}

/// What is free on the nodes of running jobs.
struct Room<'a> {
    cpus_per_node: u32,
    /// By host: the CPUs in use, and the number of jobs.
    used: BTreeMap<&'a str, (u32, u32)>,
}

impl<'a> Room<'a> {
    fn new(queue: &'a [QueuedJob], cpus_per_node: u32) -> Self {
        let mut used: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for job in queue {
            for host in &job.hosts {
                let (cpus, jobs) = used.entry(host).or_default();
                *cpus = cpus.saturating_add(job.cpus_per_node());
                *jobs += 1;
            }
        }
        Self { cpus_per_node, used }
    }

    fn free(&self, host: &str) -> u32 {
        let used = self.used.get(host).map_or(0, |(cpus, _)| *cpus);
        self.cpus_per_node.saturating_sub(used)
    }

    /// The nodes of a running job on which it is alone and leaves this many CPUs.
    fn hosts_with(&self, job: &'a QueuedJob, cpus: u32) -> impl Iterator<Item = &'a String> {
        let is_alone = |host: &str| self.used.get(host).is_none_or(|(_, jobs)| *jobs <= 1);
        job.hosts.iter().filter(move |host| is_alone(host) && self.free(host) >= cpus.max(1))
    }

    /// Why a job can share with none, whoever waits or runs.
    fn refusal(&self, job: &QueuedJob) -> Option<Why> {
        let is_full = match job.runs() {
            true => self.hosts_with(job, 1).next().is_none(),
            false => job.cpus_per_node() >= self.cpus_per_node,
        };
        match job.waits_for {
            WaitsFor::CpusOfTasks if !job.runs() => return Some(Why::Array),
            WaitsFor::OtherJobs if !job.runs() => return Some(Why::Depends),
            WaitsFor::Administrator if !job.runs() => return Some(Why::HeldByAdministrator),
            _ => {}
        }
        match () {
            () if job.sharing == NodeSharing::Never => Some(Why::WholeNodes),
            () if is_full => Some(Why::Full),
            () => None,
        }
    }

    /// Whether two jobs can share nodes.
    fn fit(&self, a: &QueuedJob, b: &QueuedJob) -> bool {
        let is_possible = match (a.runs(), b.runs()) {
            (true, true) => false,
            (true, false) => self.hosts_with(a, b.cpus_per_node()).count() >= b.nodes as usize,
            (false, true) => self.hosts_with(b, a.cpus_per_node()).count() >= a.nodes as usize,
            (false, false) => {
                let wanted = [a, b].map(|job| u64::from(job.cpus_per_node()));
                wanted.iter().sum::<u64>() <= u64::from(self.cpus_per_node)
            }
        };
        is_possible && a.may_meet(b)
    }

    /// The nodes of the other job that a job is to start on; none if the other one waits.
    fn hosts_for(&self, job: &QueuedJob, other: &QueuedJob) -> Vec<String> {
        let hosts = self.hosts_with(other, job.cpus_per_node());
        hosts.take(job.nodes as usize).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JobFacts, Objective, Slowdowns};
    use super::*;

    const HALF: [f64; 3] = [75.0, 100.0, 75.0];
    const PRESSURE: [f64; 3] = [0.8, 0.0, 1.3];

    /// cg gains much, ep hinders none, ft hinders all.
    fn jobs() -> JobSet {
        let facts = ["cg", "ep", "ft"].map(JobFacts::named).to_vec();
        JobSet::new(facts, Slowdowns::from_pressures(&HALF, &PRESSURE))
    }

    /// A job of four CPUs on each of its nodes.
    fn job(name: &str, hosts: &[&str], nodes: u32) -> QueuedJob {
        QueuedJob {
            id: format!("{name}{nodes}"),
            name: name.to_owned(),
            user: "ann".to_owned(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            nodes,
            cpus: 4 * nodes,
            sharing: NodeSharing::Any,
            is_held: false,
            waits_for: WaitsFor::Cpus,
        }
    }

    fn proposed(queue: &[QueuedJob]) -> Proposal {
        propose(&jobs(), queue, 8, &PairOptions::default())
    }

    #[test]
    fn names_mean_the_program_that_they_begin_with() {
        let kind = |name: &str| kind_of(name, &jobs());
        assert_eq!(
            (kind("cg"), kind("cg-large"), kind("ep.2"), kind("ft_x")),
            (Some(0), Some(0), Some(1), Some(2))
        );
        assert_eq!((kind("cgx"), kind("CG"), kind("")), (None, None, None));
    }

    #[test]
    fn a_waiting_job_starts_beside_a_running_one_where_both_gain() {
        let queue = [job("ep", &[], 2), job("cg", &["n0", "n1", "n2"], 3)];
        let proposal = proposed(&queue);
        let [start] = &proposal.starts[..] else { panic!("{proposal:?}") };
        assert_eq!((start.job, start.beside), (0, 1));
        assert_eq!(start.hosts, ["n0", "n1"]);
        assert_eq!(start.percent, (100.0, 75.0));
        assert!((proposal.gain - 0.125).abs() < 1e-12);
    }

    #[test]
    fn jobs_that_hinder_each_other_stay_apart() {
        let proposal = proposed(&[job("ft", &[], 2), job("ft", &["n0", "n1"], 2)]);
        assert_eq!(proposal.starts, []);
        assert_eq!(proposal.left, [(0, Why::Hinders), (1, Why::Hinders)]);
        assert_eq!(proposal.gain, 0.0);
    }

    #[test]
    fn a_running_partner_is_preferred_to_an_equal_waiting_one() {
        let queue = [job("ep", &[], 1), job("cg", &[], 1), job("cg", &["n0"], 1)];
        let proposal = proposed(&queue);
        let [start] = &proposal.starts[..] else { panic!("{proposal:?}") };
        assert_eq!((start.job, start.beside), (0, 2));
        assert_eq!(proposal.left, [(1, Why::LeftOver)]);
        let options = PairOptions { objective: Objective::WeightedSpeedup, ..Default::default() };
        assert_eq!(propose(&jobs(), &queue, 8, &options).starts[0].beside, 2);
    }

    #[test]
    fn a_job_that_is_held_keeps_its_cpus_and_gets_no_neighbour() {
        let held = QueuedJob { is_held: true, ..job("ft", &["n0"], 1) };
        let proposal = proposed(&[job("ep", &[], 1), job("cg", &["n0"], 1), held.clone()]);
        assert_eq!(proposal.left, [(0, Why::NoRoom), (1, Why::Full)]);
        assert_eq!(proposed(&[job("ep", &[], 1), held]).left, [(0, Why::NoRoom)]);
    }

    #[test]
    fn jobs_that_no_update_may_change_are_left_out() {
        let waiting = |waits_for| QueuedJob { waits_for, ..job("ep", &[], 1) };
        let queue = [
            waiting(WaitsFor::CpusOfTasks),
            waiting(WaitsFor::OtherJobs),
            waiting(WaitsFor::Administrator),
            job("cg", &["n0"], 1),
        ];
        let left = proposed(&queue).left;
        let why: Vec<Why> = left.iter().map(|(_, why)| *why).collect();
        assert_eq!(why, [Why::Array, Why::Depends, Why::HeldByAdministrator, Why::NoRoom]);
        let [start] = &proposed(&[waiting(WaitsFor::Owner), queue[3].clone()]).starts[..] else {
            panic!("its owner may release it")
        };
        assert_eq!((start.job, start.beside), (0, 1));
    }

    #[test]
    fn of_a_long_queue_the_first_are_considered() {
        let count = MOST_CONSIDERED + 3;
        let mut queue = vec![job("ep", &[], 1); count];
        queue.push(job("cg", &["n0"], 1));
        let left = proposed(&queue).left;
        let later: Vec<usize> =
            left.iter().filter(|(_, why)| *why == Why::Later).map(|(at, _)| *at).collect();
        assert_eq!(later, [count - 3, count - 2, count - 1]);
        let wide = QueuedJob { cpus: u32::MAX - 1, ..job("ep", &[], 1) };
        let proposal = propose(&jobs(), &[wide.clone(), wide], u32::MAX, &PairOptions::default());
        assert_eq!(proposal.starts, []);
    }

    #[test]
    fn those_without_room_say_why() {
        let whole = QueuedJob { sharing: NodeSharing::Never, ..job("cg", &[], 1) };
        let wide = QueuedJob { cpus: 8, ..job("cg", &[], 1) };
        let other_user = QueuedJob { user: "bob".into(), ..job("ep", &[], 1) };
        let mine = QueuedJob { sharing: NodeSharing::SameUser, ..job("cg", &["n0"], 1) };
        let queue = [whole, wide, job("foo", &["n5"], 1), other_user, mine];
        let proposal = proposed(&queue);
        let why: Vec<Why> = proposal.left.iter().map(|(_, why)| *why).collect();
        assert_eq!(why, [Why::WholeNodes, Why::Full, Why::Unknown, Why::NoRoom, Why::NoRoom]);
        // Three nodes are wanted, two are there; and two jobs on a node are enough.
        let queue = [job("ep", &[], 3), job("cg", &["n0", "n1"], 2)];
        assert_eq!(proposed(&queue).left, [(0, Why::NoRoom), (1, Why::NoRoom)]);
        let narrow = |name| QueuedJob { cpus: 2, ..job(name, &["n0"], 1) };
        let proposal = proposed(&[narrow("cg"), narrow("ep"), job("ep", &[], 1)]);
        assert_eq!(proposal.left, [(0, Why::Full), (1, Why::Full), (2, Why::NoRoom)]);
    }
}
