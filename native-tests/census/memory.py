"""The census under both memories: `census.py memory` runs the tests of a crate under `SIM_MEMORY=sc` and `c11`.

The comparison is in memory.json, and its table in docs/suites.md. Both memories have the same seeds. The cost is the
processor time of the tests that completed all seeds under both, without the time that the program needs to list them.
If some tests did not complete, the others are run once more without them. memory_reviews.json has the causes.
"""

import json
import math
import os
import re
import resource
import shutil
import time
from pathlib import Path

from published import FOLDER, ROOT, call, outcomes

HERE = Path(__file__).resolve().parent
RESULTS, REVIEWS = HERE / "memory.json", HERE / "memory_reviews.json"
PAGE = ROOT / "docs" / "suites.md"
RUN_MAX = int(os.environ.get("CENSUS_SECONDS", "300"))
MEMORIES = ("sc", "c11")
# Failures are shrunk: the screen then has the number of stale reads that the failure needs. Long runs are explored for
# fewer steps than by default, and then run on, because there are two memories.
LIMIT = "3"
SETTINGS = {"SIM_SEEDS": os.environ.get("CENSUS_SEEDS", "100"), "SIM_TIME": LIMIT, "SIM_STEPS": "200000"}


def processor():
    """Seconds of processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def once(name, folder, tests, which, more=(), label=""):
    """Runs the tests under a memory. Returns the results by test, their causes, the tests that ran out of time, the
    processor time, and if the run was stopped."""
    begun = processor()
    settings = {**SETTINGS, "SIM_MEMORY": which}
    code, output, errors, _ = call([*tests, "--", "--test-threads=1", *more], folder, RUN_MAX, settings.items())
    seconds = processor() - begun
    log = FOLDER / "logs" / f"{name}.{which}{label}"
    log.write_text(f"exit {code}\n{output}\n==== errors\n{errors}")
    found, causes, _ = outcomes(output, errors)
    return found, causes, paces(errors), seconds, code is None


def paces(errors):
    """The seconds of a run, for each test that the time limit ended, by the name of its program and its own."""
    took = dict(re.findall(r"(?m)^note: (\S+): the runs took ([\d.]+) s instead of", errors))
    runs = re.findall(r"(?m)^note: (\S+): the time was up after (\d+) of", errors)
    return {name: float(took.get(name, LIMIT)) / int(number) for name, number in runs if int(number) > 0}


def long_tests(strict, weak):
    """The tests that the time limit ended under both memories, and the geometric mean of the time of a run under c11 in
    proportion to sc."""
    both = [weak[name] / strict[name] for name in strict if name in weak]
    return {"tests": len(both), "ratio": round(math.prod(both) ** (1 / len(both)), 2)} if both else None


def compare(name, version, arguments, build):
    """The comparison for a crate."""
    result, folder, tests = build(name, version, arguments)
    if "not_built" in result:
        return result
    runs = {which: once(name, folder, tests, which) for which in MEMORIES}
    strict, weak = runs["sc"][0], runs["c11"][0]
    both = [test for test in strict if test in weak]
    differ = {
        test: {"sc": strict[test], "c11": weak[test], "cause": cause(test, runs["c11"][1])}
        for test in both if strict[test] != weak[test]
    }
    unequal = {test.split(":", 1)[1] for test in [*strict, *weak]
               if test not in both or strict[test] != "ok" or weak[test] != "ok"}
    unequal |= {test.split("::", 1)[1] for which in MEMORIES for test in runs[which][2]}
    stopped = [which for which in MEMORIES if runs[which][4]]
    return {
        **result,
        "seeds": SETTINGS["SIM_SEEDS"],
        "steps": SETTINGS["SIM_STEPS"],
        "tests": len(strict),
        "compared": len(both),
        "passed": {which: sum(runs[which][0][test] == "ok" for test in both) for which in MEMORIES},
        "differ": differ,
        "long": long_tests(runs["sc"][2], runs["c11"][2]),
        "stopped": stopped,
        "cost": cost(name, folder, tests, runs, unequal, {test.split(":", 1)[1] for test in both}),
    }


def cost(name, folder, tests, runs, unequal, both):
    """The processor time under each memory, of the tests that completed all seeds under both."""
    if not both - unequal:
        return None
    begun = processor()
    call([*tests, "--", "--list"], folder, RUN_MAX, SETTINGS.items())
    idle = processor() - begun
    seconds = {which: runs[which][3] for which in MEMORIES}
    if unequal:
        # `--skip` takes parts of names, and so may leave out some tests more.
        skip = [part for test in sorted(unequal) for part in ("--skip", test)]
        again = {which: once(name, folder, tests, which, skip, ".cost") for which in MEMORIES}
        if any(run[2] or run[4] for run in again.values()):
            return None
        seconds = {which: again[which][3] for which in MEMORIES}
    return {"tests": len(both - unequal), "idle": round(idle, 2), **{which: round(seconds[which], 2) for which in MEMORIES}}


def cause(test, causes):
    return causes.get(test.split(":", 1)[1], "?")


def main(rows, build, again):
    """Runs the crates without a comparison, or these crates `again`, and writes the table."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, version, arguments in rows:
        if name in known and not again:
            continue
        if os.environ.get("CENSUS_UNTIL", "99:99") <= time.strftime("%H:%M", time.gmtime()):
            break
        result = compare(name, version, arguments, build)
        known = {**(json.loads(RESULTS.read_text()) if RESULTS.exists() else {}), name: result}
        RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        if not os.environ.get("CENSUS_KEEP"):
            shutil.rmtree(FOLDER / "target", ignore_errors=True)
        print(name, {key: result.get(key) for key in ("not_built", "tests", "passed", "differ", "cost", "stopped")}, flush=True)
    table([name for name in known])


def table(names):
    """Writes the rows between the marks of the page."""
    results, reviews = json.loads(RESULTS.read_text()), json.loads(REVIEWS.read_text()) if REVIEWS.exists() else {}
    rows, sums, spent = [], [0] * 5, [0.0, 0.0]
    for name in names:
        result = results[name]
        if "not_built" in result:
            continue
        failed = [test for test, way in result["differ"].items() if way["c11"] == "FAILED"]
        undecided = [test for test, way in result["differ"].items() if way["c11"] == "undecided"]
        better = len(result["differ"]) - len(failed) - len(undecided)
        counts = [result["compared"], result["passed"]["c11"], len(failed), len(undecided), better]
        sums = [a + b for a, b in zip(sums, counts)]
        ratio, slow = proportion(result["cost"], spent), result.get("long")
        slow = f"{slow['ratio']:.2f} ({slow['tests']})" if slow else ""
        cells = [f"{name} {result['version']}", *counts, ratio, slow, reviews.get(name, "")]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    head = ["| crate | tests | passed with `c11` | failed only with `c11` | undecided only with `c11` | decided or passed only with `c11` "
            "| time `c11` / `sc` | long tests | causes |", "|---|--:|--:|--:|--:|--:|--:|--:|---|"]
    ratio = f"{spent[1] / spent[0]:.2f}" if spent[0] else ""
    total = f"| **{len(rows)} crates** | " + " | ".join(map(str, sums)) + f" | {ratio} | | |"
    page, begin, end = PAGE.read_text(), "<!-- memory -->", "<!-- end of memory -->"
    PAGE.write_text(page[: page.index(begin)] + begin + "\n" + "\n".join([*head, *rows, total]) + "\n" + page[page.index(end):])


def proportion(cost, spent):
    """The cost under c11 in proportion to sc. Empty if the tests take too little time to measure."""
    if not cost:
        return ""
    seconds = [max(0.0, cost[which] - cost["idle"]) for which in MEMORIES]
    spent[0], spent[1] = spent[0] + seconds[0], spent[1] + seconds[1]
    return f"{seconds[1] / seconds[0]:.2f}" if seconds[0] >= 0.5 else ""
