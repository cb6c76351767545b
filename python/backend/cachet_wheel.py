"""Makes the wheel: the package's files, the compiler's program, and a libLLVM if one is named.

The compiler is the file that ``CACHETC`` names, or ``target/release/cachetc`` above this folder, which ``cargo build --release
-p cachetc`` makes if it is not there. ``CACHET_WHEEL_LLVM`` names a libLLVM to be carried along; without it the compiler
looks for one on the machine it runs on. Equal files give equal wheels.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent.parent


def _project():
    """Name, version and the other fields of pyproject.toml that a wheel repeats."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    field = lambda name: re.search(rf'^{name} = "(.*)"$', text, re.MULTILINE).group(1)
    return {name: field(name) for name in ("name", "version", "description", "requires-python")}


def _compiler():
    named = os.environ.get("CACHETC")
    if named:
        return pathlib.Path(named).resolve(strict=True)
    root = HERE.parent
    program = root / "target" / "release" / "cachetc"
    if not program.exists():
        subprocess.run(["cargo", "build", "--release", "--locked", "-p", "cachetc"], cwd=root, check=True)
    return program


def _tag():
    """No part of Python's own interface is used; the compiler's program is this platform's."""
    platform = re.sub(r"[^a-z0-9]", "_", sysconfig.get_platform().lower())
    return f"py3-none-{platform}"


def _metadata(project):
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {project['name']}\nVersion: {project['version']}\nSummary: {project['description']}\n"
        f"Requires-Python: {project['requires-python']}\nLicense: MIT OR Apache-2.0\n"
        "Description-Content-Type: text/markdown\n\n" + (HERE / "README.md").read_text(encoding="utf-8")
    )


def _add(archive, records, name, data, mode=0o644):
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100000 | mode) << 16
    archive.writestr(info, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    records.append(f"{name},sha256={digest},{len(data)}\n")


def _wheel(folder, with_files):
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    path = pathlib.Path(folder) / f"{stem}-{_tag()}.whl"
    records = []
    with zipfile.ZipFile(path, "w") as archive:
        with_files(archive, records)
        info = f"{stem}.dist-info"
        _add(archive, records, f"{info}/METADATA", _metadata(project).encode())
        wheel = f"Wheel-Version: 1.0\nGenerator: cachet_wheel\nRoot-Is-Purelib: false\nTag: {_tag()}\n"
        _add(archive, records, f"{info}/WHEEL", wheel.encode())
        for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
            _add(archive, records, f"{info}/licenses/{licence}", (HERE.parent / licence).read_bytes())
        records.append(f"{info}/RECORD,,\n")
        record = zipfile.ZipInfo(f"{info}/RECORD", date_time=(1980, 1, 1, 0, 0, 0))
        record.external_attr = 0o100644 << 16
        archive.writestr(record, "".join(records))
    return path.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    def files(archive, records):
        package = HERE / "src" / "cachet"
        for file in sorted(package.glob("*.py")) + [package / "py.typed"]:
            _add(archive, records, f"cachet/{file.name}", file.read_bytes())
        _add(archive, records, "cachet/bin/cachetc", _compiler().read_bytes(), 0o755)
        llvm = os.environ.get("CACHET_WHEEL_LLVM")
        if llvm:
            llvm = pathlib.Path(llvm)
            _add(archive, records, f"cachet/bin/lib/{llvm.name}", llvm.read_bytes(), 0o755)

    return _wheel(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    def files(archive, records):
        _add(archive, records, "cachet.pth", str(HERE / "src").encode() + b"\n")

    return _wheel(wheel_directory, files)


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("there is no source archive: the compiler is built in the project's repository")
