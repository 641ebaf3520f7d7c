//! A script that starts one MPI job as several components of `srun` (`srun .. : ..`). Each
//! component has its hosts and binding, and no hostfile is used.

use super::cpu_bind::CpuBind;
use crate::cluster::hostlist;
use crate::files::InputError;
use crate::launch::launchers::craympich::block_counts;
use crate::launch::shell;
use crate::lint::{Arguments, MOST_RANKS, Reading, Source, program_of};
use crate::units::counted;

const EXPECTED: &str = "a line like `srun -n 2 -w n1 --cpu-bind=map_cpu:1,0 ./a : -n 2 -w n0 ..`";

/// Reads the line of the script that calls `srun`.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    let mut reading = Reading::default();
    let lines = (1..).zip(source.text.lines());
    let mut calls = lines.filter(|(_, text)| {
        let mut words = text.split_whitespace();
        words.find(|word| *word != "exec" && !word.contains('=')).is_some_and(is_srun)
    });
    let (number, text) = calls.next().ok_or_else(|| source.wrong(None, "no srun", EXPECTED))?;
    if let Some((again, text)) = calls.next() {
        return Err(source.wrong(Some(again), text.trim(), "one srun in the script"));
    }
    let wrong = |text: &str| source.wrong(Some(number), text, EXPECTED);
    let words = shell::split(text).map_err(|open| wrong(&format!("a {open}")))?;
    let words: Vec<String> = words.into_iter().skip_while(|word| !is_srun(word)).skip(1).collect();
    for component in words.split(|word| word == ":") {
        let arguments = Arguments::new(component);
        let Some(list) = arguments.value(&["-w", "--nodelist"]) else {
            let advice = "if srun reads its hosts from SLURM_HOSTFILE, lint that file instead";
            return Err(wrong("a component without -w").with_advice(advice));
        };
        let hosts = hostlist::expand(list).map_err(|error| wrong(&error.found))?;
        let ranks = arguments.ranks().unwrap_or(hosts.len());
        if ranks + reading.ranks.len() > MOST_RANKS {
            return Err(wrong(&counted(ranks, "rank")));
        }
        let part = Source { arguments, ..*source };
        let bind = CpuBind::of_srun(&part, &mut reading).map_err(|error| wrong(&error.found))?;
        for (host, count) in hosts.iter().zip(block_counts(ranks, hosts.len())) {
            for local in 0..count {
                reading.add(reading.ranks.len(), host, bind.place(local), number);
            }
            bind.warn_if_short(host, count, &mut reading);
        }
    }
    Ok(reading)
}

fn is_srun(word: &str) -> bool {
    program_of(word) == "srun"
}
