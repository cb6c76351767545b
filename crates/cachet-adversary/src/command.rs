//! What does the real `cachetc` do with a file, in how much time and memory?

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How a process ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The exit status; `None` after a signal.
    pub status: Option<i32>,
    /// What it printed.
    pub out: Vec<u8>,
    /// What it printed on the standard error.
    pub err: Vec<u8>,
    /// How long it took.
    pub wall: Duration,
    /// How long processors worked for it.
    pub cpu: Duration,
    /// The most memory that it had, in KiB; 0 where the system does not say.
    pub peak: u64,
    /// Whether it was stopped because it took too long.
    pub stopped: bool,
}

impl Ended {
    /// The standard error as text.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }

    /// What no run may do: end by a signal or with a status that means nothing, or panic.
    pub fn fell_over(&self) -> Option<String> {
        let said = self.said();
        let panics = ["panicked at", "has overflowed its stack", "memory allocation of"];
        match (self.stopped, self.status) {
            (true, _) => Some(format!("it does not end in {:?}", self.wall)),
            (_, None) => Some(format!("it ends by a signal: {}", tail(&said))),
            (_, Some(0..=2)) if !panics.iter().any(|p| said.contains(p)) => None,
            (_, Some(0..=2)) => Some(format!("it panics: {}", tail(&said))),
            (_, Some(n)) => Some(format!("its exit status is {n}: {}", tail(&said))),
        }
    }
}

/// The last lines of a text.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let text: String = lines[lines.len().saturating_sub(4)..].join("\n");
    text.chars().take(400).collect()
}

/// The executable: built by the cargo that runs this, else the one beside it.
///
/// # Errors
/// Why there is none.
pub fn cachetc() -> Result<&'static Path, String> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOUND.get_or_init(find).as_deref().map_err(Clone::clone)
}

fn find() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    // `target/PROFILE/deps/populations-…` or `target/PROFILE/xtask`.
    let folder = this.ancestors().skip(1).find(|f| !f.ends_with("deps")).unwrap_or(&this);
    let binary = folder.join("cachetc").with_extension(std::env::consts::EXE_EXTENSION);
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.current_dir(crate::corpus::root()).args(["build", "--quiet", "--workspace", "--bin", "cachetc"]);
        if let Some(target) = folder.parent() {
            build.arg("--target-dir").arg(target);
        }
        match folder.file_name().and_then(OsStr::to_str) {
            Some("debug") | None => {}
            Some(profile) => drop(build.args(["--profile", profile])),
        }
        let built = build.output().map_err(|e| format!("cargo does not start: {e}"))?;
        if !built.status.success() {
            return Err(format!("cachetc is not built: {}", tail(&String::from_utf8_lossy(&built.stderr))));
        }
    }
    match binary.is_file() {
        true => Ok(binary),
        false => Err(format!("there is no cachetc at {}", binary.display())),
    }
}

/// A command of the executable, that keeps nothing and inherits nothing that matters.
pub fn command(binary: &Path, folder: &Path) -> Command {
    let mut c = Command::new(binary);
    c.current_dir(folder).env("CACHET_CACHE", "").env("NO_COLOR", "1").env_remove("RUST_BACKTRACE");
    c
}

/// Runs it to its end, or for so long, with what is written to its standard input.
pub fn run(command: &mut Command, most: Duration) -> std::io::Result<Ended> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let out = drained(child.stdout.take());
    let err = drained(child.stderr.take());
    let (mut peak, mut cpu, mut stopped) = (0, Duration::ZERO, false);
    let status = loop {
        (peak, cpu) = looked_at(&child, peak, cpu);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if !stopped && start.elapsed() > most {
            stopped = true;
            child.kill()?;
        }
        // The peak and the time only grow: a long run is looked at less often, at most a sixteenth too late.
        std::thread::sleep((start.elapsed() / 16).clamp(Duration::from_millis(1), Duration::from_millis(20)));
    };
    let wall = start.elapsed();
    let bytes = |t: std::thread::JoinHandle<Vec<u8>>| t.join().unwrap_or_default();
    Ok(Ended { status: status.code(), out: bytes(out), err: bytes(err), wall, cpu, peak, stopped })
}

/// More than this of what a process prints is read, and not kept.
const KEPT: usize = 8 << 20;

fn drained(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let Some(mut from) = from else { return Vec::new() };
        let (mut all, mut part) = (Vec::new(), [0; 1 << 16]);
        while let Ok(n @ 1..) = from.read(&mut part) {
            all.extend_from_slice(&part[..n.min(KEPT.saturating_sub(all.len()))]);
        }
        all
    })
}

/// The peak and the time of a process, as far as the system tells; what was known, once it has ended.
fn looked_at(child: &Child, peak: u64, cpu: Duration) -> (u64, Duration) {
    let read = |what: &str| std::fs::read_to_string(format!("/proc/{}/{what}", child.id())).unwrap_or_default();
    let status = read("status");
    let now = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    // The fields behind the name in brackets: utime and stime are the 12th and 13th, in hundredths.
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
    let ticks = |n: usize| fields.get(n).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
    let used = Duration::from_millis(10 * (ticks(11) + ticks(12)));
    (peak.max(now.unwrap_or(0)), cpu.max(used))
}

/// A folder that is removed when it is no longer needed.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty one.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn new(name: &str) -> std::io::Result<Folder> {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cachet-{name}-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
