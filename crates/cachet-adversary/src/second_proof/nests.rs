//! What two programs are made of: nests, sums, and where they can be taken apart.

use cachet_core::ir::{Block, BlockPart, Buffer, Domain, Fold, Fun, Guard, Ix, Rel, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::{Live, Visit, visit_block, visit_stmt, visit_word};

/// Loops directly inside one another and what the innermost runs.
pub struct Nest<'a> {
    /// Outermost first.
    pub loops: Vec<(Var, Domain)>,
    /// The body.
    pub body: &'a [Stmt],
}

/// The loops of a statement.
pub fn perfect(stmt: &Stmt) -> Nest<'_> {
    let (mut loops, mut body) = (Vec::new(), std::slice::from_ref(stmt));
    while let [Stmt { kind: StmtKind::For { var, domain, body: inner }, .. }] = body {
        loops.push((*var, domain.clone()));
        body = inner;
    }
    Nest { loops, body }
}

/// The first kind of statement that no proposal goes around.
pub fn uncovered(block: &Block) -> Option<&'static str> {
    struct Found(Option<&'static str>);
    impl Visit for Found {
        fn stmt(&mut self, s: &Stmt) {
            let what = match &s.kind {
                StmtKind::Call(_) => Some("a call"),
                StmtKind::Alloc(_) | StmtKind::Lease { .. } => Some("an allocation"),
                StmtKind::Print(_) => Some("a print"),
                StmtKind::For { .. }
                | StmtKind::Grid(_)
                | StmtKind::If { .. }
                | StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. } => None,
            };
            self.0 = self.0.or(what);
            visit_stmt(self, s);
        }
    }
    let mut found = Found(None);
    visit_block(&mut found, block);
    found.0
}

/// The variables of loops and sums in program order, an outer one before those inside.
pub fn binders(block: &[Stmt]) -> Vec<Var> {
    struct Found(Vec<Var>);
    impl Visit for Found {
        fn stmt(&mut self, s: &Stmt) {
            match &s.kind {
                StmtKind::For { var, .. } => self.0.push(*var),
                StmtKind::Grid(g) => self.0.extend(g.axes.iter().map(|(v, _)| *v)),
                StmtKind::If { .. }
                | StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Alloc(_)
                | StmtKind::Lease { .. }
                | StmtKind::Call(_)
                | StmtKind::Print(_) => {}
            }
            visit_stmt(self, s);
        }
        fn word(&mut self, w: &Word) {
            if let Word::Fold(f) = w {
                self.0.push(f.var);
            }
            visit_word(self, w);
        }
    }
    let mut found = Found(Vec::new());
    visit_block(&mut found, block);
    found.0
}

/// The first sum that stands in a store and under nothing but operations, with the buffer that is stored to.
pub fn open_sum(fun: &Fun, block: &[Stmt], left: &[Var]) -> Option<(Var, String)> {
    struct Found<'a>(&'a Fun, &'a [Var], Option<(Var, String)>);
    impl Visit for Found<'_> {
        fn stmt(&mut self, s: &Stmt) {
            if let StmtKind::Store { to, word } = &s.kind
                && let Some(f) = sum_in(word, self.1)
                && self.2.is_none()
            {
                self.2 = Some((f.var, self.0.buffers[to.buffer.index()].name.clone()));
            }
            visit_stmt(self, s);
        }
    }
    let mut found = Found(fun, left, None);
    visit_block(&mut found, block);
    found.2
}

fn sum_in<'a>(word: &'a Word, left: &[Var]) -> Option<&'a Fold> {
    match word {
        Word::Fold(f) => (!left.contains(&f.var)).then_some(f),
        Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => args.iter().find_map(|w| sum_in(w, left)),
        Word::Part(w, _) => sum_in(w, left),
        Word::Lit(_)
        | Word::Index(..)
        | Word::Load(_)
        | Word::Local(..)
        | Word::Let(..)
        | Word::If(..)
        | Word::Reduce(_)
        | Word::Differing(..) => None,
    }
}

/// A sum that is started in the first of its blocks.
pub struct FirstBlock {
    /// The loop over blocks.
    pub blocks: Var,
    /// The size of a block.
    pub size: i64,
    /// Whether the last one may be shorter.
    pub ragged: bool,
    /// Where the total is kept.
    pub buffer: Buffer,
    /// The blocks inside a block, outermost first, with their sizes.
    pub inner: Vec<(Var, i64)>,
}

/// The first loop over blocks that begins by storing its sum's start in its first iteration, and nothing in the others.
pub fn first_block(block: &[Stmt]) -> Option<FirstBlock> {
    block.iter().find_map(|s| match &s.kind {
        StmtKind::For { var, domain, body } => starting(*var, domain, body).or_else(|| first_block(body)),
        StmtKind::If { then, els, .. } => first_block(then).or_else(|| first_block(els)),
        StmtKind::Grid(g) => first_block(&g.body),
        StmtKind::Let { .. }
        | StmtKind::Var { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Store { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Lease { .. }
        | StmtKind::Call(_)
        | StmtKind::Print(_) => None,
    })
}

fn starting(var: Var, domain: &Domain, body: &[Stmt]) -> Option<FirstBlock> {
    // The loop over blocks may have other loops around the store.
    let mut inner = body;
    while let [Stmt { kind: StmtKind::For { body, .. }, .. }] = inner {
        inner = body;
    }
    let (Stmt { kind: StmtKind::Store { to, word: Word::If(guard, _, own) }, .. }, rest) = inner.split_first()? else {
        return None;
    };
    let Guard::Cmp(Rel::Eq, counter, _) = &**guard else { return None };
    let here = matches!(counter, Ix::Var(v) | Ix::Block(v, BlockPart::Lo) if *v == var);
    if !here || **own != Word::Load(to.clone()) {
        return None;
    }
    let (size, ragged) = match domain {
        Domain::Blocks { size, .. } => (*size, true),
        Domain::Range { .. } => (whole(rest)?, false),
    };
    Some(FirstBlock { blocks: var, size, ragged, buffer: to.buffer, inner: blocks_in(rest) })
}

/// Loops over blocks directly inside one another.
fn blocks_in(mut block: &[Stmt]) -> Vec<(Var, i64)> {
    let mut out = Vec::new();
    while let [Stmt { kind: StmtKind::For { var, domain: Domain::Blocks { size, .. }, body }, .. }] = block {
        out.push((*var, *size));
        block = body;
    }
    out
}

/// The literal length of the loop that a block consists of.
fn whole(rest: &[Stmt]) -> Option<i64> {
    match &rest.first()?.kind {
        StmtKind::For { domain: Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(n) }, .. } => Some(*n),
        StmtKind::For { domain: Domain::Blocks { lo: Ix::Lit(0), hi: Ix::Lit(n), .. }, .. } => Some(*n),
        _ => None,
    }
}

/// The loop that follows a store to a buffer: the steps of a sum that was opened.
pub fn started_loop(block: &[Stmt], buffer: Buffer) -> Option<Var> {
    let here = block.windows(2).find_map(|pair| match (&pair[0].kind, &pair[1].kind) {
        (StmtKind::Store { to, .. }, StmtKind::For { var, domain: Domain::Range { .. }, .. })
            if to.buffer == buffer =>
        {
            Some(*var)
        }
        _ => None,
    });
    here.or_else(|| {
        block.iter().find_map(|s| match &s.kind {
            StmtKind::For { body, .. } => started_loop(body, buffer),
            _ => None,
        })
    })
}

/// The first nest that has a seam, by its outermost loop, and after how many of its inmost statements that is; but those
/// that are to stay whole.
pub fn seam(block: &[Stmt], whole: &[(Var, usize)]) -> Option<(Var, usize)> {
    block.iter().find_map(|s| {
        if let StmtKind::If { then, els, .. } = &s.kind {
            return seam(then, whole).or_else(|| seam(els, whole));
        }
        let nest = perfect(s);
        let (outermost, _) = nest.loops.first()?;
        let open = |at: &usize| parts(nest.body, *at) && !whole.contains(&(*outermost, *at));
        (1..nest.body.len()).find(open).map(|at| (*outermost, at))
    })
}

/// Whether a block can be parted: no name goes across, and no cell that the first part may leave as it was.
fn parts(body: &[Stmt], at: usize) -> bool {
    let (first, second) = body.split_at(at);
    let used = Live::of_block(second);
    let carried = first.iter().any(|s| match &s.kind {
        StmtKind::Let { local, .. } | StmtKind::Var { local, .. } => used.locals.contains(local),
        StmtKind::Store { to, word: Word::If(_, _, own) } => **own == Word::Load(to.clone()),
        StmtKind::For { .. }
        | StmtKind::Grid(_)
        | StmtKind::If { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Store { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Lease { .. }
        | StmtKind::Call(_)
        | StmtKind::Print(_) => false,
    });
    !carried
}
