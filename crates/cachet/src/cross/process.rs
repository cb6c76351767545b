//! A process that is given a text and says something, within limits.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often a process is looked at that has closed its output.
const PAUSE: Duration = Duration::from_millis(2);

/// Why there is no answer of a process that did not end in time.
pub const TOO_LONG: &str = "it took too long";

/// What a process prints on standard output when it is given a text on standard input and ends well. What it prints on
/// standard error is nobody's.
///
/// # Errors
/// What it did instead: did not start, printed more than `most` bytes or what is no text, took too long, ended badly.
pub fn run(path: &Path, arguments: &[&str], input: String, most: usize, patience: Duration) -> Result<String, String> {
    let until = Instant::now() + patience;
    let mut command = Command::new(path);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("it could not be started: {e}"))?;
    let out = output(&mut child, input, most, until);
    if out.is_err() {
        // It is of no use any more, however far it got.
        let _ = child.kill();
    }
    let status = end(&mut child, until);
    let out = out?;
    match status {
        Some(status) if status.success() => String::from_utf8(out).map_err(|_| "what it said is no text".into()),
        Some(status) => Err(format!("it ended with {status}")),
        None => Err(TOO_LONG.into()),
    }
}

/// Feeds it and listens to it, each on a thread: neither side waits for the other. A thread whose pipe some child of the
/// process keeps open is left to itself.
fn output(child: &mut Child, input: String, most: usize, until: Instant) -> Result<Vec<u8>, String> {
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("it could not be started: no pipes".into());
    };
    let started = std::thread::Builder::new().spawn(move || {
        // One that does not listen to the end is judged by what it says.
        let _ = stdin.write_all(input.as_bytes());
    });
    started.map_err(|e| format!("it could not be started: {e}"))?;
    let (said, heard) = channel();
    let started = std::thread::Builder::new().spawn(move || {
        let mut out = Vec::new();
        let read = stdout.take(most as u64 + 1).read_to_end(&mut out);
        let _ = said.send(read.map(|_| out));
    });
    started.map_err(|e| format!("it could not be started: {e}"))?;
    match heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Ok(Ok(out)) if out.len() > most => Err("it says more than it was asked".into()),
        Ok(Ok(out)) => Ok(out),
        Ok(Err(e)) => Err(format!("it could not be read: {e}")),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(TOO_LONG.into()),
    }
}

/// How it ended; `None` for one that had to be stopped.
fn end(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(PAUSE),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}
