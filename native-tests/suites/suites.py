#!/usr/bin/env python3
"""Runs tests that were written for loom or shuttle, from published packages, over `unpause-loom` and `unpause-shuttle`.

    suites.py run [NAME…]              runs the suites that have no result yet, or these suites
    suites.py table                    writes the tables of docs/suites.md
    suites.py copy NAME [real]         copies the tool's own tests, over the facade or the tool, and prints the folder

`suites.json` lists the suites. loom's and shuttle's own tests are copied into a package that depends on the facade.
Other crates are copied whole, and `[patch.crates-io]` puts the facade in the place of the tool. `leave_out` names files
or single items as `FILE::NAME`, that cannot compile over the facade, each with the reason: they are removed from the copy,
and tests among them are counted. Nothing else is changed. `parts` are words of names: each part runs by itself. A word
with `=` is a variable for this part, and the words after `--skip` are names that another part has.

Each suite runs twice. `results.json` has each test by name. `reviews.json` has a written reason for each test that does
not pass; `table` refuses to write without it. The first word of a reason is its kind, from `KINDS`. The variables of
census.py count here, too. With `CENSUS_RUNS=1` a suite runs once.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "census"))

from published import FOLDER, ROOT, call, copy, outcomes, source  # noqa: E402

LIST, RESULTS, REVIEWS = HERE / "suites.json", HERE / "results.json", HERE / "reviews.json"
PAGE = ROOT / "docs" / "suites.md"
BUILD_MAX, RUN_MAX = 1200, int(os.environ.get("CENSUS_SECONDS", "900"))
PROFILE = {"UNPAUSE_PROFILE_OPT_LEVEL": "1", "UNPAUSE_PROFILE_CODEGEN_UNITS": "4", "SIM_SHRINK": "0"}
KINDS = ("other", "same", "finds", "long", "internal")


def facade(tool, version):
    """Copies the package that has the tool's name, with this version. Returns its folder."""
    folder, original = FOLDER / "facade", ROOT / f"unpause-{tool}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original / "patch", folder)
    manifest = (folder / "Cargo.toml").read_text()
    manifest = re.sub(r'(?m)^version = ".*"', f'version = "{version}"', manifest)
    (folder / "Cargo.toml").write_text(manifest.replace('path = ".."', f'path = "{original}"'))
    return folder


def own(suite, is_real=False):
    """Copies the tool's own tests into a package that depends on the facade, or on the tool. Returns its folder."""
    folder, tool = FOLDER / ("real" if is_real else "crate"), suite["tool"]
    original = source(suite["name"], suite["version"])
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "lib.rs").write_text("")
    shutil.copytree(original / "tests", folder / "tests")
    features = json.dumps(suite.get("features", []))
    renamed = f'{tool} = {{ package = "unpause-{tool}", path = "{ROOT}/unpause-{tool}", features = {features} }}'
    if is_real:
        renamed = f'{tool} = {{ version = "={suite["version"]}", features = {features} }}'
    head = f'[workspace]\n[package]\nname = "suite"\nversion = "0.0.0"\nedition = "2021"\n[dev-dependencies]\n{renamed}\n'
    (folder / "Cargo.toml").write_text(head + "\n".join(suite["dependencies"]) + "\n")
    return folder


def fetch(suite, is_real=False):
    """The folder with the tests and the facade, or the tool."""
    if "dependencies" in suite:
        folder = own(suite, is_real)
    else:
        tool = suite["tool"]
        at = facade(tool, suite.get("as", {"loom": "0.7.2", "shuttle": "0.9.9"}[tool]))
        folder = copy(suite["name"], suite["version"], [], f'\n[patch.crates-io.{tool}]\npath = "{at}"\n')
    for which in suite.get("leave_out", {}):
        file, _, what = which.partition("::")
        remove(folder / file, what)
    return folder


TEST = r"#\[(?:test_log::)?test\]\s*(?:#\[[^\n]*\s*|//[^\n]*\s*)*(?:async )?fn (\w+)"


def item(text, what):
    """The place of an item in a text: a line that ends with `;`, a `mod`, or a function with its attributes."""
    if what.endswith(";"):
        pattern = rf"(?m)^{re.escape(what)}\n"
    elif what.startswith("mod "):
        pattern = rf"(?ms)^{what} \{{\n.*?\n\}}\n"
    else:
        pattern = rf"(?m)^( *)(?:(?:#\[|///)[^\n]*\n\1)*(?:async )?fn {what}\b(?s:.*?)\n\1\}}\n"
    found = list(re.finditer(pattern, text))
    assert len(found) == 1, f"{len(found)} items {what}"
    return found[0].span()


def remove(file, what):
    """Removes an item, or the module of a file."""
    if what:
        text = file.read_text()
        begin, end = item(text, what)
        return file.write_text(text[:begin] + text[end:])
    module = file.parent / "mod.rs"
    file.unlink()
    if module.exists():
        changed = re.sub(rf"(?m)^(?:pub(?:\(crate\))? )?mod {file.stem};\n", "", module.read_text())
        module.write_text(changed)


def left_out(suite, folder):
    """The tests that are left out, with their reasons. `folder` has the source of the suite."""
    found = {}
    for which, why in suite.get("leave_out", {}).items():
        file, _, what = which.partition("::")
        path = [part for part in Path(file).with_suffix("").parts[1:] if part != "mod"]
        text = (folder / file).read_text()
        if what:
            begin, end = item(text, what)
            path += [what[4:]] if what.startswith("mod ") else []
            text = text[begin:end]
        if re.match(r"\w+!", what):
            found["::".join([*path, what])] = why
        for name in re.findall(TEST, text):
            found["::".join([*path, name])] = why
    return found


def one_run(suite, folder, environment):
    """One run of all parts: the result of each test by its name, causes, what the facade says about models, and a log."""
    code, named, why, models, seconds, log = 0, {}, {}, {}, 0, ""
    for part in suite.get("parts", [suite.get("filter", [])]):
        ended = one_part(suite, folder, environment, part)
        code = None if ended[0] is None else code
        named.update(ended[1]), why.update(ended[2]), models.update(ended[3])
        seconds, log = seconds + ended[4], log + ended[5]
    return code, named, why, models, seconds, log


def one_part(suite, folder, environment, part):
    """One run of the tests with names that have a word of `part`, with the variables of the part."""
    variables = [word.split("=", 1) for word in part if "=" in word]
    environment = {**dict(environment), **dict(variables)}.items()
    part = [word for word in part if "=" not in word]
    tests = [*suite["arguments"], "--no-fail-fast", "--", "--test-threads=1", *part]
    code, output, errors, seconds = call(tests, folder, RUN_MAX, environment)
    named, why, models = read(output, errors)
    if code is None:
        # Tests behind the one that took the time.
        _, listed, told, _ = call([*tests, "--list"], folder, RUN_MAX, environment)
        for name in read_list(listed, told):
            named.setdefault(name, "not reached")
    return code, named, why, models, seconds, f"exit {code}\n{output}\n==== errors\n{errors}\n"


def read(output, errors):
    """The result of each test by its name, causes, and what the facade says about models."""
    programs = re.findall(r"(?m)^ +Running (?:unittests )?(\S+) \(", errors)
    found, causes, _ = outcomes(output, errors)
    ignored, program = {}, 0
    for line in output.splitlines():
        program += line.startswith("running ")
        test = re.match(r"test (\S+).* \.\.\. ignored", line)
        if test:
            ignored[f"{program}:{test[1]}"] = "ignored"
    # A program that a signal has ended has no result for the test that ran.
    if signal := re.search(r"\((signal: \d+, \w+)", errors):
        last = re.findall(r"(?m)^test (\S+).* \.\.\. $", output)[-1:]
        found.update({f"{program}:{test}": "FAILED" for test in last})
        causes.update({test: f"the process ended: {signal[1]}" for test in last})
    panics = panic_messages(output)
    named, why = {}, {}
    for key, outcome in {**found, **ignored}.items():
        number, test = key.split(":", 1)
        name = named_by(programs, int(number) - 1, test)
        named[name] = {"ok": "pass", "FAILED": "fail"}.get(outcome, outcome)
        if named[name] in ("fail", "undecided"):
            why[name] = (panics.get(test) or causes.get(test) or "?")[:200]
    notes = re.findall(r"(?m)^note: (\S+): ((?:explored|searched) .*)$", errors)
    models = {name: re.sub(r" \(assumes [^)]*\)", "", note) for name, note in notes}
    return named, why, models


def read_list(output, errors):
    """The names of the tests that `--list` shows."""
    programs, names, program = re.findall(r"(?m)^ +Running (?:unittests )?(\S+) \(", errors), [], 0
    for line in output.splitlines():
        if test := re.match(r"(\S+): test$", line):
            names.append(named_by(programs, program, test[1]))
        program += bool(re.match(r"\d+ tests?, ", line))
    return names


def named_by(programs, number, test):
    """The name of a test, with the name of its program if a suite has several."""
    stem = Path(programs[number]).stem if number < len(programs) else str(number)
    return test if stem in ("lib", "mod", "main") else f"{stem}::{test}"


def panic_messages(output):
    """The message of each test that failed, by its name."""
    found = {}
    for name, text in re.findall(r"(?ms)^---- (\S+) stdout ----\n(.*?)(?=^---- |^failures:|\Z)", output):
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("note: run", "thread '"))]
        # The first line of a screen has the kind of the failure, the second one its message.
        count = 2 if lines and lines[0].startswith("FAILED") else 1
        found[name] = ": ".join(line.strip() for line in lines[:count])
    return found


def run(suite):
    """The result of a suite, for results.json."""
    result = {"version": suite["version"], "day": time.strftime("%Y-%m-%d")}
    if "not_run" in suite:
        return {**result, "not_run": suite["not_run"]}
    try:
        original = source(suite["name"], suite["version"])
        folder = fetch(suite)
    except (subprocess.CalledProcessError, StopIteration) as error:
        return {**result, "not_run": f"cannot be fetched: {error}"}
    environment = {**PROFILE, **suite.get("environment", {})}
    environment["RUSTFLAGS"] = "--cap-lints=warn " + suite.get("flags", "")
    tests = [*suite["arguments"], "--no-fail-fast", "--no-run"]
    code, output, errors, took = call(tests, folder, BUILD_MAX, environment.items())
    logs = FOLDER / "logs"
    logs.mkdir(exist_ok=True)
    (logs / f"{suite['name']}.build").write_text(output + errors)
    if code != 0:
        wrong = [line for line in errors.splitlines() if line.startswith("error")]
        return {**result, "not_run": "the build takes too long" if code is None else "does not compile: " + (wrong or ["?"])[0][:150]}
    runs = []
    for number in range(1, 1 + int(os.environ.get("CENSUS_RUNS", "2"))):
        runs.append(one_run(suite, folder, environment.items()))
        (logs / f"{suite['name']}.run{number}").write_text(runs[-1][-1])
    (code, first, why, models, seconds, _), second = runs[0], runs[1][1] if len(runs) > 1 else {}
    # A test behind the time limit of one run may have a result in the other one.
    first.update({test: outcome for test, outcome in second.items() if first.get(test) == "not reached"})
    both = [test for test in first if second.get(test) not in (None, "not reached")]
    return {
        **result, "tests": dict(sorted(first.items())), "why": why, "models": models,
        "left_out": left_out(suite, original), "compared": len(both),
        "differ": {test: second[test] for test in both if first[test] != second[test]},
        "stopped": code is None, "seconds": seconds, "build_seconds": took,
    }


def table():
    """Writes the rows between the marks of the page."""
    suites, results = json.loads(LIST.read_text()), json.loads(RESULTS.read_text())
    reviews = json.loads(REVIEWS.read_text())
    rows, tests, missing = [], [], []
    for suite in suites:
        name, result = suite["name"], results.get(suite["name"], {"not_run": "no result"})
        title = f"{name} {suite['version']}"
        if "not_run" in result:
            rows.append(f"| {title} | {suite['tool']} | | | | | | | | | {result['not_run']} |")
            continue
        outcomes_ = result["tests"]
        open_ = [test for test, outcome in outcomes_.items() if outcome in ("fail", "undecided")]
        open_ += [test for test in result["differ"] if test not in open_]
        reasons = {test: reviews.get(name, {}).get(test) for test in open_}
        missing += [f"{name}: {test}: {result['why'].get(test)}" for test, why in reasons.items()
                    if not why or why.split(":")[0] not in KINDS]
        count = list(outcomes_.values()).count
        as_there = sum((why or "").startswith("same:") for why in reasons.values())
        same = result["compared"] - len(result["differ"])
        says = suite.get("note", "") + ("; stopped by the time limit" if result["stopped"] else "")
        cells = [title, suite["tool"], len(outcomes_), count("pass"), count("fail") - as_there, as_there,
                 count("undecided"), count("not reached"), count("ignored"),
                 f"{same} of {result['compared']}", "; ".join(filter(None, [left(result), says]))]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
        tests += [f"| {name} | `{test}` | {outcomes_[test]} | {say(why)} |" for test, why in reasons.items()]
    if missing:
        sys.exit("no reason in reviews.json:\n" + "\n".join(missing))
    head = ["| suite | tool | tests | passed | failed | as with the tool | undecided | not reached | ignored there "
            "| the same twice | |", "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"]
    second = ["| suite | test | result | why |", "|---|---|---|---|"]
    text = "\n".join([*head, *rows, "", *second, *tests])
    page = PAGE.read_text()
    begin, end = "<!-- suites -->", "<!-- end of suites -->"
    PAGE.write_text(page[: page.index(begin)] + begin + "\n" + text + "\n" + page[page.index(end):])


def left(result):
    """Words about tests that are left out."""
    return f"{len(result['left_out'])} left out" if result["left_out"] else ""


def say(why):
    """A reason without its kind, if that is no word for a reader."""
    kind, _, text = (why or "other: ?").partition(": ")
    return {"same": "fails as with the tool: ", "finds": "finds what loom does not: "}.get(kind, "") + text


def main(act="", *names):
    if act == "table":
        return table()
    if act == "copy":
        suite = next(suite for suite in json.loads(LIST.read_text()) if suite["name"] == names[0])
        return print(fetch(suite, "real" in names))
    if act != "run":
        sys.exit(__doc__)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for suite in json.loads(LIST.read_text()):
        name = suite["name"]
        if name not in names if names else name in results:
            continue
        if os.environ.get("CENSUS_UNTIL", "99:99") <= time.strftime("%H:%M", time.gmtime()):
            break
        result = run(suite)
        # Read again, because it takes minutes.
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        results[name] = result
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        if not os.environ.get("CENSUS_KEEP"):
            shutil.rmtree(FOLDER / "target", ignore_errors=True)
        outcomes_ = list(result.get("tests", {}).values())
        print(name, {outcome: outcomes_.count(outcome) for outcome in set(outcomes_)}, result.get("not_run", ""),
              result.get("seconds"), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
