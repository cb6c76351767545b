//! How fast could it be? The roofline of a measurement.
//!
//! A call makes so many operations, and reads its inputs and writes its outputs at least once. It takes at least as long
//! as the operations take at the peak of the multiply-adds, or of an instruction that kernels use and that does more, as the
//! inputs take to be read, and as the outputs take to be written: the largest of the three is the floor under its time, which
//! is the roof over its speed. All three are measured in the same rounds as the kernels, and a share of the roof is taken
//! inside rounds.

use cachet_core::ir::Elem;
use cachet_runtime::{Interval, MeasureReport, RoundRecord, median};

/// The limits of a call.
#[derive(Clone, Debug)]
pub struct Roof {
    /// Operations.
    pub flops: f64,
    /// Bytes that are read at least.
    pub read: f64,
    /// Bytes that are written at least.
    pub written: f64,
    /// The peak of multiply-adds or of the instruction, GFLOP/s; `None` where there is none of these elements that was measured.
    pub peak: Option<f64>,
    /// How fast these inputs can be read, GB/s; `None` on several threads, where it was not measured.
    pub reading: Option<f64>,
    /// How fast these outputs can be written, GB/s.
    pub writing: Option<f64>,
    /// The least time of a call by these limits, in seconds; `None` where there are none.
    pub floor: Option<f64>,
    /// Which of them it is.
    pub limit: Limit,
    /// Of which instruction the peak is, where it is not that of multiply-adds.
    pub instruction: Option<String>,
    sources: Sources,
}

/// What bounds a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Its operations.
    Arithmetic,
    /// Reading its inputs.
    Reading,
    /// Writing its outputs.
    Writing,
}

/// Where a report has the times of reading and writing.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    /// The contender and its passes in a call.
    pub reading: Option<(usize, f64)>,
    /// As above.
    pub writing: Option<(usize, f64)>,
    /// Cores that the operations are shared by.
    pub cores: f64,
    /// What the probe was of, where it is not multiply-adds.
    pub instruction: Option<String>,
}

impl Roof {
    pub(super) fn new(report: &MeasureReport, flops: f64, bytes: (f64, f64), elem: Elem, sources: Sources) -> Roof {
        let known = (matches!(elem, Elem::F32 | Elem::F64) || sources.instruction.is_some()) && flops > 0.0;
        let mut roof = Roof {
            flops,
            read: bytes.0,
            written: bytes.1,
            peak: known.then_some(report.probe.best * sources.cores),
            reading: None,
            writing: None,
            floor: None,
            limit: Limit::Arithmetic,
            instruction: sources.instruction.clone(),
            sources,
        };
        let times = |of: &dyn Fn(&RoundRecord) -> Option<f64>| {
            let kept: Vec<f64> = report.rounds.iter().filter(|r| r.kept).filter_map(of).collect();
            (!kept.is_empty()).then(|| median(&kept))
        };
        let sources = &roof.sources;
        let reading = times(&|r| of_contender(r, sources.reading));
        let writing = times(&|r| of_contender(r, sources.writing));
        let arithmetic = roof.peak.map(|peak| flops / peak * 1e-9);
        roof.reading = reading.map(|t| roof.read / t * 1e-9);
        roof.writing = writing.map(|t| roof.written / t * 1e-9);
        let limits = [(arithmetic, Limit::Arithmetic), (reading, Limit::Reading), (writing, Limit::Writing)];
        for (time, limit) in limits.into_iter().filter_map(|(time, limit)| Some((time?, limit))) {
            if roof.floor.is_none_or(|floor| time > floor) {
                (roof.floor, roof.limit) = (Some(time), limit);
            }
        }
        roof
    }

    /// Bytes that move at least.
    pub fn bytes(&self) -> f64 {
        self.read + self.written
    }

    /// Operations for each byte that moves at least.
    pub fn intensity(&self) -> f64 {
        self.flops / self.bytes().max(1.0)
    }

    /// The roof: GFLOP/s, or GB/s where there are no operations.
    pub fn height(&self) -> Option<f64> {
        let amount = if self.flops > 0.0 { self.flops } else { self.bytes() };
        self.floor.map(|floor| amount / floor * 1e-9)
    }

    /// Bytes a second that the floor under the time of moving allows, GB/s.
    pub fn bandwidth(&self) -> Option<f64> {
        let time =
            |bytes: f64, speed: Option<f64>| if bytes > 0.0 { speed.map(|s| bytes / s * 1e-9) } else { Some(0.0) };
        let (reading, writing) = (time(self.read, self.reading)?, time(self.written, self.writing)?);
        let slower = reading.max(writing);
        (slower > 0.0).then(|| self.bytes() / slower * 1e-9)
    }

    /// What share of the roof a contender reaches, inside rounds.
    pub(super) fn share(&self, report: &MeasureReport, contender: usize) -> Option<Interval> {
        report.over_rounds(contender, |round| {
            let arithmetic = self.peak.map(|_| self.flops / (round.peak * self.sources.cores) * 1e-9);
            let reading = of_contender(round, self.sources.reading);
            let writing = of_contender(round, self.sources.writing);
            let floor = [arithmetic, reading, writing].into_iter().flatten().reduce(f64::max)?;
            Some(floor / round.times.get(contender).copied().flatten()?)
        })
    }
}

/// Seconds of one pass in a round.
fn of_contender(round: &RoundRecord, source: Option<(usize, f64)>) -> Option<f64> {
    let (contender, passes) = source?;
    Some(round.times.get(contender).copied().flatten()? / passes)
}
