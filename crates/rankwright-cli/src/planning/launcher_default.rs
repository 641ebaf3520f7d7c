//! Where the launcher puts ranks by default here: a variable of the job or of the user may say so.

use rankwright::launch::{Launcher, Software};

use crate::output::{Verbosity, warn};

/// The variable by which a launcher gets a default mapping.
fn variable(software: Software) -> Option<&'static str> {
    match software {
        // Of `salloc -m` and `sbatch -m` too.
        Software::Slurm => Some("SLURM_DISTRIBUTION"),
        Software::OpenMpi(4) => Some("OMPI_MCA_rmaps_base_mapping_policy"),
        Software::OpenMpi(_) => Some("PRTE_MCA_rmaps_default_mapping_policy"),
        Software::Mpich | Software::IntelMpi | Software::Flux => None,
    }
}

/// The strategy that places a number of ranks as the launcher does by default in this environment. Warns
/// where a variable says it and no strategy does so.
pub(crate) fn strategy(launcher: &Launcher, ranks: usize, verbosity: &Verbosity) -> &'static str {
    let usual = launcher.default_strategy(ranks);
    let Some(name) = variable(launcher.software) else { return usual };
    let Some(value) = std::env::var(name).ok().filter(|value| !value.is_empty()) else {
        return usual;
    };
    by_variable(launcher.software, &value, usual).unwrap_or_else(|| {
        let text = format!(
            "{name}={value} changes the default of {}, and no strategy places like that: the default shown is \
             {usual}, as without the variable",
            launcher.name
        );
        warn(verbosity, text);
        usual
    })
}

/// The strategy that places as a launcher with this value of its variable; `None` if none does. `usual`: its
/// strategy without a value.
fn by_variable(software: Software, value: &str, usual: &'static str) -> Option<&'static str> {
    let value = value.split(',').next().unwrap_or_default().to_lowercase();
    let mut parts = value.split(':');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    match (software, first, second) {
        (Software::Slurm, "cyclic", _) | (Software::OpenMpi(_), "node", _) => Some("cyclic"),
        (Software::Slurm, "block" | "*", Some("block"))
        | (Software::OpenMpi(_), "slot" | "core" | "hwthread", _) => Some("blocked"),
        (Software::Slurm, "block" | "*", _) => Some(usual),
        (Software::OpenMpi(4), "numa", _) => Some("blocked:within=numa"),
        (Software::OpenMpi(4), "socket", _) => Some("blocked:within=packages"),
        // 5 fills one object of a node after the other.
        (Software::OpenMpi(5), "numa" | "socket" | "package", _) => Some("blocked"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_change_the_default() {
        let slurm = |value| by_variable(Software::Slurm, value, "usual");
        assert_eq!(slurm("cyclic"), Some("cyclic"));
        assert_eq!(slurm("cyclic:block,Pack"), Some("cyclic"));
        assert_eq!(slurm("block"), Some("usual"));
        assert_eq!(slurm("block:block"), Some("blocked"));
        assert_eq!(slurm("plane=2"), None);
        let four = |value| by_variable(Software::OpenMpi(4), value, "usual");
        assert_eq!(four("node"), Some("cyclic"));
        assert_eq!(four("core:PE=2"), Some("blocked"));
        assert_eq!(four("socket"), Some("blocked:within=packages"));
        assert_eq!(four("ppr:2:node"), None);
        assert_eq!(by_variable(Software::OpenMpi(5), "package", "usual"), Some("blocked"));
    }
}
