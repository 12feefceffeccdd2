from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from models.encoders import offload
from pipeline import cli
from tests import npus

BUNDLED = "efficientnet-lite0-224-int8"


def kernel(name, provider, took_us):
    return {"cat": "Node", "name": f"{name}_kernel_time", "dur": took_us, "args": {"provider": provider}}


def test_kernels_are_summed_by_provider_and_averaged_over_runs_without_the_first():
    events = [
        {"cat": "Session", "name": "model_run", "dur": 9e9, "args": {}},
        *(kernel("fused", "Npu", took) for took in (9000, 1000, 3000)),
        *(kernel("erf", "Cpu", took) for took in (500, 100, 100)),
        *(kernel("cast", "Cpu", took) for took in (500, 200, 200)),
    ]
    assert offload.mean_times(events, skipped=1) == {"Npu": 2.0, "Cpu": 0.3}


@pytest.fixture
def run():
    def ran(*arguments):
        return CliRunner().invoke(cli.main, ["models", *arguments])

    return ran


def test_back_ends_are_listed_with_what_is_missing(run):
    rows = {row["name"]: row for row in json.loads(run("backends", "--json").stdout)}
    assert rows["cpu"]["usable"]
    assert rows["rknn"]["reason"].startswith("not installed")
    assert "back end" in run("backends").stdout


def test_the_baseline_has_nothing_to_prove(run):
    result = run("offload-report", BUNDLED, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (found["verdict"], found["runs_on"], found["cosine"]) == ("cpu_baseline", "cpu", 1.0)
    assert found["shares"][0]["run_ms"] > 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((BUNDLED, "--backend", "tpu"), 2, "lists the back ends"),
        ((BUNDLED, "--option", "soc_model"), 2, "write KEY=VALUE"),
        (("no-such-model",), 1, "no model 'no-such-model'"),
        ((BUNDLED, "--backend", "rknn"), 1, "is no file of RKNN's"),
    ],
)
def test_what_cannot_be_reported_says_why(run, arguments, status, said):
    result = run("offload-report", *arguments)
    assert result.exit_code == status
    assert said in result.output


@pytest.mark.npu
def test_a_report_names_what_stays_on_the_cpu_and_what_to_change(run, tmp_path):
    npus.needs("qnn")
    model = str(npus.by_default(npus.vit(), tmp_path))
    result = run("offload-report", model, "--backend", "qnn", "--option", "soc_model=43", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert found["verdict"] == "partial"
    left = {row["op"]: row for row in found["left"]}
    assert left["Erf"]["count"] == 2
    assert "fuse it into Gelu" in left["Erf"]["change"]
    assert [share["provider"] for share in found["shares"]] == ["QNNExecutionProvider", "CPUExecutionProvider"]
    assert all(share["run_ms"] > 0 for share in found["shares"])
    assert found["first_wrong"]
