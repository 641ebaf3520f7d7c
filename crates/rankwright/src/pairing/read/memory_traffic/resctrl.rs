//! Readings of resctrl (Intel RDT, AMD QoS, Arm MPAM): a line with the time in seconds since 1970, then
//! `PATH/mon_data/mon_L3_XX/FILE:VALUE` as `grep -r .` prints the files of one group; then the next time. A line
//! `PATH/size: L3:0=BYTES;..` says how large the caches are.

use std::collections::{BTreeMap, BTreeSet};

use super::{Bound, CacheUse, MeasuredTraffic, lines};
use crate::calendar::day;
use crate::files::InputError;
use crate::units::{Bytes, BytesPerSecond, counted};

const FOLDER: &str = "mon_data/mon_L3_";
const TOTAL: &str = "mbm_total_bytes";
const LOCAL: &str = "mbm_local_bytes";
const OCCUPANCY: &str = "llc_occupancy";
const TIME: &str = "a line with the time in seconds since 1970, as `date +%s.%N` prints it";
/// 1990 to 2100, so that other numbers on a line of their own are not taken for a time.
const TIMES: std::ops::Range<f64> = 6.3e8..4.2e9;

pub(super) fn sniff(text: &str) -> bool {
    text.lines().any(|line| line.contains(FOLDER) && line.contains(':'))
}

/// What the files of a domain (`XX` of `mon_L3_XX`) said, one after the other.
#[derive(Default)]
struct Domain {
    /// By file: when, and the value.
    readings: BTreeMap<&'static str, Vec<(f64, u64)>>,
    /// How often there was no value.
    unavailable: usize,
}

#[derive(Default)]
struct Record {
    time: Option<f64>,
    first: Option<f64>,
    times: usize,
    groups: BTreeSet<String>,
    domains: BTreeMap<String, Domain>,
    cache: Option<u64>,
}

pub(super) fn read(text: &str, file: &str) -> Result<MeasuredTraffic, InputError> {
    let mut record = Record::default();
    for (number, line) in lines(text) {
        record.line(line.trim(), file).map_err(|error| error.at_line(number))?;
    }
    if record.groups.len() > 1 {
        let groups: Vec<&str> = record.groups.iter().map(String::as_str).collect();
        let found = format!("the groups {}", groups.join(", "));
        let advice =
            "a group counts what its mon_groups count once more: record the mon_data of one";
        return Err(InputError::new(file, found, "one group").with_advice(advice));
    }
    if record.times < 2 {
        return Err(InputError::new(file, "one reading", "at least two, each after a time"));
    }
    let (name, bound) = record.counter(file)?;
    let (rate, missing, left_out) = record.sum(name);
    let size = record.cache.map(Bytes);
    Ok(MeasuredTraffic {
        rate,
        of_regions: false,
        bound: bound.without(missing),
        cache: record.occupied().map(|occupied| CacheUse { occupied, size }),
        source: format!("resctrl, {name}"),
        date: record.first.map(|first| date(first as u64)),
        left_out,
    })
}

impl Record {
    fn line(&mut self, line: &str, file: &str) -> Result<(), InputError> {
        if let Some(time) = line.parse().ok().filter(|time| TIMES.contains(time)) {
            if let Some(before) = self.time.filter(|before| *before >= time) {
                let expected = format!("a time after {before}");
                return Err(InputError::new(file, format!("the time {line}"), expected));
            }
            self.time = Some(time);
            self.first = self.first.or(Some(time));
            self.times += 1;
            return Ok(());
        }
        if let Some((path, sizes)) =
            line.split_once("size:").filter(|(path, _)| path.ends_with('/') || path.is_empty())
        {
            return self.sizes(path, sizes, file);
        }
        let Some((group, rest)) = line.split_once(FOLDER) else { return Ok(()) };
        let Some((path, value)) = rest.rsplit_once(':') else {
            return Err(InputError::new(
                file,
                format!("`{line}`"),
                "PATH:VALUE, as `grep -r .` prints it",
            ));
        };
        // Parts of a domain (mon_sub_L3_XX, with sub-NUMA clusters) are in its sum.
        let Some((domain, name)) = path.split_once('/') else { return Ok(()) };
        let Some(name) = [TOTAL, LOCAL, OCCUPANCY].into_iter().find(|known| *known == name) else {
            return Ok(());
        };
        let time = self
            .time
            .ok_or_else(|| InputError::new(file, format!("{name} before a time"), TIME))?;
        self.groups.insert(group.trim_end_matches('/').to_owned());
        let domain = self.domains.entry(domain.to_owned()).or_default();
        match value.trim() {
            "Unavailable" | "Error" | "Unassigned" => domain.unavailable += 1,
            value => {
                let wrong = || {
                    let expected = "a number, Unavailable, Error or Unassigned";
                    InputError::new(file, format!("`{value}`"), expected).in_field(name)
                };
                let value = value.parse().map_err(|_| wrong())?;
                domain.readings.entry(name).or_default().push((time, value));
            }
        }
        Ok(())
    }

    /// The counter that sees most, of those with values.
    fn counter(&self, file: &str) -> Result<(&'static str, Bound), InputError> {
        let is_there = |name: &str| self.domains.values().any(|domain| domain.rate(name).is_some());
        if is_there(TOTAL) {
            return Ok((TOTAL, Bound::Exact));
        }
        if is_there(LOCAL) {
            return Ok((LOCAL, Bound::AtLeast("only traffic to the local memory was counted")));
        }
        let found = format!("no two readings of {TOTAL} or {LOCAL} in any domain");
        let error = InputError::new(file, found, "numbers that grow");
        let advice = "Unavailable and Error come from the hardware, Unassigned from mbm_cntr_assign: see \
                      the kernel's resctrl documentation";
        Err(error.with_advice(advice))
    }

    /// The rate over all domains, the number of domains without one, and what was left out.
    fn sum(&self, name: &str) -> (BytesPerSecond, usize, Vec<String>) {
        let (mut sum, mut missing, mut left_out) = (0.0, 0, Vec::new());
        for (id, domain) in &self.domains {
            let mut leave_out = |what: String| left_out.push(format!("mon_L3_{id}: {what}"));
            match domain.rate(name) {
                Some((rate, resets)) => {
                    sum += rate;
                    if resets > 0 {
                        leave_out(format!("{name} went back {}", counted(resets, "time")));
                    }
                }
                None => {
                    missing += 1;
                    leave_out(format!("no two values of {name}"));
                }
            }
            if domain.unavailable > 0 {
                leave_out(format!("{} without a number", counted(domain.unavailable, "reading")));
            }
        }
        (BytesPerSecond(sum), missing, left_out)
    }

    /// The smallest cache of `L3:0=33554432;1=33554432`.
    fn sizes(&mut self, path: &str, sizes: &str, file: &str) -> Result<(), InputError> {
        let Some(caches) = sizes.trim().strip_prefix("L3:") else { return Ok(()) };
        for cache in caches.split(';') {
            let size = cache.split_once('=').and_then(|(_, size)| size.trim().parse::<u64>().ok());
            let size = size.ok_or_else(|| {
                let expected = "the size of each cache, like L3:0=33554432;1=33554432";
                InputError::new(file, format!("`{cache}`"), expected)
                    .in_field(format!("{path}size"))
            })?;
            self.cache = Some(self.cache.map_or(size, |smallest| smallest.min(size)))
                .filter(|size| *size > 0);
        }
        Ok(())
    }

    /// What the group occupies of all caches, on average; `None` if that was not observed.
    fn occupied(&self) -> Option<Bytes> {
        let mean = |domain: &Domain| {
            let readings = domain.readings.get(OCCUPANCY)?;
            Some(
                readings.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>()
                    / readings.len() as f64,
            )
        };
        let means: Vec<f64> = self.domains.values().filter_map(mean).collect();
        (!means.is_empty()).then(|| Bytes(means.iter().sum::<f64>() as u64))
    }
}

impl Domain {
    /// Bytes per second, and how often the counter went back: the kernel extends what the hardware counts to
    /// 64 bits, so that means that it began again. Those times do not count. `None` without two values.
    fn rate(&self, name: &str) -> Option<(f64, usize)> {
        let (mut bytes, mut seconds, mut resets) = (0.0, 0.0, 0);
        for pair in self.readings.get(name)?.windows(2) {
            let [(before, first), (after, second)] = pair else { continue };
            match second.checked_sub(*first) {
                Some(more) => {
                    bytes += more as f64;
                    seconds += after - before;
                }
                None => resets += 1,
            }
        }
        (seconds > 0.0).then(|| (bytes / seconds, resets))
    }
}

/// The date of a time in seconds since 1970, like `2025-11-25 09:00:00 UTC`.
fn date(seconds: u64) -> String {
    let second = seconds % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{} {hour:02}:{minute:02}:{second:02} UTC", day(seconds / 86_400))
}
