#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| _ = cachet_adversary::fuzzing::parser(bytes));
