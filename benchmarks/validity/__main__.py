"""Run the checks, print every row, and write the page of the documentation."""

import argparse
import sys
import time

from joblib import Parallel, delayed

from benchmarks.validity import (  # noqa: F401  (each file registers its checks)
    across_subjects,
    class_bounds,
    copied_runs,
    cross_conditions,
    decoder_tests,
    encoding_models,
    extrapolation_intervals,
    forward_bounds,
    group_bounds,
    group_tests,
    intervals,
    ordered_designs,
    paired_tests,
    permutation_tests,
    population_bounds,
    results,
    scores,
    searchlight_maps,
    second_level,
    series,
    stories,
    target_tests,
    trial_confounds,
    true_discoveries,
    visible_designs,
)
from benchmarks.validity.registry import CHECKS, SEED


def main(arguments=None):
    """Run the checks that were asked for; return 1 if a guarantee fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validity")
    parser.add_argument("--quick", action="store_true", help="few sets, nothing kept")
    parser.add_argument("--only", nargs="+", choices=CHECKS, metavar="NAME")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="times as many sets")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    names = options.only or list(CHECKS)
    kept = results.read()
    failed, begin = 0, time.perf_counter()
    run = {**results.provenance(), "seed": options.seed}
    how = {"quick": options.quick, "seed": options.seed, "scale": options.scale}
    jobs = (delayed(_run)(name, how) for name in names)
    parallel = Parallel(n_jobs=options.n_jobs, return_as="generator_unordered")
    for done, (name, records, seconds) in enumerate(parallel(jobs), start=1):
        elapsed = time.perf_counter() - begin
        print(f"[{done}/{len(names)}, {elapsed:.0f} s] {name}: {seconds:.0f} CPU s")
        for record in records:
            print(_line(record))
            failed += record["verdict"] == "fails"
        sys.stdout.flush()
        kept[name] = {"run": run, "rows": records}
        if not options.quick:
            results.write(kept)
    print(f"{failed} rows fail")
    return int(failed > 0)


def _run(name, how):
    """Return a check's rows as records, and its CPU time (run in a worker)."""
    begin = time.process_time()
    records = [results.as_record(row) for row in CHECKS[name].rows(**how)]
    return name, records, time.process_time() - begin


def _line(record):
    where = f"{record['guarantee']} ({record['design']})"
    span = f"{record['low']:.4f}..{record['high']:.4f}"
    figures = f"{record['measured']:.4f} [{span}] of {record['nominal']:g}"
    return f"    {record['verdict']:13}{figures}  {where}"


if __name__ == "__main__":
    sys.exit(main())
