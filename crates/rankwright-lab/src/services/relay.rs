//! The relay of a lab with latency, where the kernel cannot delay packets: it reads frames from TAP
//! devices and writes each back after the same time.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use rankwright::units::Seconds;

use super::running::{Running, command_in, wait_until};
use super::tap::{Tap, run_before_others, wait_for_frames};
use crate::state::{Folder, Lab};

/// The most bytes of frames that wait; what comes then is lost, as in a switch that is full. It is
/// 100 ms at 10 Gbit/s.
const MOST_WAITING: usize = 128 << 20;

/// How many frames are read before those that are due are written.
const READ_AT_ONCE: usize = 64;

/// What a message takes beside the wait: through both devices and the switch, to wake the relay up,
/// and to the receiver. It belongs to the latency that was asked for. Measured between two spinning
/// ranks on a machine with two cores: 125 to 210 us, more after longer waits.
const HOST_TIME: Duration = Duration::from_micros(150);

/// Timers are late by what the machine needs to wake up. The relay wakes up by this time early and then
/// looks at the clock and for frames until the next one is due.
const LONGEST_EARLY: Duration = Duration::from_micros(200);

/// Starts the relay of a lab and waits until its devices exist.
pub(crate) fn start(
    lab: &Lab,
    folder: &Folder,
    delay: Seconds,
    taps: &[String],
    services: &mut Vec<Running>,
    check: &dyn Fn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("the path of this program")?;
    let mut command = command_in(lab.head)?;
    command.arg(program).args(["lab", "relay", "--delay", &delay.to_string()]).args(taps);
    let log = folder.file("relay.log");
    services.push(Running::start("relay", command, &log)?);
    let devices = format!("/proc/{}/net/dev", lab.head);
    wait_until(services, &log, check, || {
        let text = std::fs::read_to_string(Path::new(&devices)).unwrap_or_default();
        taps.iter().all(|tap| text.contains(&format!("{tap}:")))
    })
}

/// A frame that waits.
struct Frame {
    due: Instant,
    tap: usize,
    bytes: Vec<u8>,
}

/// Relays the frames of these TAP devices of the current network namespace, each after `delay`; does
/// not return.
///
/// # Errors
/// If a device cannot be opened or read.
pub fn relay(delay: Seconds, taps: &[String]) -> anyhow::Result<()> {
    let taps: Vec<Tap> = taps.iter().map(|name| Tap::open(name)).collect::<Result<_, _>>()?;
    let delay = Duration::from_secs_f64(delay.0).saturating_sub(HOST_TIME);
    run_before_others();
    let (mut queue, mut early) = (Queue::default(), Duration::from_micros(50));
    loop {
        let (now, due) = (Instant::now(), queue.waiting.front().map(|frame| frame.due));
        let time = due.map(|due| due.saturating_duration_since(now).saturating_sub(early));
        let came = wait_for_frames(&taps, time).context("waiting for frames")?;
        if let Some(time) = time.filter(|time| !came && !time.is_zero()) {
            let late = now.elapsed().saturating_sub(time);
            early = ((early * 7 + late + late / 4) / 8).min(LONGEST_EARLY);
        }
        if came {
            queue.read(&taps, delay)?;
        }
        queue.write(&taps);
    }
}

/// The frames that wait, in the order in which they are due.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Frame>,
    bytes: usize,
    /// The frame that is being read, of the longest size.
    next: Vec<u8>,
}

impl Queue {
    fn read(&mut self, taps: &[Tap], delay: Duration) -> anyhow::Result<()> {
        for (index, tap) in taps.iter().enumerate() {
            for _ in 0..READ_AT_ONCE {
                if !tap.read(&mut self.next)? {
                    break;
                }
                if self.bytes + self.next.len() <= MOST_WAITING {
                    self.bytes += self.next.len();
                    let due = Instant::now() + delay;
                    // A copy of its own length: short frames need no more memory than they are counted.
                    self.waiting.push_back(Frame { due, tap: index, bytes: self.next.clone() });
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, taps: &[Tap]) {
        while self.waiting.front().is_some_and(|frame| frame.due <= Instant::now()) {
            let Some(frame) = self.waiting.pop_front() else { break };
            taps[frame.tap].write(&frame.bytes);
            self.bytes -= frame.bytes.len();
        }
    }
}
