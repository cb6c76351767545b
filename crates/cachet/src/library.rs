//! The standard library's files, carried in the executable.

/// A file that describes a machine.
macro_rules! platform {
    ($name:literal) => {
        (
            concat!("cachet:platforms/", $name),
            &[(concat!("cachet:platforms/", $name), include_str!(concat!("../../../platforms/", $name, ".cachet")))],
        )
    };
}

/// `cachet:NAME` and the files it consists of, in order.
const LIBRARY: &[(&str, &[(&str, &str)])] = &[
    (
        "cachet:steps",
        &[
            ("cachet:steps/zero", include_str!("../../../library/steps/zero.cachet")),
            ("cachet:steps/hoist", include_str!("../../../library/steps/hoist.cachet")),
            ("cachet:steps/interchange", include_str!("../../../library/steps/interchange.cachet")),
            ("cachet:steps/specialise", include_str!("../../../library/steps/specialise.cachet")),
            ("cachet:steps/strip", include_str!("../../../library/steps/strip.cachet")),
            ("cachet:steps/parallel", include_str!("../../../library/steps/parallel.cachet")),
        ],
    ),
    (
        "cachet:instructions/neon",
        &[("cachet:instructions/neon", include_str!("../../../library/instructions/neon.cachet"))],
    ),
    (
        "cachet:instructions/sme",
        &[("cachet:instructions/sme", include_str!("../../../library/instructions/sme.cachet"))],
    ),
    (
        "cachet:instructions/x86",
        &[("cachet:instructions/x86", include_str!("../../../library/instructions/x86.cachet"))],
    ),
    ("cachet:simd", &[("cachet:simd", include_str!("../../../library/instructions/simd.cachet"))]),
    ("cachet:layouts", &[("cachet:layouts", include_str!("../../../library/layouts/panels.cachet"))]),
    ("cachet:monoid", &[("cachet:monoid", include_str!("../../../library/algebra/semiring.cachet"))]),
    platform!("apple-silicon"),
    platform!("hopper"),
    platform!("neoverse-v2"),
    platform!("x86-64-avx2"),
    platform!("x86-64-avx512"),
    platform!("zen4"),
    platform!("zen5"),
];

/// What the names of the modules that describe machines begin with.
const PLATFORMS: &str = "cachet:platforms/";

/// The files of `cachet:NAME`: the name that messages print and the text.
pub fn files(name: &str) -> Option<Vec<(&'static str, &'static str)>> {
    LIBRARY.iter().find(|(n, _)| *n == name).map(|(_, files)| files.to_vec())
}

/// The names that may be imported.
pub fn names() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().map(|(n, _)| *n)
}

/// The modules that describe machines: what is imported, and the text.
pub fn platforms() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIBRARY.iter().filter(|(n, _)| n.starts_with(PLATFORMS)).flat_map(|(n, files)| files.iter().map(|f| (*n, f.1)))
}
