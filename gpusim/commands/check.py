"""``gpusim check``: compares scenarios, run on the GPU or recorded, with their simulation."""

import hashlib
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from gpusim import __version__
from gpusim.commands.options.check import CheckOptions
from gpusim.commands.output import check_folder, check_picture, complain, print_json, print_text, progress, written
from gpusim.commands.scenario_source import NamedScenario, read_named, scenario_texts
from gpusim.cuda.trace import expected_of_all, stream_digest
from gpusim.element_types import is_emulated
from gpusim.errors import BadInput, CannotRun, CheckFailed, GpusimError
from gpusim.families.registry import family_of
from gpusim.gpu import counters
from gpusim.gpu.device import gpu_slug
from gpusim.machine import load_machine
from gpusim.measure import measure
from gpusim.records.check import CheckRow, Latitude, check_rows, holds
from gpusim.records.check_table import check_table
from gpusim.records.halves import held_out_names
from gpusim.records.held_out_log import note_look
from gpusim.records.record import Record, find_record, load_record, measured_folder, write_record
from gpusim.results import provenance
from gpusim.results.answers_file import AnswersFile
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.results.whole_file import refuse_taken
from gpusim.scenario.catalogue import recordable_scenarios
from gpusim.scenario.models import Scenario
from gpusim.scenario.text import write_toml
from gpusim.schedule.counts import Counts, count_all
from gpusim.verbs.pictures import described
from gpusim.verbs.simulate import simulate

CHECK_SCHEMA = "gpusim.check/1"
"""Form of the answers that ``--out`` keeps."""


def check_scenarios(options: CheckOptions) -> int:
    """
    Check every file; without files, every scenario that is recorded and not held out.

    Each answer is printed as soon as it is known, and written to ``out`` if that is given. If a file fails, the error
    goes to stderr and the other files are still checked.

    Returns:
        The highest exit code of any file; 3 means that figures differ which must be equal.

    Raises:
        BadInput: The options contradict each other.
    """
    files = scenario_texts(options.files, options.cutlass) if options.files or options.cutlass else []
    _refuse_contradictions(files, options)
    kept = None if options.out is None else AnswersFile(options.out, CHECK_SCHEMA)
    if kept is not None and provenance.is_dirty(provenance.commit()):
        progress(f"the source tree has changes, so nothing that {options.out} has already is taken from it")
    worst = 0
    for file in files or [str(path) for path in recordable_scenarios() if _shown(path.stem, options)]:
        try:
            answer = _check_one(file, options, kept, quiet=not files)
        except GpusimError as error:
            complain(str(error))
            worst = max(worst, error.exit_code)
            answer = {"file": file, "error": str(error), "exit_code": error.exit_code}
        else:
            worst = max(worst, 0 if answer["holds"] else CheckFailed.exit_code)
        if options.as_json:
            print_json(answer, indent=1 if len(files) == 1 else None)
    return worst


def _refuse_contradictions(files: list[str], options: CheckOptions) -> None:
    if options.recorded and options.record:
        raise BadInput("--recorded compares with what was measured before, --record measures anew: give one of them")
    if not files and not options.recorded:
        raise BadInput("check needs a FILE; without one, --recorded compares everything that is recorded")
    if options.record and options.overrides:
        raise BadInput("--record keeps scenarios as their files state them: it goes without --set")
    if options.out is not None:
        check_folder(options.out)
    if options.overlay is not None:
        if len(files) != 1:
            raise BadInput(f"--overlay draws the pipeline of one FILE, got {len(files)}")
        check_picture("--overlay", options.overlay)
        refuse_taken(options.overlay, force=options.force)
    folders = sorted({path.parent.name for path in measured_folder().glob("*/*.json")})
    if options.recorded and folders and options.gpu not in (None, *folders):
        raise BadInput(f"--gpu must be one of {', '.join(folders)}, the folders of records, got {options.gpu!r}")


def _check_one(file: str, options: CheckOptions, kept: AnswersFile | None, *, quiet: bool) -> dict[str, Any]:
    source = read_named(file, options.overrides)
    scenario = source.scenario
    if options.record and source.path is None:
        rule = "it goes without a kernel's name or standard input"
        raise BadInput(f"--record keeps scenarios as their files state them: {rule}, got {file}")
    path = find_record(source.name, scenario.digest(), gpu=options.gpu) if options.recorded else None
    _look(source.name if path is None else path.stem, options)
    asked = _asked(file, scenario, path, options)
    found = None if kept is None or provenance.is_dirty(asked["commit"]) else kept.find(asked)
    if found is not None:
        progress(f"{source.name}: kept in {options.out}")
        return found
    record = _measured(source, file, options) if path is None else load_record(path)
    results, timeline = simulated(scenario)
    rows = check_rows(latitude_of(scenario), counts_of(scenario), results, record, _expected_trace(scenario, record))
    if not options.as_json:
        print_text(f"{source.name}: {_where(record)}")
        print_text(check_table(rows, quiet=quiet) if not quiet or not holds(rows) else _summary(rows))
    answer = {
        "file": file,
        "scenario_sha256": record.scenario_sha256,
        "environment": record.environment,
        "date": record.date,
        "holds": holds(rows),
        "rows": [{**asdict(row), "error": row.error} for row in rows],
    }
    if kept is not None:
        kept.add(asked, answer)
    if options.overlay is not None:
        draw_overlay(scenario, results, timeline, record, options.overlay, force=options.force)
    return answer


def _asked(file: str, scenario: Scenario, record: Path | None, options: CheckOptions) -> dict[str, Any]:
    """Return the data that identifies the question of an answer."""
    return {
        "file": file,
        "scenario_sha256": scenario.digest(),
        "machine_sha256": load_machine(scenario.machine).digest(),
        "record_sha256": None if record is None else hashlib.sha256(record.read_bytes()).hexdigest(),
        "seed": options.seed,
        "version": __version__,
        "commit": provenance.commit(),
    }


def _shown(name: str, options: CheckOptions) -> bool:
    return options.held_out_rows or name not in held_out_names()


def _look(name: str, options: CheckOptions) -> None:
    """
    Note that a record is looked at, if it is held out.

    Raises:
        BadInput: It is held out, and its rows were not asked for.
    """
    if not _shown(name, options):
        raise BadInput(
            f"{name}: is held out, and judges what was never looked at; --held-out-rows shows it, and notes so"
        )
    if name in held_out_names():
        note_look(f"gpusim check {name} --held-out-rows", "rows of 1 record")


def simulated(scenario: Scenario) -> tuple[dict[str, Result], Timeline | None]:
    """
    Simulate a scenario with each available stream.

    The compiled stream belongs to the measured build. Without a compiler and a shipped stream, or if the compiler's
    code cannot be lowered, it is omitted with a line on stderr. A kernel whose mma.sync is emulated is not simulated in
    time (D27); its numbers, trace and other counts are still checked.

    Returns:
        Results by the origin of their stream, and the timeline of the last one.
    """
    machine = load_machine(scenario.machine)
    mma = family_of(scenario).timing.timed_kernels(scenario, machine)[0].mma
    ab = "" if mma is None else mma.ab
    if is_emulated(ab, machine.compute_capability):
        progress(f"no simulation in time: mma.sync of {ab} is emulated on {scenario.machine} (D27)")
        return {}, None
    result, timeline = simulate(scenario, stream="estimated")
    results = {"estimated": result}
    try:
        results["compiled"], timeline = simulate(scenario, stream="compiled", own_build=True)
    except (BadInput, CannotRun) as error:
        progress(f"no compiled stream: {error.__cause__ or error}")  # without what --stream would answer
    return results, timeline


def draw_overlay(
    scenario: Scenario,
    results: dict[str, Result],
    timeline: Timeline | None,
    record: Record,
    path: Path,
    *,
    force: bool,
) -> None:
    """
    Draw the measured pipeline above the simulated one, on the same axis; ``force`` is that of ``written_for_user``.

    Raises:
        BadInput: Something is there, and may not be replaced.
        CannotRun: No pipeline was measured or simulated, or the file cannot be written.
    """
    if timeline is None:
        raise CannotRun(f"{record.name}: nothing was simulated in time, so there is no simulated pipeline to draw")
    if record.pipeline is None:
        raise CannotRun(
            f"{record.name}: no pipeline was measured ({record.missing.get('pipeline', 'no reason is known')})"
        )
    result, rows = list(results.values())[-1], record.pipeline.rows
    words = described(scenario, result, record.name)
    with written(path, force=force) as aside:
        family_of(scenario).pictures.draw_overlap(scenario, words, result, timeline, aside, measured=rows)
    progress(f"the overlay: {path}")


def _measured(source: NamedScenario, file: str, options: CheckOptions) -> Record:
    place = file if source.path is None else str(source.path)
    command = ["gpusim", "check", place, *(word for text in options.overrides for word in ("--set", text))]
    origin = measure.RecordOrigin.here((*command, "--seed", str(options.seed)))
    folder = measured_folder() / gpu_slug(origin.environment["gpu"])
    if options.record:
        refuse_taken(folder / f"{source.name}.json", force=options.force)
    progress(f"{source.name}: on {origin.environment['gpu']}")
    record = measure.measure(source.name, source.scenario, origin, seed=options.seed, say=progress)
    record = _counted(record, source, options)
    if options.record:
        progress(f"recorded in {write_record(record, folder)}")
    return record


def _counted(record: Record, source: NamedScenario, options: CheckOptions) -> Record:
    """Return the record with ncu's counters, or with the reason why there are none."""
    launch = ["--seed", str(options.seed)]
    with tempfile.TemporaryDirectory() as folder:
        # The profiled process reads files, so a kernel's name is passed to it as the scenario that it stands for.
        path = Path(folder) / f"{source.name}.toml"
        path.write_text(write_toml(source.scenario.resolved()), encoding="utf-8")
        try:
            selection = counters.settle(path, Path(folder), progress, launch)
            profiles = counters.profile_scenarios([path], Path(folder), selection, launch)
        except GpusimError as error:
            progress(f"no counters: {error}")
            return measure.with_counters(record, None, str(error))
    return measure.with_counters(record, profiles.get(source.name), "its launch failed under ncu")


def counts_of(scenario: Scenario) -> Counts:
    """Return the counts of all launches of a scenario, from its schedule."""
    return count_all(family_of(scenario).schedules.kernels(scenario))


def latitude_of(scenario: Scenario) -> Latitude:
    """Return the function that gives the reason why a count of the scenario may differ from the hardware's."""
    return partial(family_of(scenario).latitudes.latitude, scenario)


def _expected_trace(scenario: Scenario, record: Record) -> str | None:
    if record.trace is None:
        return None
    first, *others = family_of(scenario).schedules.kernels(scenario)
    blocks = [record.trace.ctas, *(schedule.traced_blocks for schedule in others)]
    return stream_digest(expected_of_all((first, *others), blocks))


def _where(record: Record) -> str:
    known = record.environment
    words = [str(known.get("gpu")), f"driver {known.get('driver')}", f"CUDA {known.get('cuda_driver')}", record.date]
    if record.time_us is not None:
        words.append(f"{record.time_us.median:,} us in a warm loop")
    if record.pipeline is not None and record.pipeline.perturbation is not None:
        words.append(f"stamping takes {record.pipeline.perturbation:.2f} times as long")
    return ", ".join(words)


def _summary(rows: tuple[CheckRow, ...]) -> str:
    exact = sum(row.verdict == "exact" for row in rows)
    missing = [row.what for row in rows if row.verdict == "not measured"]
    return f"  {exact} rows equal" + (f"; not measured: {', '.join(missing)}" if missing else "")
