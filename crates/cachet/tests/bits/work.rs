//! Two threads through the instances of the suite, and what was compared.

use crate::families::{Instance, Suite};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much was compared.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// Kernels at sizes on inputs.
    pub runs: u64,
    /// Output elements.
    pub elements: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs, {} elements compared", self.runs, self.elements)
    }
}

/// Does something with every instance; fails with all that differed, and where nothing was compared.
pub fn each(suite: &Suite, job: &(dyn Fn(&Instance) -> Result<Counts, String> + Sync)) -> Counts {
    let next = AtomicUsize::new(0);
    let found = Mutex::new((Counts::default(), Vec::new()));
    let run = || {
        while let Some(instance) = suite.instances.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = job(instance);
            let mut found = found.lock().unwrap();
            match result {
                Ok(c) => {
                    found.0.runs += c.runs;
                    found.0.elements += c.elements;
                }
                Err(text) => found.1.push(text),
            }
        }
    };
    std::thread::scope(|s| {
        s.spawn(run);
        s.spawn(run);
    });
    let (counts, mut different) = found.into_inner().unwrap();
    different.sort();
    assert!(different.is_empty(), "{} instances differ:\n{}", different.len(), different.join("\n"));
    assert!(counts.elements > 0, "nothing was compared");
    counts
}
