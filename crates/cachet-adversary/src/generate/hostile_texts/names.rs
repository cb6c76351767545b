//! Names that mean something to somebody else, names twice, and names without end.

use super::{Hostile, MAIN, PRODUCT};

/// What C, Metal, CUDA, LLVM, the linker, the C library and our own runtime call theirs.
const TAKEN: &[&str] = &[
    "auto",
    "break",
    "case",
    "char",
    "const_cast",
    "continue",
    "default",
    "double",
    "enum",
    "extern",
    "float",
    "goto",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "class",
    "namespace",
    "operator",
    "private",
    "public",
    "template",
    "this",
    "throw",
    "try",
    "using",
    "virtual",
    "asm",
    "typeof",
    "kernel",
    "device",
    "constant",
    "thread",
    "threadgroup",
    "vertex",
    "fragment",
    "sampler",
    "texture",
    "half",
    "bfloat",
    "__global__",
    "__device__",
    "__shared__",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "__syncthreads",
    "define",
    "declare",
    "entry",
    "undef",
    "poison",
    "ptr",
    "_start",
    "_init",
    "_fini",
    "__libc_start_main",
    "__stack_chk_fail",
    "_GLOBAL_OFFSET_TABLE_",
    "__bss_start",
    "environ",
    "errno",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "memcpy",
    "memset",
    "memmove",
    "memcmp",
    "strlen",
    "printf",
    "puts",
    "putchar",
    "write",
    "read",
    "open",
    "close",
    "exit",
    "abort",
    "atexit",
    "signal",
    "raise",
    "fma",
    "fmaf",
    "sqrt",
    "sqrtf",
    "exp",
    "expf",
    "fmin",
    "fmax",
    "fminf",
    "fmaxf",
    "fabs",
    "floor",
    "ceilf",
    "pow",
    "sin",
    "cos",
    "pthread_create",
    "mmap",
    "aligned_alloc",
    "posix_memalign",
    "__fixdfti",
    "__multi3",
    "__udivti3",
    "__truncsfhf2",
    "__gnu_f2h_ieee",
    "cachet_main",
    "cachet_alloc",
    "cachet_print",
    "cachet_run",
    "cachet_parallel",
    "cachet_threads",
    "main_",
    "_main",
    "self",
    "Self",
    "crate",
    "fn_",
    "Type_",
    "llvm",
    "a'b",
    "x'0",
    "A",
    "_",
    "__",
    "_0",
    "O0",
    "nan",
    "inf",
    "NaN",
    "infinity",
    "NULL",
    "true",
    "false",
    "std",
    "core",
    "alloc_",
    "new",
    "delete",
    "and",
    "or",
    "not",
    "xor",
    "bool",
    "i1",
    "i128",
    "f80",
];

pub(super) fn all() -> Vec<Hostile> {
    let mut out = vec![
        Hostile::text("an identifier of a mebibyte", format!("const {} = 1\n{MAIN}", "a".repeat(1 << 20))),
        Hostile::text(
            "an identifier of a mebibyte, used where it is unknown",
            format!("fn main () =\n  print {}\n", "a".repeat(1 << 20)),
        )
        .refused(),
        Hostile::text("a function's name of a mebibyte", function("f", &"a".repeat(1 << 20))),
        Hostile::text("a function's name of ten thousand characters", function("f", &"b".repeat(10_000))),
        Hostile::text("ten thousand names that are nearly the same, and one that is unknown", nearly(10_000)).refused(),
        Hostile::text(
            "a kibibyte of a name in a thousand reports",
            format!("fn main () =\n{}", format!("  print {}\n", "a".repeat(1024)).repeat(1000)),
        )
        .refused(),
    ];
    for name in TAKEN {
        let called = Hostile::text(format!("a function called `{name}`"), function(name, "x")).one_of_many();
        out.push(if matches!(*name, "true" | "false") { called.refused() } else { called.fine() });
    }
    let usable: Vec<&str> = TAKEN.iter().copied().filter(|n| !matches!(*n, "true" | "false")).collect();
    for (n, names) in usable.chunks(20).enumerate() {
        out.push(Hostile::text(format!("functions with names that are taken, {n}"), functions(names)).fine());
    }
    // One program with all of them at once, as locals, arrays, loops and sizes.
    out.push(Hostile::text("locals, arrays and loops with names that are taken", locals()));
    out.extend(twice());
    out
}

/// A function called so, with an argument called so, called from `main`.
fn function(name: &str, argument: &str) -> String {
    let name = if name == "f" { argument } else { name };
    format!(
        "fn {name} (reads {argument}: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load {argument}[i] * 2.0\n\nfn main () =\n  alloc x: [f32; 2]\n  for i in 0 .. 2 do store x[i] = 1.5\n  alloc y: [f32; 2]\n  {name} x y\n  print (load y[1])\n"
    )
}

/// A function of each name, all called from `main`.
fn functions(names: &[&str]) -> String {
    let function =
        |name: &&str| format!("fn {name} (mut z: [f32; N]) =\n  for i in 0 .. N do store z[i] = load z[i] * 2.0\n\n");
    let call = |name: &&str| format!("  {name} z\n  print (load z[1])\n");
    format!(
        "{}fn main () =\n  alloc z: [f32; 2]\n  for i in 0 .. 2 do store z[i] = 1.5\n{}",
        names.iter().map(function).collect::<String>(),
        names.iter().map(call).collect::<String>()
    )
}

fn locals() -> String {
    let usable = TAKEN.iter().filter(|n| !matches!(**n, "_" | "true" | "false" | "bool" | "fma" | "A"));
    let lines = usable.map(|n| {
        format!("  for {n} in 0 .. 2 do\n    let {n}' = ({n} + 1) as f32\n    store total[0] = load total[0] + {n}'\n")
    });
    format!(
        "fn main () =\n  alloc total: [f32; 1]\n  store total[0] = 0.0\n{}  print (load total[0])\n",
        lines.collect::<String>()
    )
}

fn nearly(n: usize) -> String {
    let c = |i| format!("const name_{i:05} = 1\n");
    format!("{}const A = nama_00000\n{MAIN}", (0..n).map(c).collect::<String>())
}

fn twice() -> Vec<Hostile> {
    let f = "fn f (x: f32) -> f32 = x\n";
    let texts = [
        ("two functions of one name", format!("{f}{f}{MAIN}")),
        ("a thousand functions of one name", format!("{}{MAIN}", f.repeat(1_000))),
        ("two mains", format!("{MAIN}\n{MAIN}")),
        ("two constants of one name", format!("const A = 1\nconst A = 2\n{MAIN}")),
        ("a constant and a function of one name", format!("const f = 1\n{f}{MAIN}")),
        ("two parameters of one name", format!("fn g (reads x: [f32; N]) (mut x: [f32; N]) =\n  store x[0] = 1.0\n{MAIN}")),
        ("two parameters of one name in a pure function", format!("fn g (x: f32) (x: f32) -> f32 = x\n{MAIN}")),
        ("two fields of one name", format!("record R where\n  a: f32\n  a: f32\n{MAIN}")),
        ("two records of one name", format!("record R where\n  a: f32\n\nrecord R where\n  a: f32\n{MAIN}")),
        ("two schedules of one name", format!("{PRODUCT}schedule s of product =\n  interchange (i, j)\n\nschedule s of product =\n  interchange (i, j)\n{MAIN}")),
        ("two indices of one name in a step's call", format!("{PRODUCT}schedule s of product =\n  interchange (i, i)\n{MAIN}")),
        ("two indices of one name in a schedule function", format!("{PRODUCT}schedule fn s (i, i) =\n  interchange (i, i)\n\nschedule t of product =\n  s (i, j)\n{MAIN}")),
        ("an index twice on the left", format!("contraction d\n    (reads x: [f32; N])\n    -> out y: [f32; N, N] =\n  y[i, i] = x[i]\n{MAIN}")),
        ("a summed index twice", format!("contraction d\n    (reads x: [f32; N])\n    -> out y: [f32; N] =\n  y[i] = sum k, k. x[k]\n{MAIN}")),
        ("two outputs of one name", format!("contraction d\n    (reads x: [f32; N])\n    -> out y: [f32; N], out y: [f32; N] =\n  y[i] = x[i]\n{MAIN}")),
        ("two type parameters of one name", format!("import \"cachet:monoid\"\nfn g {{S : Monoid}} {{S : Monoid}} (mut x: [S.Value; N]) =\n  store x[0] = S.empty ()\n{MAIN}")),
        ("two implementations of one name", format!("import \"cachet:monoid\"\n{0}{0}{MAIN}", "impl Monoid for A f32 where\n  const Value = f32\n  fn empty () = 0.0\n  fn combine a b = a\n\n")),
        ("two operations of one name", format!("interface I where\n  const Value: Type\n  fn f a -> Value\n  fn f a -> Value\n\n{MAIN}")),
        ("two proofs of one name", format!("proof p =\n  assert 1 == 1\n\nproof p =\n  assert 1 == 1\n\n{MAIN}")),
        ("two steps of one name", format!("{0}{0}{MAIN}", "step fn s i =\n  from\n    for i in $A do\n      $b\n  to\n    for i in $A do\n      $b\n\n")),
        ("a loop in a loop of one name", "fn main () =\n  for i in 0 .. 2 do\n    for i in 0 .. 2 do\n      print i\n".into()),
        ("two locals of one name", "fn main () =\n  let a = 1.0\n  let a = 2.0\n  print a\n".into()),
        ("two arrays of one name", "fn main () =\n  alloc x: [f32; 2]\n  alloc x: [f32; 3]\n  store x[1] = 1.0\n  print (load x[1])\n".into()),
        ("a name of the library's", format!("{PRODUCT}step fn zero i =\n  from\n    for i in $A do\n      $b\n  to\n    for i in $A do\n      $b\n\n{MAIN}")),
        ("an argument that is given twice", "fn f (mut x: [f32; N]) (mut y: [f32; N]) =\n  for i in 0 .. N do store x[i] = 1.0\n\nfn main () =\n  alloc x: [f32; 2]\n  f x x\n".into()),
    ];
    texts.into_iter().map(|(name, text)| Hostile::text(name, text)).collect()
}
