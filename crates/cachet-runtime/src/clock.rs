//! The thread's view of the scheduler: which core it is on, and how often it was switched out.

use crate::sys;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// How often this thread was switched out against its will so far (on macOS: this process).
pub fn involuntary_switches() -> u64 {
    let mut usage = sys::ResourceUsage::default();
    // SAFETY: `usage` has the size and layout of `struct rusage` on 64-bit Linux and macOS.
    let status = unsafe { sys::getrusage(sys::RUSAGE, &raw mut usage) };
    if status != 0 {
        return 0;
    }
    u64::try_from(usage.counters[sys::ResourceUsage::INVOLUNTARY_SWITCHES]).unwrap_or(0)
}

/// Seconds that processors have spent on this thread; `None` where the system does not say.
pub fn thread_seconds() -> Option<f64> {
    seconds_of(sys::CLOCK_THREAD)
}

/// Seconds that processors have spent on this process; `None` where the system does not say.
pub fn process_seconds() -> Option<f64> {
    seconds_of(sys::CLOCK_PROCESS)
}

fn seconds_of(clock: c_int) -> Option<f64> {
    let mut time = sys::TimeSpec::default();
    // SAFETY: `time` has the layout of `struct timespec` on 64-bit Linux and macOS.
    let status = unsafe { sys::clock_gettime(clock, &raw mut time) };
    (status == 0).then_some(time.seconds as f64 + time.nanoseconds as f64 * 1e-9)
}

/// How often it is looked whether other threads rest, and for how long at most. What a thread takes while it runs is booked
/// at ticks, which may be 10 ms apart.
const LOOK: Duration = Duration::from_millis(12);
const LONGEST: Duration = Duration::from_millis(200);
/// Less than this share of the time is no work.
const AT_REST: f64 = 0.1;

/// Waits until no other thread of this process computes: those of libraries look for more work in vain for a while after a
/// call. Not for ever, as some never sleep.
pub fn until_others_rest() {
    let start = Instant::now();
    while start.elapsed() < LONGEST {
        let (here, before) = (Instant::now(), process_seconds());
        std::thread::sleep(LOOK);
        let Some(spent) = process_seconds().zip(before).map(|(after, before)| after - before) else { return };
        if spent < AT_REST * here.elapsed().as_secs_f64() {
            return;
        }
    }
}

/// Number of cores that this process may use.
pub fn cpu_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Keeps this thread on one core until dropped, where the system offers that.
#[derive(Debug)]
pub struct PinnedThread {
    core: Option<usize>,
    #[cfg(target_os = "linux")]
    before: CoreMask,
    // Affinity belongs to one thread: the guard must be dropped where it was made.
    _not_send: std::marker::PhantomData<*const ()>,
}

#[cfg(target_os = "linux")]
const MASK_WORDS: usize = 16;
#[cfg(target_os = "linux")]
type CoreMask = [u64; MASK_WORDS];

impl PinnedThread {
    /// Pins the calling thread to the core it is running on.
    #[cfg(target_os = "linux")]
    pub fn here() -> PinnedThread {
        let before = affinity(0);
        // SAFETY: no preconditions; answers -1 where unknown.
        let here = usize::try_from(unsafe { sys::sched_getcpu() }).ok();
        let core = here.filter(|core| before.is_some() && *core < MASK_WORDS * 64);
        let pinned = core.filter(|core| set_affinity(0, &only(*core)));
        PinnedThread { core: pinned, before: before.unwrap_or_default(), _not_send: std::marker::PhantomData }
    }

    /// This system does not offer pinning: the guard does nothing.
    #[cfg(not(target_os = "linux"))]
    pub fn here() -> PinnedThread {
        PinnedThread { core: None, _not_send: std::marker::PhantomData }
    }

    /// The core that the thread is held on.
    pub fn core(&self) -> Option<usize> {
        self.core
    }
}

#[cfg(target_os = "linux")]
impl Drop for PinnedThread {
    fn drop(&mut self) {
        if self.core.is_some() {
            set_affinity(0, &self.before);
        }
    }
}

/// Keeps the other threads of this process off the core on which the calling one is held, until dropped, where the system
/// offers that. Left alone, one that wakes up may wait for milliseconds behind the one that woke it while other cores idle.
#[derive(Debug)]
pub struct OthersApart {
    #[cfg(target_os = "linux")]
    moved: std::collections::BTreeMap<c_int, CoreMask>,
}

impl OthersApart {
    /// Keeps those off the core that are there now.
    pub fn from(pinned: &PinnedThread) -> OthersApart {
        let mut apart = OthersApart {
            #[cfg(target_os = "linux")]
            moved: [].into(),
        };
        apart.again(pinned);
        apart
    }

    /// And those that have been started since.
    #[cfg(target_os = "linux")]
    pub fn again(&mut self, pinned: &PinnedThread) {
        let (Some(core), Ok(tasks)) = (pinned.core, std::fs::read_dir("/proc/self/task")) else { return };
        // SAFETY: no preconditions.
        let own = unsafe { sys::gettid() };
        let ids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<c_int>().ok());
        for id in ids.filter(|id| *id != own) {
            let Some(mut before) = affinity(id) else { continue };
            // A thread that the pinned one started is held where it is.
            if before == only(core) {
                before = pinned.before;
            }
            let mut others = before;
            others[core / 64] &= !(1 << (core % 64));
            if others != CoreMask::default() && others != before && set_affinity(id, &others) {
                self.moved.entry(id).or_insert(before);
            }
        }
    }

    /// This system does not offer it: nothing is done.
    #[cfg(not(target_os = "linux"))]
    pub fn again(&mut self, _: &PinnedThread) {}
}

#[cfg(target_os = "linux")]
impl Drop for OthersApart {
    fn drop(&mut self) {
        // One that has ended since is nobody's.
        self.moved.iter().for_each(|(id, before)| {
            set_affinity(*id, before);
        });
    }
}

#[cfg(target_os = "linux")]
fn only(core: usize) -> CoreMask {
    let mut only = CoreMask::default();
    only[core / 64] = 1 << (core % 64);
    only
}

/// The cores that a thread may use; thread 0 is the caller.
#[cfg(target_os = "linux")]
fn affinity(thread: c_int) -> Option<CoreMask> {
    let mut mask = CoreMask::default();
    // SAFETY: the mask is `size_of_val(&mask)` writable bytes.
    let read = unsafe { sys::sched_getaffinity(thread, size_of_val(&mask), mask.as_mut_ptr()) };
    (read >= 0).then_some(mask)
}

#[cfg(target_os = "linux")]
fn set_affinity(thread: c_int, mask: &CoreMask) -> bool {
    // SAFETY: the mask is `size_of_val(mask)` readable bytes.
    unsafe { sys::sched_setaffinity(thread, size_of_val(mask), mask.as_ptr()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn pins_and_restores() {
        let allowed = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap();
            line.split_whitespace().last().unwrap().to_owned()
        };
        let before = allowed();
        let pinned = PinnedThread::here();
        let core = pinned.core().unwrap();
        assert_eq!(allowed(), core.to_string());
        drop(pinned);
        assert_eq!(allowed(), before);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn others_are_kept_apart_and_let_go() {
        if cpu_count() < 2 {
            return;
        }
        let (told, tell) = std::sync::mpsc::channel::<()>();
        let (say, said) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            // SAFETY: no preconditions.
            say.send(unsafe { sys::gettid() }).unwrap();
            tell.recv().unwrap_err();
        });
        let id = said.recv().unwrap();
        let before = affinity(id).unwrap();
        let pinned = PinnedThread::here();
        let core = pinned.core().unwrap();
        let apart = OthersApart::from(&pinned);
        assert_eq!(affinity(id).unwrap()[core / 64] >> (core % 64) & 1, 0);
        assert_eq!(affinity(0).unwrap(), only(core));
        drop(apart);
        assert_eq!(affinity(id).unwrap(), before);
        drop(told);
        other.join().unwrap();
    }

    #[test]
    fn a_process_that_waits_is_at_rest() {
        let before = process_seconds().unwrap();
        assert!(before > 0.0);
        until_others_rest();
        assert!(process_seconds().unwrap() >= before);
    }

    #[test]
    fn a_sleeping_thread_costs_no_time_of_its_own() {
        let spin = |seconds: f64| {
            let start = thread_seconds().unwrap();
            while thread_seconds().unwrap() - start < seconds {}
        };
        let start = thread_seconds().unwrap();
        spin(0.01);
        let spent = thread_seconds().unwrap() - start;
        assert!((0.01..0.02).contains(&spent), "{spent}");
        let wall = Instant::now();
        std::thread::sleep(Duration::from_millis(30));
        let slept = thread_seconds().unwrap() - start - spent;
        assert!(wall.elapsed().as_secs_f64() >= 0.03 && slept < 0.01, "{slept}");
    }

    #[test]
    fn switches_never_decrease() {
        let before = involuntary_switches();
        assert!(involuntary_switches() >= before);
        assert!(cpu_count() >= 1);
    }
}
