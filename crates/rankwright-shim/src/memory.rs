//! The NUMA nodes (P#) that this process takes memory from.
#![expect(unsafe_code, reason = "there is no library call for this, only the system calls")]

use std::io;

use rankwright_shim_format::pu_list;
use rankwright_shim_format::ranks_map::{Memory, Policy};

/// The number of NUMA nodes of a mask; more than the kernel supports.
const MOST_NODES: usize = 1024;

type Mask = [libc::c_ulong; MOST_NODES / libc::c_ulong::BITS as usize];

/// Sets the memory policy of this process.
pub(crate) fn set(Memory { policy, node }: Memory) -> io::Result<()> {
    let mode = match policy {
        Policy::Preferred => libc::MPOL_PREFERRED,
        Policy::Bind => libc::MPOL_BIND,
    };
    let mut mask: Mask = [0; MOST_NODES / libc::c_ulong::BITS as usize];
    let bits = libc::c_ulong::BITS;
    let Some(word) = mask.get_mut((node / bits) as usize) else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    *word = 1 << (node % bits);
    // SAFETY: the kernel reads `MOST_NODES` bits of `mask`.
    let result =
        unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, &raw const mask, MOST_NODES) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The memory policy as text: `default`, `preferred:0`, `bind:0-1`; `-` if the kernel does not
/// tell.
pub(crate) fn policy() -> String {
    let mut mode: libc::c_int = 0;
    let mut mask: Mask = [0; MOST_NODES / libc::c_ulong::BITS as usize];
    // SAFETY: the kernel writes one int to `mode` and at most `MOST_NODES` bits to `mask`.
    let result = unsafe {
        libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, &raw mut mask, MOST_NODES, 0, 0)
    };
    let bits = libc::c_ulong::BITS;
    let is_set = |node: &u32| mask[(node / bits) as usize] >> (node % bits) & 1 == 1;
    let nodes: Vec<u32> = (0..MOST_NODES as u32).filter(is_set).collect();
    let name = match mode {
        _ if result != 0 => return "-".to_owned(),
        libc::MPOL_DEFAULT => return "default".to_owned(),
        libc::MPOL_LOCAL => return "local".to_owned(),
        libc::MPOL_PREFERRED => "preferred",
        libc::MPOL_BIND => "bind",
        libc::MPOL_INTERLEAVE => "interleave",
        _ => "other",
    };
    format!("{name}:{}", pu_list::format(&nodes))
}
