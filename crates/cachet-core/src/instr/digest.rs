//! Which instruction and which template is meant by a record of a measurement?

use super::{Instr, Template};
use crate::ir::{Program, PureId, Word};
use crate::rewrite::map_word;

impl Instr {
    /// A number that another body or another template does not have, short of bad luck. It depends on what the pure
    /// functions of the body compute, and not on where any of it stands.
    pub fn digest(&self, program: &Program, template: &Template) -> String {
        let mut pures: Vec<PureId> = Vec::new();
        let body = renumbered(&self.body, &mut pures);
        let mut text = json(&(&self.name, &self.params, self.elem, self.lanes, self.lane, &body));
        text.push_str(&json(&(&self.vars, &self.locals, template)));
        let mut next = 0;
        while let Some(id) = pures.get(next).copied() {
            next += 1;
            if let Some(pure) = program.pures.get(id.index()) {
                let body = renumbered(&pure.body, &mut pures);
                text.push_str(&json(&(&pure.params, &pure.locals, &pure.result, &body)));
            }
        }
        format!("{:016x}{:016x}", hashed(&text, 0xcbf2_9ce4_8422_2325), hashed(&text, 0x6c62_272e_07bb_0142))
    }
}

/// A word with pure functions by the order in which they are met.
fn renumbered(word: &Word, pures: &mut Vec<PureId>) -> Word {
    map_word(word, &mut |w| match w {
        Word::Apply(f, args) => {
            let n = pures.iter().position(|p| *p == f).unwrap_or_else(|| {
                pures.push(f);
                pures.len() - 1
            });
            Word::Apply(PureId(n as u32), args)
        }
        other => other,
    })
}

fn json(what: &impl serde::Serialize) -> String {
    // Numbers, names and lists are always text.
    serde_json::to_string(what).unwrap_or_default()
}

/// FNV-1a.
fn hashed(text: &str, start: u64) -> u64 {
    text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
