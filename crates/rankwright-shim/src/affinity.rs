//! The PUs (P#) that this process may run on.
#![expect(unsafe_code, reason = "the standard library has no calls for this")]

use std::io;

/// The number of PUs of a mask; more than any node has.
const MOST_PUS: usize = 65_536;

/// An affinity mask of the kernel: bit n is PU P#n.
type Mask = [u64; MOST_PUS / 64];

/// The PUs that this process may run on, ascending.
pub(crate) fn current() -> io::Result<Vec<u32>> {
    let mut mask: Mask = [0; MOST_PUS / 64];
    // SAFETY: the kernel writes at most `size_of_val(&mask)` bytes to `mask`.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), (&raw mut mask).cast()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_set = |pu: &u32| mask[*pu as usize / 64] >> (pu % 64) & 1 == 1;
    Ok((0..MOST_PUS as u32).filter(is_set).collect())
}

/// Lets this process run on those of the PUs that its cpuset contains.
///
/// # Errors
/// If its cpuset contains none of them.
pub(crate) fn set(pus: &[u32]) -> io::Result<()> {
    let mut mask: Mask = [0; MOST_PUS / 64];
    for &pu in pus {
        mask[pu as usize / 64] |= 1 << (pu % 64);
    }
    apply(&mask)
}

/// Lets this process run on all PUs of its cpuset, and returns them. These are the granted PUs,
/// whatever the launcher has bound the process to.
pub(crate) fn widen() -> io::Result<Vec<u32>> {
    apply(&[u64::MAX; MOST_PUS / 64])?;
    current()
}

/// The PU that this process runs on now.
pub(crate) fn running_on() -> Option<u32> {
    // SAFETY: no arguments, no memory.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

fn apply(mask: &Mask) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of_val(mask)` bytes of `mask`.
    let result =
        unsafe { libc::sched_setaffinity(0, size_of_val(mask), (&raw const *mask).cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
