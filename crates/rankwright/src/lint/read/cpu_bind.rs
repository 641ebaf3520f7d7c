//! Bindings by local rank: a list of PUs or masks, which starts again at its end.

use crate::files::InputError;
use crate::ids::{LARGEST_INDEX, PuId, PuSet};
use crate::lint::{Place, Reading, Source, leading_number, pu, traps};
use crate::units::counted;

/// The binding of the ranks of every host.
#[derive(Debug)]
pub(in crate::lint) enum CpuBind {
    /// The PUs of each local rank.
    List(Vec<PuSet>),
    None,
    /// By the launcher's own rules.
    Own,
}

/// The most entries that are read; no host has more ranks.
const MOST_ENTRIES: usize = 1 << 20;

impl CpuBind {
    /// The binding of a local rank.
    pub(in crate::lint) fn place(&self, local: usize) -> Place {
        match self {
            Self::List(list) => Place::Pus(list[local % list.len()].clone()),
            Self::None => Place::Unbound,
            Self::Own => Place::Unknown,
        }
    }

    /// Warns if a host has more ranks than the list has entries.
    pub(in crate::lint) fn warn_if_short(&self, host: &str, ranks: usize, reading: &mut Reading) {
        if let Self::List(list) = self
            && ranks > list.len()
        {
            let text = format!(
                "{host} has {}, but the list has entries for {}",
                counted(ranks, "rank"),
                list.len()
            );
            reading.warn(&traps::LIST_AGAIN, None, text);
        }
    }

    /// srun's `--cpu-bind`, or else the variable `SLURM_CPU_BIND`.
    pub(in crate::lint) fn of_srun(
        source: &Source<'_>,
        reading: &mut Reading,
    ) -> Result<Self, InputError> {
        let option = source.arguments.value(&["--cpu-bind", "--cpu_bind"]);
        let Some(text) = option.or_else(|| source.arguments.variable("SLURM_CPU_BIND")) else {
            return Ok(Self::Own);
        };
        let wrong = |text: &str| {
            let expected = "--cpu-bind=map_cpu:0,1 or mask_cpu:0x1,0x2 or none";
            source.wrong_argument(text, expected)
        };
        let modes = ["quiet,", "q,", "verbose,", "v,"];
        let mut rest = text;
        while let Some(behind) = modes.iter().find_map(|mode| rest.strip_prefix(mode)) {
            rest = behind;
        }
        let (kind, list) = rest.split_once(':').unwrap_or((rest, ""));
        let mut entries = Vec::new();
        for entry in list.split(',') {
            let (value, times) = match entry.split_once('*') {
                None => (entry, 1),
                Some((value, times)) => (value, times.parse().map_err(|_| wrong(entry))?),
            };
            let set = match kind {
                "map_cpu" => map_cpu(value, reading).ok_or_else(|| wrong(entry))?,
                "mask_cpu" => mask(value).ok_or_else(|| wrong(entry))?,
                "none" | "no" => return Ok(Self::None),
                _ => return Ok(Self::Own),
            };
            if entries.len() + times > MOST_ENTRIES {
                return Err(wrong(entry));
            }
            entries.extend(std::iter::repeat_n(set, times));
        }
        if entries.is_empty() { Err(wrong(text)) } else { Ok(Self::List(entries)) }
    }
}

/// An entry of `map_cpu`.
fn map_cpu(text: &str, reading: &mut Reading) -> Option<PuSet> {
    if let Some(digits) = text.strip_prefix("0x") {
        let number = usize::from_str_radix(digits, 16).ok().and_then(pu)?;
        let text = format!("`{text}` is hexadecimal; write {number}");
        reading.refuse(&traps::MAP_CPU_HEX, None, text);
        return Some(std::iter::once(number).collect());
    }
    let (number, whole) = leading_number(text);
    if text.contains('-') && text.starts_with(|first: char| first.is_ascii_digit()) {
        let text = format!("`{text}` is a range; write out every number");
        reading.refuse(&traps::MAP_CPU_RANGE, None, text);
    } else if !whole {
        return None;
    }
    Some(std::iter::once(pu(number)?).collect())
}

/// The PUs of a hexadecimal mask, with or without `0x`; `None` if it is not a mask, is empty, or
/// has more PUs than machines can have.
pub(in crate::lint) fn mask(text: &str) -> Option<PuSet> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > LARGEST_INDEX as usize / 4 {
        return None;
    }
    let mut pus = Vec::new();
    for (position, digit) in digits.chars().rev().enumerate() {
        let digit = digit.to_digit(16)?;
        let bits = (0..4).filter(|bit| digit >> bit & 1 == 1);
        pus.extend(bits.map(|bit| PuId(PuId::from_index(4 * position).0 + bit)));
    }
    (!pus.is_empty()).then(|| pus.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_hexadecimal() {
        let set = |text: &str| mask(text).map(|pus| pus.to_string());
        assert_eq!(set("0x3").as_deref(), Some("0-1"));
        assert_eq!(set("8000000000000000f").as_deref(), Some("0-3,67"));
        assert_eq!(["", "0x", "0x0", "g"].map(set), [None, None, None, None]);
    }
}
