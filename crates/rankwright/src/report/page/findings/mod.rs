//! What is good, wrong or doubtful, and what was not measured, with the snippets that help.

mod missing;
mod table;

use super::data::{Finding, Report};
use crate::launch::shell;
use crate::report::answer::Weakness;
pub use missing::Unmeasured;
use table::{FINDINGS, HOSTS_INVENTED};

/// A finding in the making.
#[derive(Debug, Clone)]
pub struct Found {
    code: &'static str,
    text: String,
    remedy: Option<String>,
    snippet: Option<String>,
}

impl Found {
    /// A finding with a code of the table.
    #[must_use]
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), remedy: None, snippet: None }
    }

    /// What weakens an answer.
    #[must_use]
    pub fn weakness(weakness: &Weakness) -> Self {
        Self {
            code: weakness.code,
            text: weakness.text.clone(),
            remedy: Some(weakness.remedy.clone()),
            snippet: None,
        }
    }

    /// With another way out than that of the table.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// With something else to paste than that of the table.
    #[must_use]
    pub fn snippet(self, snippet: String) -> Self {
        Self { snippet: Some(snippet), ..self }
    }

    /// The finding.
    ///
    /// # Panics
    /// If the table lacks its code: a mistake in this program.
    #[must_use]
    pub fn finding(self) -> Finding {
        let row = FINDINGS.iter().find(|(code, ..)| *code == self.code);
        let (code, severity, addressee, remedy, snippet) =
            row.unwrap_or_else(|| panic!("{} is in the table of findings", self.code));
        let remedy = self.remedy.unwrap_or_else(|| (*remedy).to_owned());
        let snippet = self.snippet.or_else(|| with_option((*snippet)?, &remedy));
        Finding {
            code: (*code).to_owned(),
            severity: *severity,
            addressee: *addressee,
            text: self.text,
            remedy,
            snippet,
        }
    }
}

/// A template with the option that a remedy names, as `--keep-node-groups`; `None` if it needs one that the
/// remedy does not have.
fn with_option(template: &str, remedy: &str) -> Option<String> {
    if !template.contains("{option}") {
        return Some(template.to_owned());
    }
    let mut typed = remedy.split('`').skip(1).step_by(2);
    typed.find(|text| text.starts_with("--")).map(|option| template.replace("{option}", option))
}

/// The names that the user gave, for snippets.
#[derive(Debug, Clone)]
pub struct Names {
    /// The workload.
    pub workload: String,
    /// The cluster.
    pub cluster: String,
    /// The file of the placement.
    pub placement: String,
    /// The program line, for a shell.
    pub program: String,
    /// Number of ranks.
    pub ranks: usize,
    /// What goes before a command that is to run on the nodes of a lab; empty for other clusters.
    pub entry: String,
}

impl Report {
    /// Puts names into all snippets.
    #[must_use]
    pub fn with_names(mut self, names: &Names) -> Self {
        let (workload, cluster) = (shell::quote(&names.workload), shell::quote(&names.cluster));
        // Measured rates are written into a description, which a built-in cluster does not have.
        let description = match names.cluster.ends_with(".toml") {
            true => cluster.clone(),
            false => "cluster.toml".to_owned(),
        };
        let placement = shell::quote(&names.placement);
        let nodes = self.machine.as_ref().map_or(1, |it| it.nodes.len() + it.other_nodes);
        // Nothing starts on hosts that are not there.
        let invented = self.findings.iter().any(|finding| finding.code == HOSTS_INVENTED);
        let named = |snippet: &mut Option<String>| {
            let Some(text) = snippet else { return };
            if invented && text.contains("rankwright run ") {
                text.insert_str(
                    0,
                    "# with the names of your hosts: --nodes HOSTLIST, or a cluster.toml\n",
                );
            }
            *text = filled(text, &|token| match token {
                "workload" => Some(workload.clone()),
                "cluster" => Some(cluster.clone()),
                "placement" => Some(placement.clone()),
                "description" => Some(description.clone()),
                "program" => Some(names.program.clone()),
                "ranks" => Some(names.ranks.to_string()),
                "nodes" => Some(nodes.to_string()),
                "entry" => Some(names.entry.clone()),
                _ => None,
            });
        };
        self.findings.iter_mut().for_each(|finding| named(&mut finding.snippet));
        self.missing.iter_mut().for_each(|missing| named(&mut missing.snippet));
        let inputs = [&names.workload, &names.cluster, &names.placement];
        let inputs = inputs.into_iter().flat_map(|names| names.split(','));
        self.given_names.extend(inputs.map(str::to_owned));
        self
    }

    /// Says what was not measured; each once.
    pub fn lack(&mut self, unmeasured: Unmeasured) {
        let missing = unmeasured.missing();
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }
}

/// A template with the values of its `{tokens}`; what was put in is not looked at again.
fn filled(template: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}').and_then(|(token, rest)| Some((value(token)?, rest))) {
            Some((value, rest)) => text += &(value + rest),
            None => text += &format!("{{{part}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page::{Kind, Outcome, Verdict};

    #[test]
    fn every_weakness_of_an_answer_is_in_the_table() {
        let source = include_str!("../../answer/weakness.rs");
        let codes = source.split("Weakness::new(").skip(1).filter_map(|rest| {
            rest.trim_start().strip_prefix('"')?.split_once('"').map(|(code, _)| code)
        });
        let codes: Vec<&str> = codes.collect();
        assert!(codes.len() > 8, "{codes:?}");
        for code in codes {
            assert!(FINDINGS.iter().any(|(known, ..)| *known == code), "{code}");
        }
    }

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<&str> = FINDINGS.iter().map(|(code, ..)| *code).collect();
        codes.sort_unstable();
        assert!(codes.windows(2).all(|two| two[0] != two[1]), "{codes:?}");
    }

    #[test]
    fn snippets_have_the_names_of_the_user_quoted_for_a_shell() {
        let verdict =
            Verdict { text: String::new(), outcome: Outcome::Unknown, details: Vec::new() };
        let mut report = Report::new(Kind::Workload, "", verdict);
        report.find(FINDINGS.iter().map(|(code, ..)| Found::new(code, "x").finding()));
        report.lack(Unmeasured::Counted);
        report.lack(Unmeasured::Counted);
        let names = Names {
            workload: "my {cluster}.rwp".to_owned(),
            cluster: "it's".to_owned(),
            placement: "my placement.json".to_owned(),
            program: "./app 'a b'".to_owned(),
            ranks: 7,
            entry: String::new(),
        };
        let report = report.with_names(&names);
        let all = report.findings.iter().filter_map(|finding| finding.snippet.as_ref());
        for snippet in all.chain(&report.missing[0].snippet) {
            let rest = snippet.replace("'my {cluster}.rwp'", "");
            let mut typed = rest.lines().filter(|line| !line.starts_with("# "));
            assert!(
                !rest.contains('{') && typed.all(|line| line.starts_with("rankwright ")),
                "{snippet}"
            );
        }
        let keep = "`--keep-node-groups` keeps the ranks of a node together";
        let found = Found::new("other-node-neighbours", "x").remedy(keep).finding();
        assert!(found.snippet.is_some_and(|snippet| snippet.contains(" --keep-node-groups -- ")));
        assert_eq!(Found::new("far-gpus", "x").remedy("fewer ranks").finding().snippet, None);
        let snippet = report.missing[0].snippet.as_deref().unwrap();
        let expected = "run 'my placement.json' --profile 'my {cluster}.rwp'";
        assert!(snippet.contains(expected), "{snippet}");
        assert_eq!(report.missing.len(), 1);
        assert!(report.findings.is_sorted_by_key(|finding| finding.severity));
    }
}
