//! How does text in SSA form come about: fresh names, blocks, and phis whose last input is not known yet?

use std::fmt::Display;

/// The text of one function's body while it is written.
///
/// Names are `%1`-style but spelled `%v1`, so that numbers need not be consecutive. One block is open at a time;
/// [`Emitter::open`] starts the next. A line whose text depends on what follows is kept free by
/// [`Emitter::reserve`] and written by [`Emitter::fill`].
pub(crate) struct Emitter {
    lines: Vec<String>,
    /// Stack slots: they stand at the top of the entry block, where LLVM turns them into registers.
    slots: Vec<String>,
    next: u32,
    block: String,
    /// Lines of other bodies that belong to the same function of the program.
    others: usize,
}

/// A line to be written later.
pub(crate) struct Reserved(usize);

/// A block's name, with its `%`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BlockName(String);

impl Display for BlockName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

const ENTRY: &str = "%entry";

impl Emitter {
    pub(crate) fn new() -> Emitter {
        Emitter::after(0)
    }

    /// For a body of its own that is a part of a function of which so many lines are written.
    pub(crate) fn after(lines: usize) -> Emitter {
        Emitter { lines: Vec::new(), slots: Vec::new(), next: 0, block: ENTRY.into(), others: lines }
    }

    /// Takes note of how many lines there are with those of such a body.
    pub(crate) fn count(&mut self, lines: usize) {
        self.others = lines.saturating_sub(self.lines.len());
    }

    fn fresh(&mut self, letter: char) -> String {
        self.next += 1;
        format!("%{letter}{}", self.next)
    }

    /// A line without a result.
    pub(crate) fn line(&mut self, text: impl Display) {
        self.lines.push(format!("  {text}"));
    }

    /// `%v = text`; the name.
    pub(crate) fn def(&mut self, text: impl Display) -> String {
        let name = self.fresh('v');
        self.line(format_args!("{name} = {text}"));
        name
    }

    /// How many lines there are, with those of other bodies.
    pub(crate) fn len(&self) -> usize {
        self.others + self.lines.len()
    }

    /// A stack slot of an LLVM type; its address.
    pub(crate) fn slot(&mut self, ty: impl Display) -> String {
        let name = self.fresh('s');
        self.slots.push(format!("  {name} = alloca {ty}"));
        name
    }

    /// Keeps a line free for a definition; its name can be used at once.
    pub(crate) fn reserve(&mut self) -> (Reserved, String) {
        let name = self.fresh('v');
        self.lines.push(String::new());
        (Reserved(self.lines.len() - 1), name)
    }

    /// Writes a line that was kept free.
    pub(crate) fn fill(&mut self, at: &Reserved, name: &str, text: impl Display) {
        self.lines[at.0] = format!("  {name} = {text}");
    }

    /// A name for a block to be opened later.
    pub(crate) fn block(&mut self) -> BlockName {
        BlockName(self.fresh('b'))
    }

    /// The open block.
    pub(crate) fn here(&self) -> BlockName {
        BlockName(self.block.clone())
    }

    /// Ends the open block with a jump.
    pub(crate) fn jump(&mut self, to: &BlockName) {
        self.line(format_args!("br label {to}"));
    }

    /// Ends the open block with a choice.
    pub(crate) fn branch(&mut self, cond: &str, then: &BlockName, els: &BlockName) {
        self.line(format_args!("br i1 {cond}, label {then}, label {els}"));
    }

    /// Starts a block.
    pub(crate) fn open(&mut self, block: &BlockName) {
        self.block.clone_from(&block.0);
        self.lines.push(format!("{}:", &block.0[1..]));
    }

    /// The body's text, from the entry's label on.
    pub(crate) fn finish(self) -> String {
        let mut out = format!("{}:\n", &ENTRY[1..]);
        for l in self.slots.iter().chain(&self.lines) {
            out.push_str(l);
            out.push('\n');
        }
        out
    }
}
