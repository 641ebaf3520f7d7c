//! Classifies MPI functions by name.

use crate::traffic::collectives::Operation;

/// Class of an MPI function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// `MPI_Init`, `MPI_Init_thread`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// A send, receive or probe.
    PointToPoint,
    /// A wait or test.
    Wait,
    /// A collective operation, or the start of one.
    Collective,
    /// One-sided communication, or the synchronisation of a window.
    OneSided,
    /// Everything else.
    Other,
}

const POINT_TO_POINT: [&str; 24] = [
    "Send",
    "Bsend",
    "Ssend",
    "Rsend",
    "Isend",
    "Ibsend",
    "Issend",
    "Irsend",
    "Recv",
    "Irecv",
    "Mrecv",
    "Imrecv",
    "Sendrecv",
    "Sendrecv_replace",
    "Isendrecv",
    "Isendrecv_replace",
    "Probe",
    "Iprobe",
    "Mprobe",
    "Improbe",
    "Start",
    "Startall",
    "Pready",
    "Parrived",
];

const ONE_SIDED: [&str; 25] = [
    "Put",
    "Get",
    "Accumulate",
    "Get_accumulate",
    "Fetch_and_op",
    "Compare_and_swap",
    "Rput",
    "Rget",
    "Raccumulate",
    "Rget_accumulate",
    "Win_fence",
    "Win_start",
    "Win_complete",
    "Win_post",
    "Win_wait",
    "Win_test",
    "Win_lock",
    "Win_lock_all",
    "Win_unlock",
    "Win_unlock_all",
    "Win_flush",
    "Win_flush_all",
    "Win_flush_local",
    "Win_flush_local_all",
    "Win_sync",
];

impl Call {
    /// Classifies the function with this name, with or without `MPI_` and the suffix `_c` of large
    /// counts.
    pub(super) fn named(name: &str) -> Self {
        let name = name.strip_prefix("MPI_").unwrap_or(name);
        let name = name.strip_suffix("_c").unwrap_or(name);
        match name {
            "Init" | "Init_thread" => Self::Init,
            "Finalize" => Self::Finalize,
            _ if POINT_TO_POINT.contains(&name) => Self::PointToPoint,
            "Test_cancelled" => Self::Other,
            _ if name.starts_with("Wait") || name.starts_with("Test") => Self::Wait,
            _ if ONE_SIDED.contains(&name) => Self::OneSided,
            _ if is_collective(name) => Self::Collective,
            _ => Self::Other,
        }
    }
}

fn is_collective(name: &str) -> bool {
    let nonblocking = name.strip_prefix('I').is_some_and(|rest| operation(rest).is_some());
    operation(name).is_some() || nonblocking
}

/// The collective operation with this name, ignoring case.
pub(super) fn operation(name: &str) -> Option<Operation> {
    let all = (0..).map_while(Operation::from_number);
    all.into_iter().find(|operation| operation.name().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_function_is_for() {
        let cases = [
            ("MPI_Init_thread", Call::Init),
            ("MPI_Finalize", Call::Finalize),
            ("MPI_Isend_c", Call::PointToPoint),
            ("MPI_Send_init", Call::Other),
            ("MPI_Waitall", Call::Wait),
            ("MPI_Testsome", Call::Wait),
            ("MPI_Test_cancelled", Call::Other),
            ("MPI_Allreduce", Call::Collective),
            ("MPI_Ialltoallv", Call::Collective),
            ("MPI_Reduce_local", Call::Other),
            ("MPI_Win_fence", Call::OneSided),
            ("MPI_Win_create", Call::Other),
            ("MPI_Rget_accumulate", Call::OneSided),
        ];
        for (name, call) in cases {
            assert_eq!(Call::named(name), call, "{name}");
        }
        assert_eq!(operation("REDUCE_SCATTER_BLOCK"), Some(Operation::ReduceScatterBlock));
        assert_eq!(operation("CREATE_HANDLE"), None);
    }
}
