"""Sources of published crates, and their tests under `cargo unpause test --any`. The census and the suites of loom's and
shuttle's tests use it. Runs nothing by itself.

`CENSUS_COMMAND` is the command (the default is `cargo-unpause` of this checkout). `CENSUS_FOLDER` is the folder for copies
and builds (a few GB at a time)."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(os.environ.get("CENSUS_FOLDER", Path(tempfile.gettempdir()) / "unpause-census"))
COMMAND = os.environ.get("CENSUS_COMMAND", str(ROOT / "target" / "debug" / "cargo-unpause"))
BENCHMARKS = ("criterion", "divan", "iai", "bencher", "pprof", "codspeed", "tango-bench", "gungraun")


def manifest(folder, dependencies):
    """Writes a package with these dependencies."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lib.rs").write_text("")
    lines = [f'{name} = "{version}"' for name, version in dependencies]
    head = '[workspace]\n[package]\nname = "census"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n'
    (folder / "Cargo.toml").write_text(head + "\n".join(lines) + "\n")


def source(name, version):
    """The folder with the source of a crate, in the folder of the registry."""
    fetched = FOLDER / "fetch"
    shutil.rmtree(fetched, ignore_errors=True)
    manifest(fetched, [(name, f"={version}")])
    subprocess.run(["cargo", "fetch", "--quiet", "--target", "x86_64-unknown-linux-gnu"], cwd=fetched, check=True)
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    return next((home / "registry" / "src").glob(f"*/{name}-{version}"))


def copy(name, version, added, more=""):
    """Copies the source of a crate from the folder of the registry, and adds dev-dependencies, which use the copy, and
    `more` lines. Returns the folder of the copy."""
    original, folder = source(name, version), FOLDER / "crate"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    # One compiler for all crates, and the newest dependencies.
    for unwanted in ("Cargo.lock", "rust-toolchain", "rust-toolchain.toml"):
        (folder / unwanted).unlink(missing_ok=True)
    path = folder / "Cargo.toml"
    sections = [f'\n[dev-dependencies.{crate}]\nversion = "={number}"\n' for crate, number in added]
    if added:
        sections += [f'\n[patch.crates-io.{name}]\npath = "."\n']
    path.write_text("[workspace]\n" + without_benchmarks(path.read_text()) + "".join(sections) + more)
    return folder


def without_benchmarks(text):
    """A manifest, as the registry has it, without sections of benchmarks."""
    sections = re.split(r"(?m)^(?=\[)", text)
    unwanted = [r"\[\[bench\]\]", r"\[workspace\]"]
    unwanted += [rf"\[(target\..*\.)?dev-dependencies\.{name}" for name in BENCHMARKS]
    kept = [part for part in sections if not any(re.match(pattern, part) for pattern in unwanted)]
    return re.sub(r"(?m)^autobenches = .*$", "autobenches = false", "".join(kept))


def call(arguments, folder, seconds, more=(), command=()):
    """Runs the command. Returns its exit code (None if it took too long), output, errors and seconds."""
    environment = {
        **os.environ, "CARGO_TARGET_DIR": str(FOLDER / "target"), "CARGO_PROFILE_DEV_DEBUG": "1",
        "CARGO_PROFILE_TEST_DEBUG": "1", "CARGO_INCREMENTAL": "0", "CARGO_TERM_COLOR": "never",
        # Some crates refuse warnings, which newer compilers have more of.
        "RUSTFLAGS": "--cap-lints=warn", **dict(more),
    }
    begun = time.time()
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        process = subprocess.Popen(
            [*(command or [COMMAND, "unpause", "test", "--any"]), *arguments], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0), err.seek(0)
        return code, out.read(), err.read(), round(time.time() - begun)


def outcomes(output, errors):
    """The result of each test by its name, the causes of undecided tests, and the number of tests that ran on."""
    found, begun, causes, program = {}, [], {}, 0
    for line in output.splitlines():
        program += line.startswith("running ")
        test = re.match(r"test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|$)", line)
        if test and test[2]:
            found[f"{program}:{test[1]}"] = test[2]
        elif test:
            begun.append(f"{program}:{test[1]}")
    for name, cause in re.findall(r"(?m)^UNDECIDED  (?:[\w-]+::)?(\S+): (.*)$", errors):
        for key in found:
            if key.split(":", 1)[1] == name:
                found[key], causes[name] = "undecided", cause
    failures = dict(re.findall(r"(?m)^FAILED  (?:[\w-]+::)?(\S+)\s+(.*)$", output + errors))
    causes = {**failures, **causes}
    # A hang that cannot be interrupted ends the program, and the line of its test has no result. A test that the time
    # limit of the program has ended has none either, but it has no failure.
    found.update({key: "FAILED" for key in begun if key.split(":", 1)[1] in failures and key not in found})
    return found, causes, len(re.findall(r"and then ran on", errors))
