//! The rounds: kernels with the right bits, libraries, and passes over memory, all on the same inputs.

use super::inputs::{Inputs, Memory};
use super::peak::{self, Candidate};
use super::peer::Counterpart;
use super::roof::{Roof, Sources};
use super::{Options, PeerRow, Row, Timed};
use crate::native::Problem;
use cachet_runtime::{
    AlignedBuffer, BufferArg, Contender, FpGuard, Kernel, Llvm, MeasureOptions, MeasureReport, Peer, Pool,
    TrafficProbe, measure,
};

/// Who takes part.
pub(super) struct Contest<'a> {
    pub kernels: &'a [Kernel],
    /// What grids run on.
    pub pool: &'a Pool,
    pub inputs: &'a Inputs,
    pub sizes: &'a [i64],
    pub flops: f64,
    /// Instructions that the kernels use.
    pub instructions: Vec<Candidate<'a>>,
    pub counterpart: Option<Counterpart>,
    pub peers: &'a [Peer],
    /// One for each kernel.
    pub rows: Vec<Row>,
    /// Filled here.
    pub peer_rows: Vec<PeerRow>,
}

impl Contest<'_> {
    /// Runs everything and fills in what was timed.
    pub fn run(
        &mut self,
        memories: &mut [Memory],
        llvm: &Llvm,
        options: &Options,
    ) -> Result<(MeasureReport, Roof), Problem> {
        let inputs = self.inputs;
        let mut reference = inputs.poisoned()?;
        for (to, from) in reference.iter_mut().zip(&memories[0].outputs) {
            to.bytes_mut().copy_from_slice(from.bytes());
        }
        let mut of_peers = self.ask_peers(&reference)?;
        // What the first calls wrote must not stand in for what later ones do not write.
        memories.iter_mut().for_each(|m| inputs.poison(&mut m.outputs));
        let traffic = TrafficProbe::new(llvm).map_err(Problem::Tool)?;
        let mut written = inputs.poisoned()?;
        let (report, sources) = self.rounds(memories, &mut of_peers, (&traffic, &mut written), llvm, options)?;
        for (row, memory) in self.rows.iter_mut().zip(memories.iter()).filter(|(row, _)| row.timed.is_some()) {
            row.differing = inputs.differing(&reference, &memory.outputs);
            row.later = row.differing > 0;
            row.timed = row.timed.filter(|_| !row.later);
        }
        let roof = Roof::new(&report, self.flops, inputs.bytes(), inputs.output_elem(), sources);
        Ok((report, roof))
    }

    /// Every library once: its results, and whether they are those of this product.
    fn ask_peers(&mut self, reference: &[AlignedBuffer]) -> Result<Vec<Vec<AlignedBuffer>>, Problem> {
        let mut results = Vec::new();
        let Some(what) = self.counterpart else { return Ok(results) };
        let _mode = FpGuard::enter();
        for peer in self.peers {
            let mut out = self.inputs.poisoned()?;
            let mut row = PeerRow {
                name: peer.name().to_owned(),
                code_path: peer.code_path().to_owned(),
                path: peer.path().display().to_string(),
                threads: peer.threads(),
                differing: 0,
                skipped: peer.lacks(what.numbers, &what.product),
                timed: None,
            };
            if row.skipped.is_none() {
                what.call(peer, self.inputs, &mut out);
                row.differing = self.inputs.differing(reference, &out);
                let apart = self.inputs.deviation(reference, &out);
                if apart > what.tolerance() {
                    row.skipped = Some(format!("its results are wrong by up to {apart:.3e}"));
                }
            }
            self.peer_rows.push(row);
            results.push(out);
        }
        Ok(results)
    }

    fn rounds(
        &mut self,
        memories: &mut [Memory],
        of_peers: &mut [Vec<AlignedBuffer>],
        (traffic, written): (&TrafficProbe, &mut [AlignedBuffer]),
        llvm: &Llvm,
        options: &Options,
    ) -> Result<(MeasureReport, Sources), Problem> {
        let inputs = self.inputs;
        let at = |at: usize| Some(Timed { at, of_roof: None, of_fastest: None });
        let mut arguments: Vec<Vec<BufferArg<'_>>> = memories.iter_mut().map(|m| inputs.args(m)).collect();
        let mut contenders: Vec<Contender<'_>> = Vec::new();
        let _mode = FpGuard::enter();
        for ((row, kernel), args) in self.rows.iter_mut().zip(self.kernels).zip(&mut arguments) {
            if row.differing > 0 || row.unmet.is_some() || row.too_slow.is_some() {
                continue;
            }
            row.timed = at(contenders.len());
            let mut call = kernel.prepare(self.sizes, args).map_err(Problem::Tool)?.on(self.pool.interface());
            contenders.push(Contender::new(&row.name, Some(self.flops), move || call.run_in_this_mode()));
        }
        for ((row, peer), out) in self.peer_rows.iter_mut().zip(self.peers).zip(of_peers) {
            let (None, Some(what)) = (&row.skipped, self.counterpart) else { continue };
            row.timed = at(contenders.len());
            contenders.push(Contender::new(&row.name, Some(self.flops), move || what.call(peer, inputs, out)));
        }
        let mut sources = Sources { cores: options.threads.max(1) as f64, ..Sources::default() };
        // One core's passes are no limit of several.
        if options.threads == 1 {
            let (read, write) = inputs.bytes();
            if read > 0.0 {
                let mut reader = traffic.reader(&inputs.contents());
                sources.reading = Some((contenders.len(), reader.passes()));
                contenders.push(Contender::new("reading the inputs", None, move || reader.run()));
            }
            if write > 0.0 {
                let mut writer = traffic.writer(written.iter_mut().map(AlignedBuffer::bytes_mut).collect());
                sources.writing = Some((contenders.len(), writer.passes()));
                contenders.push(Contender::new("writing the outputs", None, move || writer.run()));
            }
        }
        if contenders.is_empty() {
            let text = "there is nothing to time: one call of every kernel takes too long for the time that is allowed";
            return Err(Problem::User(text.into()));
        }
        let (mut probe, instruction) = peak::probe(llvm, &self.instructions, inputs.output_elem())?;
        sources.instruction = instruction;
        let measure_options = MeasureOptions {
            budget: options.budget,
            seed: options.seed,
            alone: options.threads == 1,
            ..MeasureOptions::default()
        };
        let report = measure(&mut contenders, &mut || probe.peaks(), &measure_options).map_err(Problem::Tool)?;
        Ok((report, sources))
    }
}
