//! Where should the ranks of a workload run? Writes placement.json and prints all strategies, the best
//! first, with the time that messages wait under each.

use std::io::Write;

use rankwright::ranking::Objective;
use rankwright::{Planner, cluster, traffic};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = cluster::open("paper:2013")?;
    let workload = traffic::open("pattern:halo-2d:16:rate=100,renumber")?;
    let plan = Planner::new(&cluster, &workload).objective(Objective::Waiting).plan()?;
    for position in plan.ranking.order() {
        let candidate = &plan.candidates[*position];
        let waiting = candidate.score.total_waiting();
        writeln!(std::io::stdout(), "{:.6} s  {}", waiting.0, candidate.strategy)?;
    }
    let file = plan.best().file(&cluster, &workload);
    file.write(&std::env::temp_dir().join("placement.json"))?;
    Ok(())
}
