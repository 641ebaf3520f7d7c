//! Files of other tools that contain no traffic: recognised by content and refused with the reason.

/// A kind of file without traffic.
#[derive(Debug)]
pub struct Refused {
    /// What the file is; completes "found".
    pub what: &'static str,
    /// Why it cannot be imported, and what to do instead.
    pub why: &'static str,
    /// Whether a text looks like this kind of file.
    sniff: fn(&str) -> bool,
}

const REFUSED: [Refused; 7] = [
    Refused {
        what: "a placement file",
        why: "`launch`, `run` and `check` take it; `place` needs the traffic that it was made for",
        sniff: |text| text.trim_start().starts_with('{') && text.contains("\"workload_digest\""),
    },
    Refused {
        what: "the description of a cluster",
        why: "give it with --on",
        sniff: |text| text.lines().any(|line| line.trim_end() == "[[node]]"),
    },
    Refused {
        what: "a report of mpiP",
        why: "mpiP adds up over all partners, so it has no data per pair of ranks; profile the program with \
              `rankwright profile`",
        sniff: |text| super::first_line(text).starts_with("@ mpiP"),
    },
    Refused {
        what: "a report of pat_report",
        why: "pat_report adds up over all partners, so it has no data per pair of ranks; if it mentions a grid, \
              import the MPICH_RANK_ORDER.Grid that was written with it",
        sniff: |text| super::first_line(text).starts_with("CrayPat/"),
    },
    Refused {
        what: "the output of dumpi2ascii for one rank",
        why: "DUMPI traces are not read; replay them under `rankwright profile`, or convert them to \
              OTF2",
        sniff: |text| text.lines().take(50).any(|line| line.contains(" entering at walltime ")),
    },
    Refused {
        what: "a Paraver trace",
        why: "Paraver traces are not read; profile the program with `rankwright profile`",
        sniff: |text| super::first_line(text).starts_with("#Paraver"),
    },
    Refused {
        what: "the text summary of IPM",
        why: "it has no data per pair of ranks; import the XML file, written with IPM_REPORT=full \
              IPM_LOG=full",
        sniff: |text| super::first_line(text).starts_with("##IPM"),
    },
];

/// The refused kind of file that a text looks like, if any.
#[must_use]
pub fn refused(text: &str) -> Option<&'static Refused> {
    REFUSED.iter().find(|refused| (refused.sniff)(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::read::import::{FORMATS, sniff};

    #[test]
    fn refused_files_match_no_format() {
        let texts = [
            "{\n  \"format\": 1,\n  \"strategy\": \"drb\",\n  \"workload_digest\": \"0\"\n}\n",
            "name = \"c\"\n[[node]]\nnames = \"n[0-3]\"\n",
            "@ mpiP\n@ Command : ./app\n@ Version : 3.5.0\n",
            "CrayPat/X:  Version 6.4.2 Revision 06dc29b\n",
            "MPI_Init entering at walltime 102.3, cputime 0.1 seconds in thread 0.\nint argc=1\n",
            "#Paraver (01/01/2020 at 12:00):100_ns:1(4):1:1(4:1,4:1)\n1:1:1:1:1:0:1:1\n",
            "##IPMv2.0.6#################\n#\n# command   : ./app\n",
        ];
        for text in texts {
            assert!(refused(text).is_some(), "{text}");
            assert!(sniff(text).is_none(), "{text}");
        }
        assert!(FORMATS.iter().all(|format| refused(format.summary).is_none()));
        assert!(refused("job,source,destination,bytes\n").is_none());
    }
}
