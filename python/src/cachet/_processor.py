"""Can this processor run what was built? A program that meets an instruction that it does not have just ends."""

import re

# What Linux calls the features that code is made with, by LLVM's names; others come along with these.
_FLAGS = {
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "bmi2": "bmi2",
    "f16c": "f16c",
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "avx512vnni": "avx512_vnni",
    "avxvnni": "avx_vnni",
    "sve": "sve",
    "sve2": "sve2",
    "bf16": "bf16",
    "i8mm": "i8mm",
}
_V3 = ["avx", "avx2", "fma", "bmi2", "f16c"]
_LEVELS = {"x86-64-v3": _V3, "x86-64-v4": [*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]}


def missing(target, cpuinfo=None):
    """The features, by LLVM's names, that a manifest's target has and this processor is known not to have."""
    if cpuinfo is None:
        try:
            with open("/proc/cpuinfo", encoding="utf-8") as file:
                cpuinfo = file.read()
        except OSError:
            return []
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", cpuinfo, re.MULTILINE)
    if found is None:
        return []
    flags = set(found.group(1).split())
    wanted = _LEVELS.get(target["cpu"], []) + [f[1:] for f in target["features"].split(",") if f.startswith("+")]
    return [name for name in dict.fromkeys(wanted) if name in _FLAGS and _FLAGS[name] not in flags]
