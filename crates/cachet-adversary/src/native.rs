//! What does generated code leave in memory, and does it stay there?
//!
//! Generated code runs in a process of its own, so that a fault ends that process and is told of the call that was under way:
//! the program that runs the populations starts itself again, with [`CHILD`] in its environment, and [`serve_if_asked`] is the
//! first thing that it does. The two speak in lines over standard input and output; what the code prints comes in between.
//!
//! Every array lies between two pages that may not be touched ([`Place`] says where), what a function writes starts poisoned,
//! and so does every allocation, which has marked bytes on both sides that are looked at when it is freed.

mod child;
mod heap;

pub use child::serve_if_asked;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// In the environment of a process that only runs generated code.
pub const CHILD: &str = "CACHET_NATIVE_CHILD";
/// The test that a test binary runs for it.
pub const CHILD_TEST: &str = "native_child";
/// Starts the lines that answer; no printed line does.
const MARK: char = '\u{1}';
/// Longer than any of ours takes to compile or run on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where in its pages an array lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Its last byte precedes a page that may not be touched; its address is aligned to an element, and often to no more.
    End,
    /// Its first byte follows such a page.
    Start,
    /// One element after the first byte: aligned to an element and to no more, as a view into an array is.
    Offset,
}

/// All places.
pub const PLACES: [Place; 3] = [Place::End, Place::Start, Place::Offset];

/// An array that is lent.
#[derive(Clone, Debug)]
pub struct Lent {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// Whether it is written.
    pub written: bool,
    /// The alignment of its elements.
    pub align: usize,
}

/// A call of generated code.
#[derive(Clone, Debug)]
pub struct Call {
    /// The symbol.
    pub entry: String,
    /// The sizes.
    pub sizes: Vec<i64>,
    /// The arrays.
    pub buffers: Vec<Lent>,
    /// Where all of them lie.
    pub place: Place,
}

/// What a call did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Did {
    /// It came back: the bytes of what is written, in order, and what it printed.
    Left(Vec<Vec<u8>>, String),
    /// It touched what is not its own, ended the process or did not end.
    Broke(String),
}

/// How hard LLVM works, 0 to 3.
pub type Level = u8;

/// The process that runs generated code.
pub struct Runner {
    running: Option<Running>,
    patience: Duration,
}

struct Running {
    process: Child,
    answers: Receiver<String>,
    /// What was printed since the last answer.
    printed: String,
    patience: Duration,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Runner {
    /// None is started before there is something to run.
    pub fn new() -> Runner {
        Runner::patient(PATIENCE)
    }

    /// One that takes what does not answer for so long to be broken.
    pub fn patient(patience: Duration) -> Runner {
        Runner { running: None, patience }
    }

    /// As [`Runner::run`], up to the first call that does not come back.
    pub fn run_until_broken(&mut self, ir: &str, level: Level, calls: &[Call]) -> Result<Vec<Did>, String> {
        self.some(ir, level, calls, true)
    }

    /// Compiles a text and makes calls; an answer for each, in order. The text is refused by LLVM, or the process cannot be
    /// had, in the error.
    pub fn run(&mut self, ir: &str, level: Level, calls: &[Call]) -> Result<Vec<Did>, String> {
        self.some(ir, level, calls, false)
    }

    fn some(&mut self, ir: &str, level: Level, calls: &[Call], one: bool) -> Result<Vec<Did>, String> {
        let ir = heap::guarded(ir);
        let mut out = Vec::new();
        while out.len() < calls.len() || calls.is_empty() {
            let mut running = match self.running.take() {
                Some(running) => running,
                None => Running::start(self.patience)?,
            };
            let broke = running.compile_and_call(&ir, level, &calls[out.len()..], &mut out)?;
            match broke {
                None => self.running = Some(running),
                Some(why) => out.push(Did::Broke(why)),
            }
            if calls.is_empty() || one && matches!(out.last(), Some(Did::Broke(_))) {
                break;
            }
        }
        Ok(out)
    }
}

impl Default for Runner {
    fn default() -> Runner {
        Runner::new()
    }
}

impl Running {
    fn start(patience: Duration) -> Result<Running, String> {
        let exe = std::env::current_exe().map_err(|e| format!("this program's own file: {e}"))?;
        let mut process = Command::new(exe)
            .args([CHILD_TEST, "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("a process for generated code: {e}"))?;
        let stdout = process.stdout.take().ok_or("a process without an output")?;
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut running = Running { process, answers, printed: String::new(), patience };
        match running.answer()? {
            Ok(word) if word == "ready" => Ok(running),
            Ok(word) => Err(format!("the process for generated code said `{word}`")),
            Err(why) => Err(format!("the process for generated code: {why}")),
        }
    }

    /// The rest of the next line that is an answer, or how the process ended.
    fn answer(&mut self) -> Result<Result<String, String>, String> {
        loop {
            match self.answers.recv_timeout(self.patience) {
                Ok(line) => match line.strip_prefix(MARK) {
                    Some(answer) => return Ok(Ok(answer.to_string())),
                    None => {
                        self.printed.push_str(&line);
                        self.printed.push('\n');
                    }
                },
                Err(RecvTimeoutError::Timeout) => {
                    return Ok(Err(format!("no answer in {} s", self.patience.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.process.wait().map_err(|e| e.to_string())?;
                    return Ok(Err(format!("the process ended: {status}")));
                }
            }
        }
    }

    /// Adds an answer for each call that came back; how the first one that did not ended.
    fn compile_and_call(
        &mut self,
        ir: &str,
        level: Level,
        calls: &[Call],
        out: &mut Vec<Did>,
    ) -> Result<Option<String>, String> {
        let mut text = format!("{} {level} {}\n{ir}", ir.len(), calls.len());
        calls.iter().for_each(|c| text.push_str(&child::written(c)));
        let mut stdin = self.process.stdin.take().ok_or("a process without an input")?;
        // It reads all of it before it answers; where it ended before, the answers say so.
        let sent = stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush());
        self.process.stdin = Some(stdin);
        match self.answer()? {
            Ok(word) if word == "compiled" => {}
            Ok(why) => return Err(why),
            Err(why) => {
                return Err(format!("compiling: {why} {}", sent.err().map(|e| e.to_string()).unwrap_or_default()));
            }
        }
        self.printed.clear();
        for _ in calls {
            match self.answer()? {
                Ok(words) => out.push(child::read_answer(&words, std::mem::take(&mut self.printed))?),
                Err(why) => return Ok(Some(why)),
            }
        }
        Ok(None)
    }
}
