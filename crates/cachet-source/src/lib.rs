//! Files by id, spans, line numbers, and diagnostics as data.
//!
//! Anyone may report a problem without seeing a parser or a terminal: a [`Diagnostic`] holds facts, and the
//! doors render them. Nothing here prints.

mod diagnostic;
mod file;
mod registry;
mod suggest;
pub mod words;

pub use diagnostic::{Counterexample, Diagnostic, Kind, Label, Replay};
pub use file::{File, FileId, LineCol, Sources, Span};
pub use registry::{Code, CodeInfo, all_codes, codes};
pub use suggest::nearest;
