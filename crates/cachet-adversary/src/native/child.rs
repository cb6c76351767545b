//! The other process: it reads texts and calls, and answers.

use super::heap::AFTER;
use super::{CHILD, Call, Did, Lent, MARK, Place};
use cachet_runtime::{BufferArg, Flush, GuardBuffer, Jit, Kernel, KernelArity, Llvm, OptLevel, Order, Pool};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, Write};

/// Runs generated code until there is no more, and ends the process; does nothing where [`CHILD`] is not in the environment.
pub fn serve_if_asked() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let status = match serve() {
        Ok(()) => 0,
        Err(why) => {
            answer(&why);
            3
        }
    };
    std::process::exit(status);
}

fn answer(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is left to be told where the other side is gone.
    let _ = out.write_all(format!("\n{MARK}{}\n", text.replace('\n', " ")).as_bytes());
    let _ = out.flush();
}

fn serve() -> Result<(), String> {
    let llvm = Llvm::load().map_err(|e| e.to_string())?;
    let target = llvm.host().map_err(|e| e.to_string())?.target();
    answer("ready");
    let mut input = std::io::stdin().lock();
    let mut pages = Pages::default();
    let threads = THREADS.map(|n| Pool::in_order(n, Order::Dealt { seed: n as u64 }));
    let threads: Vec<Pool> = threads.into_iter().collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    loop {
        let Some((ir, level, calls)) = read_job(&mut input)? else { return Ok(()) };
        let level = [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3][level.min(3)];
        let jit = llvm.compile(&ir, &target, level).and_then(|module| module.load());
        let jit = match jit {
            Ok(jit) => jit,
            Err(e) => {
                answer(&format!("LLVM: {e}"));
                continue;
            }
        };
        let after = jit.kernel(AFTER, KernelArity { sizes: 0, buffers: 1 }).map_err(|e| e.to_string())?;
        answer("compiled");
        for call in &calls {
            answer(&run(&jit, &after, call, &threads[which(call)], &mut pages)?);
        }
    }
}

/// Calls take pools of these sizes, on which grids run in orders drawn anew.
const THREADS: [usize; 4] = [1, 2, 3, 7];

/// The pool of a call: the same one whenever the call is made again.
fn which(call: &Call) -> usize {
    let bytes: usize = call.buffers.iter().map(|l| l.bytes.len()).sum();
    let sizes = call.sizes.iter().fold(0, |sum: i64, n| sum.wrapping_add(*n));
    (bytes / 4).wrapping_add(sizes as usize).wrapping_add(call.place as usize) % THREADS.len()
}

/// Arrays between guard pages that were used before: mapping them takes longer than most calls.
#[derive(Default)]
struct Pages(BTreeMap<(usize, bool), Vec<GuardBuffer>>);

impl Pages {
    fn take(&mut self, bytes: usize, flush: Flush) -> Result<GuardBuffer, String> {
        let found = self.0.get_mut(&(bytes, flush == Flush::End)).and_then(Vec::pop);
        found.map_or_else(|| GuardBuffer::new(bytes, flush).map_err(|e| e.to_string()), Ok)
    }

    fn give(&mut self, buffer: GuardBuffer, flush: Flush) {
        self.0.entry((buffer.bytes().len(), flush == Flush::End)).or_default().push(buffer);
    }
}

/// What stands before an array at [`Place::Offset`].
const BEFORE: u8 = 0xC5;

fn run(jit: &Jit, after: &Kernel, call: &Call, pool: &Pool, pages: &mut Pages) -> Result<String, String> {
    let flush = match call.place {
        Place::End => Flush::End,
        Place::Start | Place::Offset => Flush::Start,
    };
    let skip = |l: &Lent| if call.place == Place::Offset { l.align } else { 0 };
    let mut memory = Vec::new();
    for l in &call.buffers {
        let mut m = pages.take(skip(l) + l.bytes.len(), flush)?;
        let (before, data) = m.bytes_mut().split_at_mut(skip(l));
        before.fill(BEFORE);
        data.copy_from_slice(&l.bytes);
        memory.push(m);
    }
    let arity = KernelArity { sizes: call.sizes.len(), buffers: call.buffers.len() };
    let kernel = jit.kernel(&call.entry, arity).map_err(|e| e.to_string())?;
    let mut args: Vec<BufferArg<'_>> = memory
        .iter_mut()
        .zip(&call.buffers)
        .map(|(m, l)| match l.written {
            true => BufferArg::Write(&mut m.bytes_mut()[skip(l)..]),
            false => BufferArg::Read(&m.bytes()[skip(l)..]),
        })
        .collect();
    kernel.call_on(pool.interface(), &call.sizes, &mut args).map_err(|e| e.to_string())?;
    drop(args);
    let mut broken = [0u8; 8];
    after.call(&[], &mut [BufferArg::Write(&mut broken)]).map_err(|e| e.to_string())?;
    let beside =
        |(m, l): (&GuardBuffer, &Lent)| !m.slack_is_intact() || m.bytes()[..skip(l)].iter().any(|b| *b != BEFORE);
    let read_only = |(m, l): (&GuardBuffer, &Lent)| !l.written && m.bytes()[skip(l)..] != l.bytes[..];
    let mut pairs = memory.iter().zip(&call.buffers);
    let text = if broken != [0; 8] {
        "broke a write beside an allocation".to_string()
    } else if let Some(n) = pairs.clone().position(beside) {
        // What is beside it has changed for whoever comes next.
        return Ok(format!("broke a write beside array {n}"));
    } else if let Some(n) = pairs.position(read_only) {
        format!("broke a write to array {n}, which is only read")
    } else {
        let left = memory.iter().zip(&call.buffers).filter(|(_, l)| l.written);
        left.fold(String::from("left"), |text, (m, l)| text + " " + &hex(&m.bytes()[skip(l)..]))
    };
    memory.into_iter().for_each(|m| pages.give(m, flush));
    Ok(text)
}

/// An answer to a call.
pub(super) fn read_answer(words: &str, printed: String) -> Result<Did, String> {
    // The answer stands on a line of its own, whatever was printed before it.
    let printed = printed.strip_suffix('\n').map(String::from).unwrap_or(printed);
    match words.split_once(' ').unwrap_or((words, "")) {
        ("left", all) => {
            let arrays = all.split(' ').filter(|_| !all.is_empty() || words.ends_with(' '));
            arrays.map(unhex).collect::<Result<_, _>>().map(|arrays| Did::Left(arrays, printed))
        }
        ("broke", why) => Ok(Did::Broke(why.to_string())),
        _ => Err(format!("the process for generated code: {words}")),
    }
}

/// A call as lines.
pub(super) fn written(call: &Call) -> String {
    let place = match call.place {
        Place::End => "end",
        Place::Start => "start",
        Place::Offset => "offset",
    };
    let mut out = format!("{} {place} {}", call.entry, call.buffers.len());
    // Writing to a `String` cannot fail.
    for n in &call.sizes {
        let _ = write!(out, " {n}");
    }
    out.push('\n');
    for l in &call.buffers {
        let _ = writeln!(out, "{} {} {}", u8::from(l.written), l.align, hex(&l.bytes));
    }
    out
}

type Job = (String, usize, Vec<Call>);

fn read_job(input: &mut impl BufRead) -> Result<Option<Job>, String> {
    let mut line = String::new();
    if input.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
        return Ok(None);
    }
    let numbers: Vec<usize> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    let [bytes, level, count] = numbers[..] else { return Err(format!("no job: {line}")) };
    let mut ir = vec![0; bytes];
    input.read_exact(&mut ir).map_err(|e| e.to_string())?;
    let ir = String::from_utf8(ir).map_err(|e| e.to_string())?;
    let calls = (0..count).map(|_| read_call(input)).collect::<Result<_, _>>()?;
    Ok(Some((ir, level, calls)))
}

fn read_call(input: &mut impl BufRead) -> Result<Call, String> {
    let head = next_line(input)?;
    let mut words = head.split_whitespace();
    let (Some(entry), Some(place), Some(count)) = (words.next(), words.next(), words.next()) else {
        return Err(format!("no call: {head}"));
    };
    let place = match place {
        "end" => Place::End,
        "start" => Place::Start,
        _ => Place::Offset,
    };
    let count: usize = count.parse().map_err(|_| format!("no call: {head}"))?;
    let sizes = words.map(|w| w.parse().map_err(|_| format!("no size: {w}"))).collect::<Result<_, _>>()?;
    let mut buffers = Vec::new();
    for _ in 0..count {
        let line = next_line(input)?;
        let mut words = line.trim_end_matches('\n').splitn(3, ' ');
        let (Some(written), Some(align), Some(bytes)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("no array: {line}"));
        };
        let align = align.parse().map_err(|_| format!("no array: {line}"))?;
        buffers.push(Lent { bytes: unhex(bytes)?, written: written == "1", align });
    }
    Ok(Call { entry: entry.to_string(), sizes, buffers, place })
}

fn next_line(input: &mut impl BufRead) -> Result<String, String> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|e| e.to_string())?;
    Ok(line)
}

fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from(b"0123456789abcdef"[usize::from(n)]);
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|n| n as u8).ok_or_else(|| format!("no bytes: {text}"));
    text.as_bytes().chunks(2).map(|pair| Ok(digit(pair[0])? << 4 | digit(*pair.last().unwrap_or(&b'0'))?)).collect()
}
