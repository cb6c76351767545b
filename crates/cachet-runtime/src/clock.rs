//! The thread's view of the scheduler: which core it is on, and how often it was switched out.

use crate::sys;

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
    let mut time = sys::TimeSpec::default();
    // SAFETY: `time` has the layout of `struct timespec` on 64-bit Linux and macOS.
    let status = unsafe { sys::clock_gettime(sys::CLOCK_THREAD, &raw mut time) };
    (status == 0).then_some(time.seconds as f64 + time.nanoseconds as f64 * 1e-9)
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
        let mut before: CoreMask = [0; MASK_WORDS];
        // SAFETY: the mask is `size_of_val(&before)` writable bytes; thread 0 is the caller.
        let read = unsafe { sys::sched_getaffinity(0, size_of_val(&before), before.as_mut_ptr()) };
        // SAFETY: no preconditions; answers -1 where unknown.
        let here = usize::try_from(unsafe { sys::sched_getcpu() }).ok();
        let core = here.filter(|core| read >= 0 && *core < MASK_WORDS * 64);
        let pinned = core.filter(|core| {
            let mut only: CoreMask = [0; MASK_WORDS];
            only[core / 64] = 1 << (core % 64);
            set_affinity(&only)
        });
        PinnedThread { core: pinned, before, _not_send: std::marker::PhantomData }
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
            set_affinity(&self.before);
        }
    }
}

#[cfg(target_os = "linux")]
fn set_affinity(mask: &CoreMask) -> bool {
    // SAFETY: the mask is `size_of_val(mask)` readable bytes; thread 0 is the caller.
    unsafe { sys::sched_setaffinity(0, size_of_val(mask), mask.as_ptr()) == 0 }
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
        let wall = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(30));
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
