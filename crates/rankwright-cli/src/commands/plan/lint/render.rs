//! A reading as text.

use rankwright::report::to_json;
use std::collections::BTreeMap;
use std::path::Path;

use rankwright::ids::{CoreId, format_index_list};
use rankwright::lint::{HostReading, LintWarning, RankReading, Reading};
use rankwright::units::counted;
use serde_json::{Value, json};

use crate::options::Format;
use crate::output::{self, Verbosity, warn};

/// The number of warnings of one code that are printed one by one.
const MOST_OF_A_CODE: usize = 10;

/// The most ranks or hosts that a table has without `--verbose`.
const ROWS_SHOWN: usize = 64;

/// The ranks and the hosts, in a table below the [`summary`]; in JSON also all warnings and the translation, if any. Long tables are cut unless
/// `verbose`.
pub(super) fn reading(
    reading: &Reading,
    format: Format,
    verbose: bool,
    translation: Option<Value>,
) -> anyhow::Result<String> {
    Ok(match format {
        Format::Table => {
            let mut header = vec!["rank", "host", "cores (L#)", "PUs (P#)"];
            if has_devices(reading) {
                header.extend(["GPUs", "NICs", "memory (P#)"]);
            }
            if has_programs(reading) {
                header.push("program");
            }
            let mut text = "\n".to_owned();
            let most = if verbose { usize::MAX } else { ROWS_SHOWN };
            text += &beginning(&header, rows(reading), most, "more rank");
            text += "\n";
            let rows: Vec<Vec<String>> = reading.hosts.iter().map(host_row).collect();
            let header = ["host", "ranks", "cores", "unused cores"];
            text + &beginning(&header, rows, most, "more host")
        }
        Format::Csv => {
            let rows: Vec<Vec<String>> = reading.ranks.iter().map(csv_row).collect();
            output::csv(&CSV_COLUMNS, &rows)
        }
        Format::Json => {
            let mut json = json!({
                "ranks": reading.ranks.iter().map(rank_json).collect::<Vec<_>>(),
                "hosts": reading.hosts.iter().map(host_json).collect::<Vec<_>>(),
                "notes": reading.notes,
                "starts": reading.starts(),
                "warnings": reading.warnings.iter().map(warning_json).collect::<Vec<_>>(),
            });
            if let Some(translation) = translation {
                json["launch"] = translation;
            }
            to_json(&json)
        }
    })
}

/// A table of the first rows, and how many are left out.
fn beginning(header: &[&str], mut rows: Vec<Vec<String>>, most: usize, noun: &str) -> String {
    let more = rows.len().saturating_sub(most);
    rows.truncate(most);
    let more = match more {
        0 => String::new(),
        more => format!("and {} (-v: all)\n", counted(more, noun)),
    };
    output::table(header, &rows) + &more
}

/// Whether the ranks are where the file seems to say, in a line.
pub(super) fn summary(reading: &Reading) -> String {
    let ranks = counted(reading.ranks.len(), "rank");
    let hosts = counted(reading.hosts.len(), "host");
    let unbound = reading.ranks.iter().filter(|rank| !rank.bound).count();
    let bound = match unbound {
        0 => String::new(),
        some => format!(", {some} not bound"),
    };
    let verdict = match (reading.starts(), reading.warnings.len()) {
        (false, _) => "the launcher refuses the file".to_owned(),
        (true, 0) if nothing_known(reading) => {
            // Where the cluster is known, a note says why.
            let described = reading.hosts.iter().any(|host| host.cores.is_some());
            let hint = if described { "" } else { " (--on names the cluster)" };
            format!("no warning, but their cores are not known{hint}")
        }
        (true, 0) => "no warning".to_owned(),
        (true, count) => counted(count, "warning"),
    };
    format!("{ranks} on {hosts}{bound}: {verdict}")
}

/// Whether neither the file nor a cluster tells the cores or PUs of any rank.
fn nothing_known(reading: &Reading) -> bool {
    !reading.ranks.is_empty()
        && reading.ranks.iter().all(|rank| rank.cores.is_none() && rank.pus.is_none())
}

/// Prints the warnings to standard error; of one code only the first.
pub(super) fn warnings(reading: &Reading, file: &Path, verbosity: &Verbosity) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for LintWarning { trap, line, text, refused } in &reading.warnings {
        let count = counts.entry(trap.code).or_default();
        *count += 1;
        if *count > MOST_OF_A_CODE {
            continue;
        }
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        let refused = if *refused { "refused: " } else { "" };
        let place = format!("{}{line}", file.display());
        warn(
            verbosity,
            format_args!("{place}: {}: {refused}{text} [{}]", trap.code, trap.versions),
        );
    }
    for (code, count) in counts {
        if count > MOST_OF_A_CODE {
            let more = count - MOST_OF_A_CODE;
            warn(verbosity, format_args!("{code}: {more} more (for all: --format json)"));
        }
    }
    if !reading.starts() {
        warn(verbosity, "the launcher refuses this file; the ranks shown are those that it names");
    }
}

fn rows(reading: &Reading) -> Vec<Vec<String>> {
    let (with_devices, with_programs) = (has_devices(reading), has_programs(reading));
    let row = |rank: &RankReading| {
        let unknown = if rank.bound { "?" } else { "not bound" };
        let list = |label: &str, list: Option<String>| {
            let list = list.filter(|_| rank.bound).filter(|list| !list.is_empty());
            list.map_or(unknown.to_owned(), |list| format!("{label}{list}"))
        };
        let pus = rank.pus.as_ref().map(ToString::to_string);
        let cores = list("L#", rank.cores.as_deref().map(core_list));
        let mut row = vec![rank.rank.to_string(), rank.host.clone(), cores, list("P#", pus)];
        if with_devices {
            row.extend(devices(rank).map(|(list, _)| list));
        }
        if with_programs {
            row.push(rank.program.clone().unwrap_or_else(|| "?".to_owned()));
        }
        row
    };
    reading.ranks.iter().map(row).collect()
}

/// Whether a wrapper script gives ranks devices.
fn has_devices(reading: &Reading) -> bool {
    reading.ranks.iter().any(|rank| rank.devices.is_some())
}

/// Whether the file says which program each rank starts.
fn has_programs(reading: &Reading) -> bool {
    reading.ranks.iter().any(|rank| rank.program.is_some())
}

/// The GPUs, network devices and memory of a rank, for people and for programs.
fn devices(rank: &RankReading) -> [(String, String); 3] {
    let Some(devices) = &rank.devices else {
        return std::array::from_fn(|_| ("?".to_owned(), String::new()));
    };
    let of = |list: Vec<String>, empty: &str| match list.join(",") {
        none if none.is_empty() => (empty.to_owned(), none),
        some => (some.clone(), some),
    };
    let gpus = match &devices.gpus {
        Some(gpus) => of(gpus.clone(), "none"),
        None => of(Vec::new(), "all"),
    };
    let memory = devices.memory.iter().map(ToString::to_string).collect();
    [gpus, of(devices.nics.clone(), "any"), of(memory, "any")]
}

fn core_list(cores: &[CoreId]) -> String {
    format_index_list(&cores.iter().map(|core| core.0).collect::<Vec<_>>())
}

/// The columns of CSV, whatever was read; a cell is empty where nothing is known.
const CSV_COLUMNS: [&str; 9] =
    ["rank", "host", "cores", "pus", "bound", "gpus", "nics", "memory", "program"];

fn csv_row(rank: &RankReading) -> Vec<String> {
    let cores = rank.cores.as_deref().map(core_list).unwrap_or_default();
    let pus = rank.pus.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut row =
        vec![rank.rank.to_string(), rank.host.clone(), cores, pus, rank.bound.to_string()];
    row.extend(devices(rank).map(|(_, list)| list));
    row.push(rank.program.clone().unwrap_or_default());
    row
}

fn host_row(host: &HostReading) -> Vec<String> {
    let count = |count: Option<usize>| count.map_or("?".to_owned(), |count| count.to_string());
    vec![host.host.clone(), host.ranks.to_string(), count(host.cores), count(host.unused_cores)]
}

fn rank_json(rank: &RankReading) -> Value {
    let pus: Option<Vec<u32>> =
        rank.pus.as_ref().map(|pus| pus.as_slice().iter().map(|pu| pu.0).collect());
    let mut json = json!({
        "rank": rank.rank,
        "host": rank.host,
        "cores": rank.cores,
        "pus": pus,
        "bound": rank.bound,
        "line": rank.line,
    });
    if let Some(devices) = &rank.devices {
        json["gpus"] = json!(devices.gpus);
        json["nics"] = json!(devices.nics);
        json["memory"] = json!(devices.memory);
    }
    if let Some(program) = &rank.program {
        json["program"] = json!(program);
    }
    json
}

fn host_json(host: &HostReading) -> Value {
    json!({
        "host": host.host,
        "ranks": host.ranks,
        "cores": host.cores,
        "unused_cores": host.unused_cores,
    })
}

fn warning_json(warning: &LintWarning) -> Value {
    json!({
        "code": warning.trap.code,
        "line": warning.line,
        "text": warning.text,
        "versions": warning.trap.versions,
        "refused": warning.refused,
    })
}
