//! TAP devices: what a switch sends to one, a process reads, and what the process writes, the switch
//! receives. Documentation: the kernel's `Documentation/networking/tuntap.rst`.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use anyhow::Context;

const DEVICE: &str = "/dev/net/tun";
/// The longest frame: jumbo frames with their headers.
const LONGEST_FRAME: usize = 9000 + 64;

/// An open TAP device; it goes with this value.
pub(super) struct Tap {
    name: String,
    file: File,
}

impl Tap {
    /// Makes the device in the current network namespace.
    #[expect(unsafe_code, reason = "the standard library cannot make network devices")]
    pub(super) fn open(name: &str) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
        let file = file.with_context(|| {
            format!(
                "{DEVICE}: a lab with --delay needs it where the kernel has no netem; \
                 `modprobe tun`, in a container --device {DEVICE}, and the right to open it"
            )
        })?;
        // SAFETY: a structure of integers and addresses, for which zero is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        let flags = libc::IFF_TAP | libc::IFF_NO_PI;
        request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).context("flags of a TAP")?;
        // SAFETY: the request lives through the call, which writes no more than its size.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        if done != 0 {
            return Err(io::Error::last_os_error()).with_context(|| format!("device {name}"));
        }
        Ok(Self { name: name.to_owned(), file })
    }

    /// Reads the next frame; false if there is none.
    pub(super) fn read(&self, frame: &mut Vec<u8>) -> anyhow::Result<bool> {
        frame.resize(LONGEST_FRAME, 0);
        match (&self.file).read(frame) {
            Ok(length) => {
                frame.truncate(length);
                Ok(true)
            }
            // The device is not up yet, or a signal came.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(false),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Ok(false)
            }
            Err(error) => Err(error).with_context(|| format!("device {}", self.name)),
        }
    }

    /// Writes a frame; one that the switch does not take is lost, as any frame may be.
    pub(super) fn write(&self, frame: &[u8]) {
        let _ = (&self.file).write(frame);
    }
}

/// Waits until a device has a frame or the time is over; without a time until a frame comes. Returns
/// whether a device has one.
#[expect(unsafe_code, reason = "the standard library cannot wait for several files")]
pub(super) fn wait_for_frames(taps: &[Tap], time: Option<Duration>) -> io::Result<bool> {
    let entry =
        |tap: &Tap| libc::pollfd { fd: tap.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<libc::pollfd> = taps.iter().map(entry).collect();
    let time = time.map(|time| libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(time.subsec_nanos().cast_signed()),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = entries.len() as libc::nfds_t;
    // SAFETY: the list has as many entries as said; list and time live through the call.
    let ready = unsafe { libc::ppoll(entries.as_mut_ptr(), count, time, std::ptr::null()) };
    if ready >= 0 {
        return Ok(ready > 0);
    }
    let error = io::Error::last_os_error();
    if error.kind() == ErrorKind::Interrupted { Ok(false) } else { Err(error) }
}

/// Lets this process run as soon as it can, before all ordinary ones: ranks that spin would hold a
/// frame up for milliseconds. Timers are exact. Where that is not permitted, it stays ordinary.
#[expect(unsafe_code, reason = "the standard library has no calls for this")]
pub(super) fn run_before_others() {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: calls with integers, and a structure that lives through the call.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64);
    }
}
