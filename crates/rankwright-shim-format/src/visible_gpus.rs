//! One GPU for a rank, where its environment lists visible GPUs already: batch systems set these
//! variables to what they granted, users to what they want.

/// The variables that list the visible GPUs of a vendor.
const LISTS: [&str; 3] = ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"];

/// HIP counts by the first of these in what `ROCR_VISIBLE_DEVICES` leaves.
const AFTER_ROCR: [&str; 3] = ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"];

/// What `ZE_AFFINITY_MASK` counts.
const ZE_UNIT: &str = "ZE_FLAT_DEVICE_HIERARCHY";

/// Whether a variable restricts the GPUs that a process sees, or says how they are counted.
#[must_use]
pub fn restricts(name: &str) -> bool {
    LISTS.contains(&name) || name == ZE_UNIT
}

/// Whether GPUs are listed in the value of such a variable.
#[must_use]
pub fn lists_some(value: &str) -> bool {
    let first = entries(value).next().unwrap_or_default();
    !first.is_empty() && !["-1", "NoDevFiles", "none", "void"].contains(&first)
}

/// The variables that show a rank only the GPU of its `wanted` variables, in an environment with the
/// variables `preset`, whose values these then replace. A list of the environment is a choice that may
/// be narrowed: the GPU must be one of it. `granted`: how many GPUs of the vendor the rank's node has in
/// the placement, if known; a list of as many numbers has them in order. Empty where no GPU is wanted.
///
/// # Errors
/// A warning, if the environment shows other GPUs: its variables are to be kept then, without the wanted
/// ones that [restrict](restricts).
pub fn narrowed(
    wanted: &[(String, String)],
    preset: impl Fn(&str) -> Option<String>,
    granted: Option<usize>,
) -> Result<Vec<(String, String)>, String> {
    let own = wanted.iter().find(|(name, _)| LISTS.contains(&name.as_str()));
    let Some((list, own)) = own else { return Ok(Vec::new()) };
    let (of_list, kept) = (|name: &str| preset(name).filter(|value| !value.is_empty()), "is kept");
    if let Some((_, unit)) = wanted.iter().find(|(name, _)| name == ZE_UNIT)
        && let Some(other) = of_list(ZE_UNIT).filter(|other| other != unit)
    {
        return Err(format!(
            "{ZE_UNIT}={other} {kept}: {list} cannot give a rank a whole GPU then"
        ));
    }
    let (mut position, mut value) = (own.clone(), own.clone());
    if let Some(listed) = of_list(list) {
        let all: Vec<&str> = entries(&listed).collect();
        // UUIDs stand in the order of the numbers; what stands for tiles or nothing is no GPU.
        let is_number = |entry: &&str| entry.parse::<usize>().is_ok();
        let in_order = match granted == Some(all.len()) {
            true => all.iter().all(|entry| is_number(entry) || entry.starts_with("GPU-")),
            false => all.iter().all(|entry| entry.starts_with("GPU-")),
        };
        let number = own.parse::<usize>().ok().filter(|_| in_order);
        let at = number.filter(|number| *number < all.len());
        let at = at.or_else(|| all.iter().position(|entry| entry == own));
        let Some(at) = at else { return Err(other_gpus(list, &listed, own)) };
        (position, value) = (at.to_string(), all[at].to_owned());
    }
    let mut variables = vec![(list.clone(), value)];
    if list == "ROCR_VISIBLE_DEVICES" {
        for name in AFTER_ROCR {
            let Some(listed) = of_list(name) else { continue };
            if !entries(&listed).any(|entry| entry == position) {
                return Err(other_gpus(name, &listed, &position));
            }
            // The only one that the first list leaves.
            variables.push((name.to_owned(), "0".to_owned()));
        }
    }
    Ok(variables)
}

fn other_gpus(name: &str, listed: &str, own: &str) -> String {
    format!("{name}={listed} is kept: GPU {own}, which the rank should get, is not in it")
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        wanted: &[(&str, &str)],
        preset: &[(&str, &str)],
        granted: Option<usize>,
    ) -> Result<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let wanted: Vec<(String, String)> = wanted.iter().map(owned).collect();
        let find = |name: &str| {
            preset.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        let set = narrowed(&wanted, find, granted)?;
        Ok(set.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_list_is_narrowed_to_the_ranks_gpu() {
        let cuda = |own, preset: &str, granted| {
            let preset = [("CUDA_VISIBLE_DEVICES", preset)];
            let set =
                of(&[("CUDA_DEVICE_ORDER", "x"), ("CUDA_VISIBLE_DEVICES", own)], &preset, granted);
            set.map(|set| set.replace("CUDA_VISIBLE_DEVICES=", ""))
        };
        for (own, preset, granted, set) in [
            ("2", "", None, "2"),
            ("2", "0,1,2,3", None, "2"),
            ("1", "1", None, "1"),
            // Two of four GPUs are granted; without a cgroup they keep their numbers.
            ("1", "2,3", Some(2), "3"),
            ("1", "0,1", Some(2), "1"),
            ("1", "GPU-aa, GPU-bb", None, "GPU-bb"),
        ] {
            assert_eq!(cuda(own, preset, granted), Ok(set.to_owned()), "{own} of {preset}");
        }
        for (own, preset, granted) in [
            ("1", "0", Some(2)),
            ("0", "2,3", None),
            ("2", "GPU-aa,GPU-bb", None),
            ("0", "-1", None),
        ] {
            let warning = cuda(own, preset, granted).unwrap_err();
            assert!(warning.contains(" is kept: GPU "), "{warning}");
        }
        assert_eq!(of(&[("OMP_NUM_THREADS", "2")], &[], None), Ok(String::new()));
    }

    #[test]
    fn hip_does_not_filter_what_rocr_has_filtered() {
        let own = [("ROCR_VISIBLE_DEVICES", "2")];
        let rocr = |preset: &[(&str, &str)]| of(&own, preset, None);
        let narrow = Ok("ROCR_VISIBLE_DEVICES=2 HIP_VISIBLE_DEVICES=0".to_owned());
        assert_eq!(rocr(&[("HIP_VISIBLE_DEVICES", "0,1,2,3")]), narrow);
        // HIP's numbers are positions in the first list.
        assert_eq!(
            rocr(&[("ROCR_VISIBLE_DEVICES", "1,2"), ("HIP_VISIBLE_DEVICES", "0,1")]),
            narrow
        );
        let set = "ROCR_VISIBLE_DEVICES=2 HIP_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=0".to_owned();
        let both = [("HIP_VISIBLE_DEVICES", "2"), ("CUDA_VISIBLE_DEVICES", "2,3")];
        assert_eq!(rocr(&both), Ok(set));
        assert!(
            rocr(&[("HIP_VISIBLE_DEVICES", "3")]).unwrap_err().starts_with("HIP_VISIBLE_DEVICES=3")
        );
    }

    #[test]
    fn tiles_are_not_counted_as_gpus() {
        let own = [("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"), ("ZE_AFFINITY_MASK", "1")];
        assert_eq!(of(&own, &[], None), Ok("ZE_AFFINITY_MASK=1".to_owned()));
        assert!(of(&own, &[("ZE_FLAT_DEVICE_HIERARCHY", "FLAT")], None).is_err());
        assert!(of(&own, &[("ZE_AFFINITY_MASK", "0.0,0.1")], None).is_err());
    }

    #[test]
    fn a_list_may_be_empty() {
        for (value, some) in
            [("0", true), ("GPU-aa,1", true), ("", false), ("-1", false), ("NoDevFiles", false)]
        {
            assert_eq!(lists_some(value), some, "{value}");
        }
        assert!(restricts("ZE_AFFINITY_MASK") && !restricts("CUDA_DEVICE_ORDER"));
    }
}
