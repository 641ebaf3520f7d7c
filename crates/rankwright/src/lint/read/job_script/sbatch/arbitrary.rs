//! `srun -m arbitrary`: the host of every task, from `SLURM_HOSTFILE` or from `-w`. With
//! `SLURM_HOSTFILE` and without `-w`, srun does so whatever `-m` says.

use super::Script;
use super::options::Options;
use crate::cluster::hostlist;
use crate::files::{InputError, read_text};
use crate::lint::read::slurm;
use crate::lint::{Arguments, Reading, Source};

impl Script<'_> {
    /// The host of every task; `None` if Slurm distributes the tasks.
    pub(super) fn arbitrary(
        &self,
        step: &Options,
        reading: &mut Reading,
    ) -> Result<Option<Vec<String>>, InputError> {
        let asked = step.get("distribution").or_else(|| self.job.get("distribution"));
        let is_asked =
            asked.is_some_and(|given| given.value.split(':').next() == Some("arbitrary"));
        let ranks = step.value("ntasks").or_else(|| self.job.value("ntasks"));
        if let Some(list) = step.get("nodelist") {
            if !is_asked || list.value.contains('/') {
                return Ok(None);
            }
            let mut hosts = hostlist::expand(&list.value)
                .map_err(|error| self.wrong(&error.found, &error.expected))?;
            hosts.truncate(ranks.and_then(|ranks| ranks.parse().ok()).unwrap_or(hosts.len()));
            return Ok(Some(hosts));
        }
        let exported = self.exported("SLURM_HOSTFILE").map(|(value, _)| value);
        let given = self.source.arguments.variable("SLURM_HOSTFILE").map(Some);
        let advice = "name the file in --launcher-args as SLURM_HOSTFILE=FILE";
        match exported.or(given) {
            None if !is_asked => Ok(None),
            None => {
                let expected = "SLURM_HOSTFILE, or -w with a host for every task";
                Err(self.wrong("-m arbitrary without hosts", expected).with_advice(advice))
            }
            Some(None) => {
                let found = "SLURM_HOSTFILE with a value that only a shell can know";
                Err(self.wrong(found, "the name of the file").with_advice(advice))
            }
            Some(Some(name)) => self.hosts_of(name, ranks, reading).map(Some),
        }
    }

    /// The hosts in a file, with what srun refuses in it.
    fn hosts_of(
        &self,
        name: &str,
        ranks: Option<&str>,
        reading: &mut Reading,
    ) -> Result<Vec<String>, InputError> {
        let path = self.line().beside(name);
        let text = read_text(&path, "the file of SLURM_HOSTFILE, with a host for every task")
            .map_err(|error| error.with_advice("copy it beside the script, or lint it alone"))?;
        let file = path.display().to_string();
        reading.notes.push(format!("read: {file}, the hosts of the tasks"));
        let words: Vec<String> = ranks.map(|ranks| format!("-n={ranks}")).into_iter().collect();
        let arguments = Arguments::new(&words);
        let source = Source { text: &text, file: &file, arguments, ..*self.source };
        let mut its = Reading::default();
        let hosts = slurm::hosts(&source, &mut its)?;
        for mut warning in its.warnings {
            let line = warning.line.take().map_or(String::new(), |line| format!(":{line}"));
            warning.text = format!("{file}{line}: {}", warning.text);
            reading.warnings.push(warning);
        }
        Ok(hosts.into_iter().map(|(host, _)| host).collect())
    }
}
