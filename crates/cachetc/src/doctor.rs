//! `cachetc doctor`: what was found on this machine, and the command that fixes what was not.

use crate::{OK, terminal};
use cachet_runtime::{Llvm, PeakProbe, Peer, PeerSearch, ProbeElement, find_linker, find_peers};
use serde_json::{Value, json};

/// One thing that was looked for.
struct Finding {
    what: String,
    needed_for: &'static str,
    found: Result<String, (String, Option<String>)>,
}

/// Looks for everything and prints it. Nothing that is missing keeps checking from working, so the status is 0.
pub fn run(as_json: bool) -> u8 {
    let mut findings = vec![llvm(), host(), linker()];
    findings.extend(libraries());
    findings.push(solvers());
    if as_json {
        let all: Vec<Value> = findings.iter().map(to_json).collect();
        terminal::say(&Value::Array(all).to_string());
        return OK;
    }
    for f in &findings {
        match &f.found {
            Ok(text) => terminal::say(&format!("found    {}: {text}", f.what)),
            Err((why, fix)) => {
                terminal::say(&format!("missing  {} (for {}): {why}", f.what, f.needed_for));
                if let Some(fix) = fix {
                    terminal::say(&format!("         {fix}"));
                }
            }
        }
    }
    OK
}

fn to_json(f: &Finding) -> Value {
    match &f.found {
        Ok(text) => json!({ "what": f.what, "for": f.needed_for, "found": true, "text": text, "fix": null }),
        Err((why, fix)) => json!({ "what": f.what, "for": f.needed_for, "found": false, "text": why, "fix": fix }),
    }
}

fn finding(what: &'static str, needed_for: &'static str, found: Result<String, cachet_runtime::ToolError>) -> Finding {
    Finding { what: what.to_owned(), needed_for, found: found.map_err(|e| (e.message, e.fix)) }
}

fn llvm() -> Finding {
    let found = Llvm::load().map(|l| format!("{} at {} ({})", l.version(), l.path().display(), l.origin()));
    finding("LLVM", "native code", found)
}

fn host() -> Finding {
    let found = Llvm::load().and_then(|llvm| {
        let host = llvm.host()?;
        let mut probe = PeakProbe::of_multiply_adds(&llvm, ProbeElement::F32)?;
        let peak = probe.peak();
        Ok(format!("{}, vectors of {} bytes, {peak:.1} GFLOP/s in f32 on one core", host.cpu, host.vector_bytes()))
    });
    finding("processor", "native code", found)
}

fn linker() -> Finding {
    finding("linker", "executables", find_linker().map(|l| l.to_string()))
}

/// One finding for each library that was found, and for each that was not.
fn libraries() -> Vec<Finding> {
    let needed_for = "comparison in `bench`";
    let peers = find_peers(&PeerSearch::of_process(), 1);
    let text = |p: &Peer| format!("{} at {} ({})", p.code_path(), p.path().display(), p.origin());
    let found = peers.found.iter().map(|p| Finding { what: p.name().to_owned(), needed_for, found: Ok(text(p)) });
    let absent =
        peers.absent.into_iter().map(|a| Finding { what: a.name, needed_for, found: Err((a.reason, Some(a.fix))) });
    found.chain(absent).collect()
}

fn solvers() -> Finding {
    let all = cachet::cross::find();
    let text = |s: &cachet::cross::Solver| format!("{} {} at {}", s.dialect.name(), s.version, s.path.display());
    let found = if all.is_empty() {
        Err(("neither z3 nor cvc5 is on the path".into(), Some("apt-get install z3 cvc5".into())))
    } else {
        Ok(all.iter().map(text).collect::<Vec<_>>().join(", "))
    };
    Finding { what: "solvers".to_owned(), needed_for: "`check --cross`", found }
}
