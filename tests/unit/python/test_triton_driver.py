"""The simulated GPU as Triton's driver: its target, its limits, and the launches of compiled kernels."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from own.triton.build import archive_of, kept

from gpusim.errors import BadInput, CannotRun, Unsupported
from gpusim.machine.load import load_machine
from gpusim.python.triton_arguments import TritonArray
from gpusim.python.triton_driver import TritonDriver, TritonLauncher, import_triton

NO_HOOKS = (None, None, None, None)


def driver_of(machine):
    return TritonDriver(load_machine(machine))


@pytest.fixture
def launch():
    """Launches the kept addition of two vectors of 32 on an A100; keywords change the compiler's metadata."""
    kernel, source, metadata = kept("add", 80)

    def call(driver, x, y, out, *, grid=(1, 1, 1), **changed):
        launcher = TritonLauncher(source, SimpleNamespace(**vars(metadata) | changed))
        launcher(*grid, driver, kernel, *NO_HOOKS, TritonArray(x), TritonArray(y), TritonArray(out), 32, 128)

    return call


def vectors():
    return np.arange(32, dtype=np.float32), np.ones(32, np.float32), np.zeros(32, np.float32)


def test_a_launch_writes_the_arrays_and_keeps_what_it_did(launch):
    driver = driver_of("a100")
    x, y, out = vectors()

    launch(driver, x, y, out)

    assert np.array_equal(out, x + 1)
    (run,) = driver.runs
    assert (run.kernel, run.machine, run.launch.grid, run.launch.block) == ("add", "a100", (1, 1, 1), (64, 1, 1))


def test_a_trial_leaves_the_arrays_and_is_no_run(launch):
    driver = driver_of("a100")
    x, y, out = vectors()

    run = driver.trial(lambda: launch(driver, x, y, out))

    assert not out.any()
    assert run.issues > 0
    assert driver.runs == []
    launch(driver, x, y, out)
    assert out.all()


def test_a_failed_trial_is_none_afterwards(launch):
    driver = driver_of("a100")
    x, y, out = vectors()
    with pytest.raises(BadInput):
        driver.trial(lambda: launch(driver, x, y, out, grid=(0, 1, 1)))

    launch(driver, x, y, out)

    assert out.all()


def test_clusters_and_the_profiler_are_refused_by_name(launch):
    driver = driver_of("a100")

    with pytest.raises(Unsupported, match="add: clusters of 2 CTAs are not executed"):
        launch(driver, *vectors(), num_ctas=2)
    with pytest.raises(Unsupported, match="add: Triton's profiler is not executed"):
        launch(driver, *vectors(), profile_scratch_size=128)


def test_scratch_of_every_cta_is_passed(launch):
    """The kernel never touches it; the launch is one of as many parameters either way."""
    driver = driver_of("a100")
    x, y, out = vectors()

    launch(driver, x, y, out, global_scratch_size=256)

    assert np.array_equal(out, x + 1)


def test_machines_that_triton_does_not_compile_for_are_refused_by_name():
    with pytest.raises(Unsupported, match="t4: Triton compiles for sm_80 and later, the machine has sm_75"):
        driver_of("t4")
    with pytest.raises(Unsupported, match="rtx5090: Triton's machine code for sm_120 is not executed"):
        driver_of("rtx5090")


def test_triton_uses_the_instructions_of_sm_89_on_sm_90():
    assert driver_of("h200").options == {"arch": "sm89"}
    assert driver_of("rtx4090").options == {}


def test_a_device_is_a_machine_with_its_limits():
    a100 = driver_of("a100")

    assert a100.get_current_device() == driver_of("a100").get_current_device() != driver_of("h200").get_current_device()
    limits = a100.get_device_properties(a100.get_current_device())
    assert limits == {"max_shared_mem": load_machine("a100").limits.shared_bytes_per_cta}


def test_a_binary_is_loaded_without_a_module_which_triton_would_unload():
    data = archive_of(80)
    kernel, _, metadata = kept("add", 80)
    driver = driver_of("a100")

    module, loaded, registers, spills, threads = driver.load_binary("add", _bytes(data), metadata.shared, "device")

    assert (module, spills, threads) == (None, 0, 1024)
    assert loaded.cubin.code == kernel.cubin.code
    assert registers == kernel.cubin.registers


def _bytes(archive):
    import zipfile  # noqa: PLC0415

    with zipfile.ZipFile(archive) as opened:
        return opened.read("add.cubin")


def test_without_triton_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)

    with pytest.raises(CannotRun, match=r"gpusim.triton needs an optional library: pip install 'gpusim\[triton\]'"):
        import_triton()


@pytest.mark.compiler("triton")
def test_the_driver_that_was_active_is_so_again():
    from triton.runtime.driver import driver as config  # noqa: PLC0415 # needs Triton

    driver, before = driver_of("a100"), vars(config)["_active"]
    with driver.active():
        assert config.active is driver
        assert config.active.get_current_target().arch == 80

    assert vars(config)["_active"] is before
