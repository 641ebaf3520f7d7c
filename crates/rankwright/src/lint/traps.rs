//! The known traps, by name.

/// Something that a file may say and that means something else than it seems.
#[derive(Debug, PartialEq, Eq)]
pub struct Trap {
    /// Its stable name.
    pub code: &'static str,
    /// The launchers and versions concerned, as far as known.
    pub versions: &'static str,
    /// What happens, in one line.
    pub summary: &'static str,
}

macro_rules! traps {
    ($($name:ident = $code:literal, $versions:literal, $summary:literal;)*) => {
        $(pub(super) static $name: Trap =
            Trap { code: $code, versions: $versions, summary: $summary };)*

        /// All known traps, in the order of the documentation.
        pub const TRAPS: &[&Trap] = &[$(&$name),*];
    };
}

traps! {
    FIRST_RANK = "first-rank-not-0", "Open MPI 4.1, 5.0",
        "A rankfile whose first line is not of rank 0 is refused.";
    RANK_TWICE = "rank-twice", "all",
        "A rank stands twice; in a rankfile the later line wins, unnoticed if -np is given.";
    RANK_MISSING = "rank-missing", "all",
        "A rank between others has no line.";
    LINES_BEYOND = "lines-beyond-np", "all",
        "There are more lines than ranks are started; the last ones mean nothing.";
    SLOT_P = "slot-p-prefix", "Open MPI 4.1, 5.0",
        "slot=p1 is not PU P#1: 4.1 reads core 0, 5.0 all of package 1.";
    SLOT_NUMBER = "slot-not-a-number", "Open MPI 4.1, 5.0",
        "A number is read up to its first other character, as 0 if it begins with one (0x4, c1, a).";
    SLOT_LONG = "slot-list-too-long", "Open MPI 4.1, 5.0",
        "5.0 cuts slot lists behind 63 characters; in 4.1 host and list of more than 57 overflow a buffer.";
    SLOT_BLANK = "blank-in-slot-list", "Open MPI 4.1, 5.0",
        "A slot list ends at the first blank; what follows on the line is not read.";
    SLOT_QUOTED = "quoted-slot-list", "Open MPI 4.1, 5.0",
        "Quotes are refused.";
    SLOT_MISSING = "no-slot-list", "Open MPI 4.1, 5.0",
        "A line without slot= is refused by 4.1, its rank is not bound by 5.0.";
    SLOT_EMPTY = "empty-slot-list", "Open MPI 4.1, 5.0",
        "A list that names no core (3-1) leaves the rank unbound; `;` alone crashes mpirun.";
    SLOT_RANGE = "bad-range", "Open MPI 4.1, 5.0",
        "A range with two dashes (0-2-4), or none but a dash, is refused.";
    NO_CORE = "no-such-core", "Open MPI 4.1, 5.0",
        "A core that the node does not have: 4.1 ends without a message, 5.0 with one.";
    NO_PACKAGE = "no-such-package", "Open MPI 4.1, 5.0",
        "A package that the node does not have: refused or a crash.";
    PACKAGE_LIST = "list-of-package", "Open MPI 4.1",
        "0:0,1 is not two cores of package 0: the `,1` is package 1 without a core.";
    PACKAGE_TWICE = "package-named-twice", "Open MPI 5.0",
        "1:0,1:3 is read as 1:0,1,3: the second `1` becomes a core.";
    PACKAGE_RANGE = "range-and-list-of-package", "Open MPI 5.0",
        "1:0-1,3 is read as 1:0-1, 0:0,2-3 as 0:0-3.";
    BEYOND_PACKAGE = "core-beyond-package", "Open MPI 5.0",
        "0:9 on packages of 8 cores is core 1 of package 1; 4.1 refuses it.";
    UNEQUAL_PACKAGES = "unequal-packages", "Open MPI 5.0",
        "PACKAGE:CORE counts as if all packages had the cores of this one.";
    SLOTS_FEW = "too-few-slots", "Open MPI 5.0",
        "A host of -H, or with slots= in the hostfile, that has fewer slots than ranks of the rankfile: refused.";
    OVERSUBSCRIBE = "oversubscribe-drops-binding", "Open MPI 5.0",
        "rankfile:file=F:oversubscribe without --bind-to leaves all ranks unbound.";
    BIND_NONE = "bind-to-none-ignored", "Open MPI 4.1",
        "--bind-to none does not undo a rankfile.";
    COMMENT_AT_END = "comment-at-end", "Open MPI 4.1, 5.0",
        "A comment on a last line without line end is refused.";
    CARRIAGE_RETURN = "carriage-return", "Open MPI 4.1, 5.0, Slurm 22.05",
        "Line ends of Windows are refused.";
    HOST_NUMBER = "host-read-as-number", "Open MPI 4.1, 5.0",
        "A host name of digits loses its leading zeros.";
    SHORT_NAMES = "short-names-collide", "Open MPI 4.1, 5.0",
        "Host names are cut at the first dot; two hosts become one.";
    RELATIVE_HOST = "relative-host", "Open MPI 4.1",
        "+n0 counts the hosts of an allocation; without one (hosts from -H) it is refused.";
    RANGE = "range-joins", "MPICH 4.0 to 5.0",
        "binding=user:0-3 is one rank on four PUs, not four ranks (older ones read 0).";
    MULTIPLIER = "x-repeats", "MPICH 4.0 to 5.0",
        "0x2 in binding=user is PU 0 for two ranks, not a hexadecimal number.";
    BAD_ENTRY = "binding-not-a-number", "MPICH 4.0 to 5.0",
        "An entry of binding=user that begins with no digit: the job dies (4.1 or newer), or the rank is not bound (4.0).";
    BINDING_SHORT = "binding-too-short", "MPICH 4.0 to 5.0",
        "Ranks beyond the entries of binding=user are not bound.";
    BINDING_TWICE = "binding-twice", "MPICH 4.0 to 5.0",
        "Lines of one host that follow each other are one; two bindings there are refused.";
    HOST_SPLIT = "host-in-several-lines", "MPICH 4.0 to 5.0",
        "A host that comes back behind others gets a second proxy: local ranks count from 0 again, shared memory is not shared.";
    HOST_COMMENT = "comment-behind-host", "MPICH, Intel MPI",
        "Comments stand on lines of their own; behind a host they are refused.";
    HOST_FIELD = "unknown-hostfile-field", "MPICH, Intel MPI",
        "Fields of other launchers (slots=2), or a blank before the colon, are refused.";
    NO_SLOTS = "no-slots-on-host", "MPICH, Intel MPI",
        "host:0 and host:x have no slot; mpiexec divides by zero.";
    HOST_LINE = "hostfile-line-too-long", "MPICH, Intel MPI",
        "A line is cut behind 1023 characters; the rest is read as a line of its own.";
    WRAPS = "more-ranks-than-slots", "MPICH, Intel MPI, Flux",
        "With more ranks than slots the hostfile begins again with its first line.";
    SETTING_TWICE = "setting-twice", "MPICH 4.0 to 5.0",
        "-bind-to or -f for a second time, before another program too: refused (duplicate setting).";
    RANKMAP_OLD = "rankmap-before-4.1", "MPICH 4.0",
        "-rankmap does not exist before 4.1.";
    RANKMAP_SHORT = "rankmap-too-short", "MPICH 4.1 to 5.0",
        "Ranks beyond the end of -rankmap go to the first line.";
    RANKMAP_LINE = "rankmap-without-line", "MPICH 4.1 to 5.0",
        "-rankmap names a line that the hostfile does not have: mpiexec crashes.";
    MASK_WITHOUT_0X = "mask-without-0x", "Intel MPI 2021",
        "I_MPI_PIN_DOMAIN=[3,c] without 0x: a message, the default pinning and exit code 0.";
    LATER_PINNING = "later-pinning-ignored", "Intel MPI 2021",
        "What the first block of a host says counts for all its ranks; another value in a later block is ignored.";
    PIN_COUNT = "pin-count", "Intel MPI 2021",
        "More or fewer entries than the host has ranks: a list is then only the set that ranks are spread over, masks count for nothing; exit code 0.";
    PIN_KINDS = "list-here-masks-there", "Intel MPI 2021",
        "A configfile with I_MPI_PIN_PROCESSOR_LIST for one host and I_MPI_PIN_DOMAIN for another does not start.";
    PIN_OFF = "pinning-off-everywhere", "Intel MPI 2021",
        "I_MPI_PIN=0 in any block of a configfile turns pinning off on all hosts.";
    LIST_AND_DOMAIN = "list-and-domain", "Intel MPI 2021",
        "With I_MPI_PIN_PROCESSOR_LIST and I_MPI_PIN_DOMAIN the list wins, against the manual.";
    NO_PROGRAM = "line-without-program", "Intel MPI 2021",
        "A line of a configfile without a program (-genv alone) is refused.";
    LIST_AGAIN = "list-starts-again", "Slurm, Flux",
        "More ranks on a host than entries in the list: it begins again, ranks share PUs.";
    MAP_CPU_HEX = "map-cpu-hex", "Slurm 22.05",
        "map_cpu:0x1 is refused; only decimal numbers are taken.";
    MAP_CPU_RANGE = "map-cpu-range", "Slurm 22.05",
        "map_cpu knows no ranges; a dash is refused.";
    HOSTFILE_SHORT = "hostfile-too-short", "Slurm 22.05, Open MPI 4.1, 5.0",
        "SLURM_HOSTFILE, or the hostfile of the seq mapper, has fewer lines than ranks are started.";
    HOST_LIST = "host-list-in-hostfile", "Slurm 22.05",
        "SLURM_HOSTFILE takes n0, n0*2 and n0,n1; n[0-3] is refused.";
    HOST_BLANK = "blank-in-hostfile", "Slurm 22.05",
        "A blank before a host or between hosts of SLURM_HOSTFILE is refused.";
    ORDER_UNUSED = "rank-order-not-used", "Cray MPICH",
        "MPICH_RANK_ORDER counts only with MPICH_RANK_REORDER_METHOD=3.";
    ORDER_DISTRIBUTION = "rank-order-distribution", "Cray MPICH",
        "Reordering needs srun's block distribution; others are refused.";
    ORDER_PER_NODE = "ranks-per-node-assumed", "Cray MPICH",
        "Nobody says how many ranks a node takes; one per core is assumed.";
    SHIM_HOST = "exec-on-other-host", "rankwright-exec",
        "A rank starts on another host than its ranks.map says: rankwright-exec ends it.";
    SHIM_RANK = "exec-without-line", "rankwright-exec",
        "A rank has no line in the ranks.map: rankwright-exec ends it.";
    HOST_UNKNOWN = "unknown-host", "all",
        "A host that the cluster does not have.";
    NO_PU = "no-such-pu", "all",
        "A PU that the host does not have.";
    PU_NOT_FREE = "pu-not-free", "all",
        "A PU that jobs may not use, by the cluster description.";
    OVERLAP = "overlap", "all",
        "Two ranks on one PU; Open MPI 5 refuses it without --bind-to :overload-allowed, the others do not tell.";
    SHARED_CORE = "shared-core", "all",
        "Two ranks on hardware threads of one core while other cores of the host have none.";
    CROWDED = "more-ranks-than-cores", "all",
        "A host has more ranks than cores.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_kebab_case_and_unique() {
        let mut codes: Vec<&str> = TRAPS.iter().map(|trap| trap.code).collect();
        for code in &codes {
            let plain = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte)
            };
            assert!(code.bytes().all(plain), "{code}");
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), TRAPS.len());
    }
}
