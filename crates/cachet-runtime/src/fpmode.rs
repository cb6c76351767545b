//! Is the processor in the floating-point mode in which the bits are promised?
//!
//! That mode is: round to nearest even, subnormals kept as inputs and as results, no exception traps. A library built
//! with fast-math may switch flushing on for the thread that loads it, so every thread that runs generated code enters
//! an [`FpGuard`], which puts the mode right and restores what it found.

/// The control part of the floating-point mode register of this thread (MXCSR on x86-64, FPCR on AArch64).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpMode {
    control: u64,
}

impl FpMode {
    /// The mode in which the bits are promised.
    pub const STRICT: FpMode = FpMode { control: register::STRICT };

    /// The mode that this thread is in.
    pub fn current() -> FpMode {
        FpMode { control: register::read() & register::CONTROL }
    }

    /// Whether results have the promised bits in this mode.
    pub fn is_strict(self) -> bool {
        self == FpMode::STRICT
    }

    /// Whether subnormal inputs or results become zero in this mode.
    pub fn flushes_subnormals(self) -> bool {
        self.control & register::FLUSH != 0
    }

    /// Whether rounding is to nearest, ties to even.
    pub fn rounds_to_nearest(self) -> bool {
        self.control & register::ROUNDING == 0
    }

    /// This mode, with flushing of subnormals switched on; for tests of the guard.
    #[must_use]
    pub fn with_flushing(self) -> FpMode {
        FpMode { control: self.control | register::FLUSH }
    }

    fn install(self) {
        register::write((register::read() & !register::CONTROL) | self.control);
    }
}

/// Holds this thread in a mode; restores the mode it found when dropped.
#[derive(Debug)]
pub struct FpGuard {
    found: FpMode,
    // The mode belongs to one thread: the guard must be dropped where it was made.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl FpGuard {
    /// Enters the strict mode.
    pub fn enter() -> FpGuard {
        FpGuard::enter_mode(FpMode::STRICT)
    }

    /// Enters a given mode.
    pub fn enter_mode(mode: FpMode) -> FpGuard {
        let found = FpMode::current();
        if found != mode {
            mode.install();
        }
        FpGuard { found, _not_send: std::marker::PhantomData }
    }

    /// The mode that was found and will be restored.
    pub fn found(&self) -> FpMode {
        self.found
    }
}

impl Drop for FpGuard {
    fn drop(&mut self) {
        if FpMode::current() != self.found {
            self.found.install();
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod register {
    /// All but the six sticky exception flags.
    pub(super) const CONTROL: u64 = 0xFFC0;
    /// Exceptions masked, nearest, no flushing: the value after reset.
    pub(super) const STRICT: u64 = 0x1F80;
    /// Flush-to-zero (bit 15) and denormals-are-zero (bit 6).
    pub(super) const FLUSH: u64 = 0x8040;
    pub(super) const ROUNDING: u64 = 0x6000;

    pub(super) fn read() -> u64 {
        let mut value = 0_u32;
        // SAFETY: `stmxcsr` writes four bytes to the given address, which is a live `u32`.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags));
        }
        u64::from(value)
    }

    pub(super) fn write(value: u64) {
        let value = value as u32;
        // SAFETY: reads four bytes from a live `u32`; reserved bits are as `read` found them, so `ldmxcsr` cannot
        // trap. The guard restores the mode before other Rust code of the thread can observe it for long; only
        // generated code and measured closures run in between.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    /// FPCR has no sticky flags.
    pub(super) const CONTROL: u64 = u64::MAX;
    pub(super) const STRICT: u64 = 0;
    /// FZ (24), FZ16 (19), FIZ (0).
    pub(super) const FLUSH: u64 = (1 << 24) | (1 << 19) | 1;
    pub(super) const ROUNDING: u64 = 0b11 << 22;

    pub(super) fn read() -> u64 {
        let value: u64;
        // SAFETY: reading FPCR is allowed in user mode and has no side effect.
        unsafe {
            std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }

    pub(super) fn write(value: u64) {
        // SAFETY: writing FPCR is allowed in user mode and changes only how this thread rounds and flushes.
        unsafe {
            std::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags));
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("cachet-runtime knows the floating-point mode of x86-64 and AArch64");

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    fn halve_smallest_normal() -> f32 {
        black_box(f32::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn threads_start_strict() {
        let mode = FpMode::current();
        assert!(mode.is_strict(), "{mode:?}");
        assert!(mode.rounds_to_nearest());
    }

    #[test]
    fn guard_puts_the_mode_right_and_restores_what_it_found() {
        let _outer = FpGuard::enter_mode(FpMode::STRICT.with_flushing());
        assert!(FpMode::current().flushes_subnormals());
        assert_eq!(halve_smallest_normal(), 0.0);
        {
            let guard = FpGuard::enter();
            assert!(guard.found().flushes_subnormals());
            assert!(FpMode::current().is_strict());
            assert!(halve_smallest_normal() > 0.0);
        }
        assert!(FpMode::current().flushes_subnormals());
        assert_eq!(halve_smallest_normal(), 0.0);
    }
}
