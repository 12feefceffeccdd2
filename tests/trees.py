"""Made trees in place of /sys, /proc and the folder of control groups, as boards of the field show them."""

RK3588_NPU_STEPS = (300, 400, 500, 600, 700, 800, 900, 1000)  # MHz


def write(root, files):
    """Write files below a folder, by their paths; numbers and texts alike. Returns the folder."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n", encoding="utf-8")
    return root


def cores(*, capacities=(), most_khz=()):
    """Cores by number, with what the kernel tells of each."""
    count = max(len(capacities), len(most_khz))
    files = {"devices/system/cpu/online": f"0-{count - 1}"}
    files |= {f"devices/system/cpu/cpu{core}/cpu_capacity": value for core, value in enumerate(capacities)}
    files |= {f"devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq": khz for core, khz in enumerate(most_khz)}
    return files


def policy(number, *, most, least, steps=()):
    """A policy of the processor's clock that is not held back, in kHz."""
    folder = f"devices/system/cpu/cpufreq/policy{number}"
    told = {"scaling_max_freq": most, "cpuinfo_max_freq": most, "cpuinfo_min_freq": least}
    if steps:
        told["scaling_available_frequencies"] = " ".join(map(str, steps))
    return {f"{folder}/{name}": value for name, value in told.items()}


def zone(number, kind, milli, *trips):
    """A thermal zone with its trips: kind and thousandths of a degree."""
    folder = f"class/thermal/thermal_zone{number}"
    files = {f"{folder}/type": kind, f"{folder}/temp": milli}
    for trip, (name, at) in enumerate(trips):
        files |= {f"{folder}/trip_point_{trip}_type": name, f"{folder}/trip_point_{trip}_temp": at}
    return files


def rk3588(root):
    """Four A55, four A76 in two clusters, an NPU with a clock of its own, trips of the mainline kernel."""
    npu = "class/devfreq/fdab0000.npu"
    steps = " ".join(str(mhz * 1_000_000) for mhz in RK3588_NPU_STEPS)
    return write(
        root,
        cores(capacities=(414,) * 4 + (1024,) * 4, most_khz=(1800000,) * 4 + (2256000,) * 2 + (2304000,) * 2)
        | policy(0, most=1800000, least=408000, steps=(408000, 1008000, 1800000))
        | policy(4, most=2256000, least=408000, steps=(2256000, 408000, 1608000))
        | {f"{npu}/max_freq": 1000000000, f"{npu}/min_freq": 300000000, f"{npu}/available_frequencies": steps}
        | zone(0, "soc-thermal", 47230, ("passive", 85000), ("critical", 115000))
        | zone(1, "bigcore0-thermal", 48100, ("passive", 75000), ("passive", 85000))
        | zone(10, "npu-thermal", 46300, ("critical", 115000)),
    )


def pi4(root):
    """Four equal cores; the firmware throttles, and the kernel's zone has no passive trip."""
    return write(
        root,
        cores(most_khz=(1800000,) * 4)
        | policy(0, most=1800000, least=600000)
        | zone(0, "cpu-thermal", 52095, ("critical", 110000)),
    )


def jetson(root):
    """Six equal cores, and an INA3221 that tells currents and voltages."""
    chip = "class/hwmon/hwmon3"
    return write(
        root,
        cores(capacities=(1024,) * 6, most_khz=(1510400,) * 6)
        | {f"{chip}/name": "ina3221", f"{chip}/in1_label": "VDD_IN", f"{chip}/in1_input": 5072}
        | {f"{chip}/curr1_input": 1304},
    )


def hybrid(root):
    """Two performance cores with two threads each and four efficient ones: only their clocks tell them apart."""
    rapl = "class/powercap/intel-rapl:0"
    return write(
        root,
        cores(most_khz=(4700000,) * 4 + (3300000,) * 4)
        | {f"{rapl}/name": "package-0", f"{rapl}/energy_uj": 262143328850, f"{rapl}/max_energy_range_uj": 262143328850},
    )


def container(root, *, quota="150000 100000", memory="max"):
    """The folder of control groups (version 2) and what /proc tells, with a quota. Returns both folders."""
    groups = write(root / "cgroup", {"box/cpu.max": quota, "box/memory.max": memory, "box/pids.max": "max"})
    return groups, write(root / "proc", {"self/cgroup": "0::/box"})


def container_of_old(root, *, quota_us=150000, period_us=100000):
    """The same with version 1."""
    files = {"cpu,cpuacct/box/cpu.cfs_quota_us": quota_us, "cpu,cpuacct/box/cpu.cfs_period_us": period_us}
    files |= {"memory/box/memory.limit_in_bytes": 2**31, "pids/box/pids.max": 512}
    told = "12:pids:/box\n5:memory:/box\n4:cpu,cpuacct:/box\n1:name=systemd:/box"
    return write(root / "cgroup", files), write(root / "proc", {"self/cgroup": told})
