//! The messages of collective operations against those that an MPI library counted
//! (`benchmarks/collectives`).

#![expect(clippy::print_stdout, reason = "what was compared, and what was skipped and why")]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use rankwright::ids::Rank;
use rankwright::traffic::collectives::Operation;
use rankwright::traffic::communicator::Communicator;
use rankwright::traffic::expansion::library::{Library, Settings};
use rankwright::traffic::expansion::schedule::{Amounts, Call, Group, Phase, Schedule, element};

/// (source, destination) -> bytes.
type Bytes = BTreeMap<(usize, usize), u64>;

/// What one run of `collectives.c` printed.
#[derive(Debug, Default)]
struct Measured {
    library: String,
    /// Of each rank.
    nodes: Vec<u32>,
    settings: Settings,
    cases: Vec<(String, Bytes)>,
}

fn read(text: &str) -> Measured {
    let mut measured = Measured::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("library") => line[8..].clone_into(&mut measured.library),
            Some("nodes") => measured.nodes = words.map(|word| word.parse().unwrap()).collect(),
            Some("setting") => {
                let (name, value) = line[8..].split_once('=').unwrap();
                measured.settings.insert(name.into(), value.into());
            }
            Some("case") => measured.cases.push((line[5..].to_owned(), Bytes::new())),
            Some(source) => {
                let number = |word: Option<&str>| word.unwrap().parse::<u64>().unwrap();
                let pair = (source.parse().unwrap(), number(words.next()) as usize);
                // What a rank sends to itself crosses no device.
                if pair.0 != pair.1 {
                    measured.cases.last_mut().unwrap().1.insert(pair, number(words.next()));
                }
            }
            None => {}
        }
    }
    measured
}

/// The amounts of a call of `collectives.c`.
struct Amount {
    /// Bytes before each member, and of all, for operations in which contributions differ.
    before: Vec<u64>,
    rows: Vec<Vec<u64>>,
}

impl Amounts for Amount {
    fn contributions(&self) -> &[u64] {
        &self.before
    }

    fn stated(&self, source: Rank, destination: Rank) -> &[u64] {
        let row = self.rows.get(source.index());
        row.map_or(&[], |row| std::slice::from_ref(&row[destination.index()]))
    }
}

fn amounts(operation: Operation, block: u64, ranks: usize) -> (Amount, u64) {
    use Operation as O;
    let all = 0..ranks;
    let of = |member: usize| block * (member % 3) as u64;
    let row = |f: &dyn Fn(usize, usize) -> u64| -> Vec<Vec<u64>> {
        all.clone().map(|from| all.clone().map(|to| f(from, to)).collect()).collect()
    };
    let rows = match operation {
        O::Gatherv => row(&|from, _| of(from)),
        O::Scatterv | O::ReduceScatter => row(&|_, to| of(to)),
        O::Alltoallv | O::Alltoallw => row(&|from, to| block * ((from + to) % 3) as u64),
        _ => Vec::new(),
    };
    let before = match operation {
        O::Allgatherv => (0..=ranks).map(|end| (0..end).map(of).sum()).collect(),
        _ => Vec::new(),
    };
    let whole = matches!(operation, O::Alltoall | O::Scatter | O::ReduceScatterBlock);
    let bytes = match operation {
        O::ReduceScatter => all.map(of).sum(),
        _ if whole => block * ranks as u64,
        _ => block,
    };
    (Amount { before, rows }, bytes)
}

/// Bytes of each pair, as sent, and as received; pairs with 0 bytes left out.
fn expanded(library: &Library, call: Call<'_>, group: &Group, ranks: usize) -> [Bytes; 2] {
    let (mut sent, mut received) = (Bytes::new(), Bytes::new());
    let mut phase = Phase::default();
    for me in 0..ranks {
        let mut schedule = Schedule::new(library, call, group, me);
        while schedule.next(&mut phase) {
            for message in &phase.sends {
                *sent.entry((me, message.peer)).or_default() += message.bytes;
            }
            for message in &phase.receives {
                *received.entry((message.peer, me)).or_default() += message.bytes;
            }
        }
    }
    [sent, received].map(|mut bytes| {
        bytes.retain(|_, bytes| *bytes > 0);
        bytes
    })
}

/// Compares all cases. Returns the number that match, and what is wrong with the others.
fn compare(measured: &Measured) -> (usize, String) {
    let ranks = measured.nodes.len();
    let members = (0..ranks).map(|rank| Some(Rank::from_index(rank))).collect();
    let group = Group::new(&Communicator { members, ..Communicator::default() });
    let group = group.on(&|rank| measured.nodes[rank.index()]);
    let mut settings = measured.settings.clone();
    let mut libraries: HashMap<Settings, Library> = HashMap::new();
    let (mut same, mut wrong) = (0, String::new());
    for (case, bytes) in &measured.cases {
        let mut words = case.split_whitespace();
        let name = words.next().unwrap();
        let block = words.next().unwrap().parse().unwrap();
        for setting in words {
            let (name, value) = setting.split_once('=').unwrap();
            settings.insert(name.into(), value.into());
        }
        let library = libraries
            .entry(settings.clone())
            .or_insert_with(|| Library::new(&measured.library, &settings));
        let named = |o: &Operation| {
            o.name() == name
                || name.strip_prefix('I').is_some_and(|rest| o.name().eq_ignore_ascii_case(rest))
        };
        let operation = (0..).map_while(Operation::from_number).find(named);
        let nonblocking = name.starts_with('I');
        let operation = operation.unwrap_or_else(|| panic!("{name}"));
        let (amount, buffer) = amounts(operation, block, ranks);
        let call = Call {
            operation,
            root: Some(1),
            bytes: buffer,
            element: element(block),
            nonblocking,
            amounts: &amount,
        };
        let [sent, received] = expanded(library, call, &group, ranks);
        if sent == received && &sent == bytes {
            same += 1;
            continue;
        }
        let differs = |pair: &(usize, usize)| sent.get(pair) != bytes.get(pair);
        let pair = sent.keys().chain(bytes.keys()).find(|pair| differs(pair));
        let (ours, theirs) = pair.map_or((None, None), |p| (sent.get(p), bytes.get(p)));
        let received = if sent == received { "" } else { ", and received otherwise" };
        let _ = writeln!(
            wrong,
            "{ranks} ranks, {case}: {pair:?} ours {ours:?}, the library's {theirs:?}{received}"
        );
    }
    (same, wrong)
}

#[test]
#[ignore = "needs what benchmarks/collectives/run measured"]
fn bytes_of_each_pair_are_those_measured() {
    let folder = std::env::var("RANKWRIGHT_COLLECTIVES").expect("the folder with measured bytes");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut failed = false;
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "txt")) {
        let measured = read(&std::fs::read_to_string(file).unwrap());
        let (same, wrong) = compare(&measured);
        println!("{}: {same} of {} cases", file.display(), measured.cases.len());
        print!("{wrong}");
        failed |= !wrong.is_empty();
    }
    assert!(!failed, "some differ");
}

/// Forced algorithms of each operation, and some fixed decisions.
const SAMPLE: &str = "\
Bcast 10000 coll_tuned_bcast_algorithm=4 coll_tuned_bcast_algorithm_segmentsize=1024
Bcast 10000 coll_tuned_bcast_algorithm=7
Bcast 10000 coll_tuned_bcast_algorithm=8
Reduce 10000 coll_tuned_reduce_algorithm=6 coll_tuned_reduce_algorithm_segmentsize=1024
Reduce 10000 coll_tuned_reduce_algorithm=7
Allreduce 10000 coll_tuned_allreduce_algorithm=5 coll_tuned_allreduce_algorithm_segmentsize=1024
Allreduce 10000 coll_tuned_allreduce_algorithm=6
Allgather 500 coll_tuned_allgather_algorithm=2
Alltoall 500 coll_tuned_alltoall_algorithm=3
Gather 500 coll_tuned_gather_algorithm=2
Scatter 500 coll_tuned_scatter_algorithm=2
Reduce_scatter 500 coll_tuned_reduce_scatter_algorithm=4
Reduce_scatter_block 500 coll_tuned_reduce_scatter_block_algorithm=2
Allgatherv 4096
Alltoallv 40
Scan 40
";

#[test]
fn a_sample_is_as_open_mpi_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("collectives");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/collectives/collectives.c");
    let built = Command::new("mpicc.openmpi")
        .args(["-O1", "-rdynamic", "-o"])
        .args([&program, Path::new(source)])
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        println!("SKIPPED: Open MPI is not installed (mpicc.openmpi)");
        return;
    }
    let cases = folder.path().join("cases");
    std::fs::write(&cases, SAMPLE).unwrap();
    for ranks in ["4", "5"] {
        let dynamic = "coll_tuned_use_dynamic_rules";
        let run = Command::new("timeout")
            .args(["60", "mpirun.openmpi", "--oversubscribe", "-np", ranks])
            .args(["--mca", "pml", "^ucx,cm,v", "--mca", "osc", "^ucx", "--mca", "btl", "^tcp"])
            .args(["--mca", "mpi_yield_when_idle", "1", "--mca", "pml_monitoring_enable", "1"])
            .args(["--mca", dynamic, "1"])
            .args([&program, &cases])
            .arg(format!("{dynamic}=1"))
            .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
        let measured = read(&text);
        if Library::new(&measured.library, &Settings::new()).estimated().is_some() {
            println!("SKIPPED: mpirun.openmpi is {}", measured.library);
            return;
        }
        let (same, wrong) = compare(&measured);
        assert_eq!((same, wrong.as_str()), (SAMPLE.lines().count(), ""));
    }
}
