#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    cachet_adversary::fuzzing::certificate(bytes);
});
