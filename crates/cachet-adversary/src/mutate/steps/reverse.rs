//! A loop run from its last iteration to its first, by replacing its variable in everything under it.

use cachet_core::pattern::{Pat, PatCell, PatIx, PatSubst, PatWord};

/// `hi - 1 - (k - lo)`
pub fn mirrored(var: &str, lo: &PatIx, hi: &PatIx) -> PatIx {
    let sub = |a: PatIx, b: PatIx| PatIx::Sub(Box::new(a), Box::new(b));
    sub(sub(hi.clone(), PatIx::Lit(1)), sub(PatIx::Name(var.into()), lo.clone()))
}

/// A block with the variable replaced. Captured variables stand in what holes hold; others only in replacements.
pub fn block(pats: &[Pat], var: &str, by: &PatIx, captured: &[String]) -> Vec<Pat> {
    pats.iter().map(|p| pat(p, var, by, captured)).collect()
}

fn pat(p: &Pat, var: &str, by: &PatIx, captured: &[String]) -> Pat {
    match p {
        Pat::For { var: v, domain, body, span } => {
            Pat::For { var: v.clone(), domain: domain.clone(), body: block(body, var, by, captured), span: *span }
        }
        Pat::Let { local, word: w, span } => {
            Pat::Let { local: local.clone(), word: word(w, var, by, captured), span: *span }
        }
        Pat::Store { to, word: w, span } => {
            Pat::Store { to: cell(to, var, by, captured), word: word(w, var, by, captured), span: *span }
        }
        Pat::Hole(..)
        | Pat::ForAll { .. }
        | Pat::Grid { .. }
        | Pat::If { .. }
        | Pat::Var { .. }
        | Pat::Assign { .. } => p.clone(),
    }
}

/// A word with the variable replaced.
pub fn word(w: &PatWord, var: &str, by: &PatIx, captured: &[String]) -> PatWord {
    match w {
        PatWord::Hole { name, inside, substs: s } => PatWord::Hole {
            name: name.clone(),
            inside: inside.as_ref().map(|w| Box::new(word(w, var, by, captured))),
            substs: substs(s, var, by, captured),
        },
        PatWord::Load(c) => PatWord::Load(cell(c, var, by, captured)),
        PatWord::Fold { var: v, domain, acc, ty, init, body } => PatWord::Fold {
            var: v.clone(),
            domain: domain.clone(),
            acc: acc.clone(),
            ty: ty.clone(),
            init: Box::new(word(init, var, by, captured)),
            body: Box::new(word(body, var, by, captured)),
        },
        PatWord::Local(_) | PatWord::Float(_) | PatWord::Prim(..) | PatWord::If(..) => w.clone(),
    }
}

fn cell(c: &PatCell, var: &str, by: &PatIx, captured: &[String]) -> PatCell {
    match c {
        PatCell::Hole(name, s) => PatCell::Hole(name.clone(), substs(s, var, by, captured)),
        PatCell::Named(..) => c.clone(),
    }
}

fn substs(list: &[PatSubst], var: &str, by: &PatIx, captured: &[String]) -> Vec<PatSubst> {
    let mut out: Vec<PatSubst> = list
        .iter()
        .map(|s| match s {
            PatSubst::One(v, PatIx::Name(n)) if n == var => PatSubst::One(v.clone(), by.clone()),
            PatSubst::One(..) | PatSubst::All(..) => s.clone(),
        })
        .collect();
    let already = list.iter().any(|s| matches!(s, PatSubst::One(v, _) if v == var));
    if captured.iter().any(|v| v == var) && !already {
        out.push(PatSubst::One(var.into(), by.clone()));
    }
    out
}
