#!/usr/bin/env python3
"""Runs the own tests of published crates under `cargo unpause test --any`, and writes the table of docs/suites.md.

    census.py pin                      writes the newest versions into crates.txt
    census.py run [NAME…]              runs the crates that have no result yet, or these crates
    census.py table                    writes the table
    census.py check [NAME…]            runs quick crates, or these crates, and compares them with results.json
    census.py memory [NAME…]           runs crates under both memories, writes memory.json and its table: see memory.py

Each crate is copied from Cargo's registry folder and its tests are run twice with the same seeds. The result, in
results.json, compares the two runs. The manifest of the copy lacks benchmarks and the crates that only benchmarks use.
An argument `+NAME@VERSION` of the list adds a dev-dependency, because publishing removes those that have only a path.
Nothing else is changed. `check` does not change results.json, and exits with 1 if a result differs from it.
`CENSUS_COMMAND` is the command (the default is `cargo-unpause` of this checkout), `CENSUS_FOLDER` the folder for copies
and builds (a few GB at a time). With `CENSUS_KEEP=1` the build of a crate is kept, so a failure can be run again.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import memory
from published import FOLDER, ROOT, call, copy, manifest, outcomes

HERE = Path(__file__).resolve().parent
LIST = HERE / "crates.txt"
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs" / "suites.md"
# Seconds. A crate whose build or run takes longer is counted as far as it came.
BUILD_MAX, RUN_MAX = 900, int(os.environ.get("CENSUS_SECONDS", "400"))
# Few seeds: the census asks which tests can be decided, and has many tests.
SETTINGS = {"SIM_SEEDS": "3", "SIM_TIME": "3", "SIM_SHRINK": "0"}
# Crates whose runs take one or two seconds and whose tests all pass: `check` runs them.
QUICK = ("triomphe", "archery", "ringbuf", "async-task", "event-listener", "futures-locks", "thread_local", "conquer-once",
         "piper", "haphazard", "oneshot", "left-right")


def crates():
    """The rows of the list: name, version, arguments."""
    rows = [line.split() for line in LIST.read_text().splitlines() if line and line[0] != "#"]
    return [(name, version, arguments) for name, version, *arguments in rows]


def pin():
    """Replaces the versions of the list by those that Cargo takes."""
    text = LIST.read_text()
    manifest(FOLDER / "pin", [(name, "*") for name, _, _ in crates()])
    subprocess.run(["cargo", "generate-lockfile"], cwd=FOLDER / "pin", check=True)
    metadata = ["cargo", "metadata", "--format-version", "1"]
    packages = json.loads(subprocess.check_output(metadata, cwd=FOLDER / "pin"))
    root = packages["resolve"]["root"]
    direct = next(node for node in packages["resolve"]["nodes"] if node["id"] == root)["dependencies"]
    for package in packages["packages"]:
        if package["id"] in direct:
            old = rf"(?m)^{re.escape(package['name'])} \S+"
            text = re.sub(old, f"{package['name']} {package['version']}", text)
    LIST.write_text(text)


def build(name, version, arguments):
    """Builds the tests of a crate. Returns the first fields of its result, the folder, and the arguments that run the
    tests. If there is no build, the fields contain `not_built`."""
    result = {"version": version, "arguments": arguments, "day": time.strftime("%Y-%m-%d")}
    try:
        added = [argument[1:].split("@") for argument in arguments if argument.startswith("+")]
        folder = copy(name, version, added)
    except (subprocess.CalledProcessError, StopIteration) as error:
        return {**result, "not_built": f"cannot be fetched: {error}"}, None, []
    arguments = [argument for argument in arguments if not argument.startswith("+")]
    tests = [*arguments, "--tests", "--no-fail-fast"]
    code, output, errors, seconds = call([*tests, "--no-run"], folder, BUILD_MAX)
    (FOLDER / "logs").mkdir(exist_ok=True)
    (FOLDER / "logs" / f"{name}.build").write_text(output + errors)
    if code != 0:
        wrong = [line for line in errors.splitlines() if line.startswith("error")]
        return {**result, "not_built": "time" if code is None else (wrong or ["?"])[0][:150]}, folder, tests
    return result, folder, tests


def run(name, version, arguments):
    """The result of a crate, for results.json."""
    result, folder, tests = build(name, version, arguments)
    if "not_built" in result:
        return result
    runs = []
    for number in (1, 2):
        code, output, errors, took = call([*tests, "--", "--test-threads=1"], folder, RUN_MAX, SETTINGS.items())
        (FOLDER / "logs" / f"{name}.run{number}").write_text(f"exit {code}\n{output}\n==== errors\n{errors}")
        runs.append((code, *outcomes(output, errors), took))
    (code, first, causes, beyond, took), (_, second, *_) = runs
    both = [test for test in first if test in second]
    return {
        **result,
        "tests": len(first),
        "passed": sum(outcome == "ok" for outcome in first.values()),
        "failed": {test: causes.get(test.split(":", 1)[1], "?") for test in first if first[test] == "FAILED"},
        "undecided": {test: causes.get(test.split(":", 1)[1], "?") for test in first if first[test] == "undecided"},
        "ran_on": beyond,
        "compared": len(both),
        "differ": [test for test in both if first[test] != second[test]],
        "stopped": code is None,
        "seconds": took,
    }


def check(*names):
    """Runs crates again, and exits with 1 if a result differs from results.json."""
    known, wrong = json.loads(RESULTS.read_text()), []
    names = names or QUICK
    for name, version, arguments in crates():
        if name not in names:
            continue
        found, expected = comparable(run(name, version, arguments)), comparable(known.get(name, {}))
        if not os.environ.get("CENSUS_KEEP"):
            shutil.rmtree(FOLDER / "target", ignore_errors=True)
        differ = [f"{name}: {key} is {found[key]}, and was {expected[key]}" for key in expected if found[key] != expected[key]]
        print("\n".join(differ) or f"{name} {version}: the same result, {expected['tests']} tests", flush=True)
        wrong += differ
    missing = set(names) - {name for name, _, _ in crates()}
    if wrong or missing:
        sys.exit(f"{len(wrong)} differences, not in the list: {sorted(missing)}. The logs are in {FOLDER / 'logs'}")


def comparable(result):
    """What is the same whenever a crate is run: its counts, and the names of the tests that do not pass."""
    same = {key: result.get(key) for key in ("version", "not_built", "tests", "passed", "differ", "stopped")}
    return {**same, "failed": sorted(result.get("failed", [])), "undecided": sorted(result.get("undecided", []))}


def table():
    """Writes the rows between the marks of the page."""
    results = json.loads(RESULTS.read_text())
    reviews = HERE / "reviews.json"
    reviews = json.loads(reviews.read_text()) if reviews.exists() else {}
    rows, sums, ended, open_ = [], [0] * 6, 0, []
    for name, _, _ in crates():
        result = results.get(name)
        if result is None or "not_built" in result:
            open_.append(name if result is None else f"{name} ({result['not_built']})")
            continue
        same = result["compared"] - len(result["differ"])
        counts = [result["tests"], result["passed"], len(result["failed"]), len(result["undecided"])]
        sums = [a + b for a, b in zip(sums, [*counts, same, result["compared"]])]
        ended += not result["stopped"]
        why = reviews.get(name) or "; ".join(sorted({short(text) for text in result["undecided"].values()}))
        if result["stopped"]:
            why = "; ".join(filter(None, [why, "stopped by the time limit"]))
        cells = [f"{name} {result['version']}", *counts, result["ran_on"], f"{same} of {result['compared']}", why]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    tests, passed, failed, undecided, same, compared = sums
    head = ["| crate | tests run | passed | failed | undecided | ran on | the same twice | causes |", "|---|--:|--:|--:|--:|--:|--:|---|"]
    total = f"| **{len(rows)} crates** | {tests} | {passed} | {failed} | {undecided} | | {same} of {compared} | |"
    share = 100 * (passed + failed) / max(1, tests)
    text = "\n".join([*head, *rows, total])
    text += f"\n\n{share:.1f} % of the tests are decided. {ended} of {len(rows)} crates came to the end within the time limit."
    text += "\n\nNot run, or not built: " + ", ".join(open_) + "." if open_ else ""
    page = PAGE.read_text()
    begin, end = "<!-- census -->", "<!-- end of census -->"
    PAGE.write_text(page[: page.index(begin)] + begin + "\n" + text + "\n" + page[page.index(end):])


def short(cause):
    """The kind of a cause."""
    for part, kind in (("not repeatable", "not repeatable"), ("does not end", "does not end within the limits")):
        if part in cause:
            return kind
    return re.sub(r"^\d+ of \d+ runs: ", "", cause)[:80]


def main(act="", *names):
    if act == "pin":
        return pin()
    if act == "table":
        return table()
    if act == "check":
        return check(*names)
    if act == "memory":
        return memory.main([row for row in crates() if not names or row[0] in names], build, bool(names))
    if act != "run":
        sys.exit(__doc__)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, version, arguments in crates():
        if name not in names if names else name in results:
            continue
        if os.environ.get("CENSUS_UNTIL", "99:99") <= time.strftime("%H:%M", time.gmtime()):
            break
        result = run(name, version, arguments)
        # Read again, because it takes minutes.
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        results[name] = result
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        if not os.environ.get("CENSUS_KEEP"):
            shutil.rmtree(FOLDER / "target", ignore_errors=True)
        line = {key: value if not isinstance(value, (dict, list)) else len(value) for key, value in results[name].items()}
        print(name, line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
