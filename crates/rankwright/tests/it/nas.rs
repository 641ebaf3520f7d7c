//! The models of the NAS Parallel Benchmarks against what the real programs sent
//! (`benchmarks/nas/compare` measures it).

use std::collections::BTreeMap;

use rankwright::traffic::Job;
use rankwright::traffic::generate::nas::{self, Class, NasJob};

/// What `compare` calls the columns behind the case.
#[derive(Debug, PartialEq)]
struct Totals {
    pairs: u128,
    messages: u128,
    bytes: u128,
    rows: u128,
    columns: u128,
    hash: String,
}

impl Totals {
    fn of(job: &Job) -> Self {
        let sum = |amount: &dyn Fn(u128, u128, u128) -> u128| {
            let flow = |flow: &rankwright::traffic::Flow| {
                let ranks = (flow.source.0, flow.destination.0);
                amount(u128::from(ranks.0) + 1, u128::from(ranks.1) + 1, u128::from(flow.bytes))
            };
            job.flows.iter().map(flow).sum::<u128>()
        };
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for flow in &job.flows {
            let line =
                format!("{},{},{},{}\n", flow.source, flow.destination, flow.messages, flow.bytes);
            for byte in line.bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        Self {
            pairs: job.flows.len() as u128,
            messages: job.flows.iter().map(|flow| u128::from(flow.messages)).sum(),
            bytes: sum(&|_, _, bytes| bytes),
            rows: sum(&|source, _, bytes| source * bytes),
            columns: sum(&|_, destination, bytes| destination * bytes),
            hash: format!("{hash:016x}"),
        }
    }

    fn read(cells: &[&str]) -> Self {
        let number = |index: usize| cells[index].parse().unwrap();
        Self {
            pairs: number(0),
            messages: number(1),
            bytes: number(2),
            rows: number(3),
            columns: number(4),
            hash: cells[5].to_owned(),
        }
    }

    /// IS replaces two keys in each iteration; its model has the same in all.
    fn nearly(&self, other: &Self) -> bool {
        let near = |a: u128, b: u128| a.abs_diff(b) as f64 <= 1e-4 * b as f64;
        (self.pairs, self.messages) == (other.pairs, other.messages)
            && near(self.bytes, other.bytes)
            && near(self.rows, other.rows)
            && near(self.columns, other.columns)
    }
}

fn testdata(name: &str) -> String {
    let path = format!("{}/../../testdata/nas/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The run of a line `benchmark,class,ranks,iterations,...`; 0 iterations are those of the class.
fn run(cells: &[&str]) -> NasJob {
    let mut run = nas::parse(&cells[..3].join(".")).unwrap();
    run.iterations = Some(cells[3].parse().unwrap()).filter(|iterations| *iterations > 0);
    run
}

#[test]
fn models_send_what_the_programs_sent() {
    let measured = testdata("measured.csv");
    let mut compared = 0;
    for line in measured.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let run = run(&cells);
        let sorts = cells[0] == "IS";
        if sorts && !matches!(run.class, Class::S | Class::W) {
            // Its keys are made one by one, which is too slow without optimisation.
            continue;
        }
        let (model, measured) = (Totals::of(&run.job().unwrap()), Totals::read(&cells[4..]));
        assert!(model == measured || sorts && model.nearly(&measured), "{line}: {model:?}");
        compared += 1;
    }
    assert!(compared > 200, "{compared} runs");
}

#[test]
fn every_pair_sends_what_it_sent() {
    for name in ["bt.A.16", "cg.A.32", "ft.A.8", "is.A.16", "lu.A.25", "mg.A.32", "sp.A.16"] {
        let text = testdata(&format!("{name}.csv"));
        let mut lines = text.lines();
        let iterations = lines.next().and_then(|line| line.strip_prefix("# iterations ")).unwrap();
        let mut run = nas::parse(name).unwrap();
        run.iterations = Some(iterations.parse().unwrap());
        let job = run.job().unwrap();
        let model: BTreeMap<(u32, u32), (u64, u64)> = job
            .flows
            .iter()
            .map(|flow| ((flow.source.0, flow.destination.0), (flow.messages, flow.bytes)))
            .collect();
        let mut pairs = 0;
        for line in lines.skip(1) {
            let cells: Vec<u64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            let (messages, bytes) = model[&(cells[0] as u32, cells[1] as u32)];
            let worst = if name.starts_with("is") { 1e-3 * cells[3] as f64 } else { 0.0 };
            assert_eq!(messages, cells[2], "{name}: {line}");
            assert!(bytes.abs_diff(cells[3]) as f64 <= worst, "{name}: {line}: {bytes}");
            pairs += 1;
        }
        assert_eq!(pairs, model.len(), "{name}");
    }
}
