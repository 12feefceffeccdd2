from __future__ import annotations

import importlib
from typing import get_args

import pytest

from pipeline import topology
from pipeline.core.errors import TopologyError
from pipeline.core.inbox import Keep
from pipeline.core.messages import AnyMessage, FrameCaptured, StageRestarted, Ticked
from pipeline.core.settings import Settings
from pipeline.core.stage import Stage
from pipeline.topology import LINKS, STAGES, Link

HOST_MADE = {Ticked, StageRestarted}  # the runtime tells stages of these


def test_the_tables_fit_together():
    topology.check(STAGES, LINKS)


@pytest.mark.parametrize("stage", STAGES)
def test_every_row_names_a_stage_called_like_the_row(stage):
    module, _, name = STAGES[stage].implementation.partition(":")
    assert (module, name) == (f"stages.{stage}", stage.capitalize())
    assert issubclass(getattr(importlib.import_module(module), name), Stage)


def test_every_message_is_carried_by_a_link_or_made_by_the_host():
    carried = {kind for link in LINKS.values() for kind in link.carries}
    assert carried | HOST_MADE == set(get_args(AnyMessage))
    assert not carried & HOST_MADE


def test_a_message_finds_its_link_by_class_or_by_sample():
    assert topology.link_of(FrameCaptured) == "frames"
    with pytest.raises(KeyError):
        topology.link_of(Ticked(pts_ns=0, utc_ns=0))


def test_a_link_without_a_writer_is_refused():
    stages = {name: row for name, row in STAGES.items() if name != "motion"}
    with pytest.raises(TopologyError, match=r"link frames: .*readers \[\]|link motion: writers \[\]"):
        topology.check(stages, LINKS)


def test_a_link_without_a_reader_is_refused():
    stages = STAGES | {"emit": STAGES["emit"]._replace(reads={})}
    with pytest.raises(TopologyError, match=r"link events: .*readers \[\]"):
        topology.check(stages, LINKS)


def test_a_link_with_two_writers_is_refused():
    stages = STAGES | {"describe": STAGES["describe"]._replace(writes=("reports", "motion"))}
    with pytest.raises(TopologyError, match=r"link motion: writers \['motion', 'describe'\]"):
        topology.check(stages, LINKS)


def test_a_message_on_two_links_is_refused():
    links = LINKS | {"motion": LINKS["frames"]}
    with pytest.raises(TopologyError, match="FrameCaptured is carried by both frames and motion"):
        topology.check(STAGES, links)


@pytest.mark.parametrize(
    "change", [{"writes": ("deliveries", "rumours")}, {"reads": {"events": topology.ALL, "rumours": topology.ALL}}]
)
def test_a_link_that_does_not_exist_is_refused(change):
    stages = STAGES | {"emit": STAGES["emit"]._replace(**change)}
    with pytest.raises(TopologyError, match=r"stage emit: unknown links .*rumours"):
        topology.check(stages, LINKS)


def test_an_additional_link_needs_a_stage_at_both_ends():
    with pytest.raises(TopologyError, match="link rumours"):
        topology.check(STAGES, LINKS | {"rumours": Link((Ticked,), "", "")})


def test_nothing_about_events_and_cameras_is_dropped():
    kept = {(stage, link): row.reads[link].keep for stage, row in STAGES.items() for link in row.reads}
    assert kept["emit", "events"] is kept["trigger", "deliveries"] is kept["trigger", "cameras"] is Keep.ALL


def test_live_video_is_not_queued():
    assert STAGES["motion"].reads["frames"].keep is Keep.LATEST


def test_there_is_a_process_a_camera_where_the_table_says_so():
    processes = topology.instances(["gate", "yard"])
    assert {"capture@gate", "capture@yard", "motion@yard", "classify", "emit"} <= set(processes)
    assert "capture" not in processes
    assert [topology.split(name)[0] for name in processes] == sorted(
        (topology.split(name)[0] for name in processes), key=list(STAGES).index
    )


def test_a_process_name_comes_apart():
    assert topology.split("motion@gate") == ("motion", "gate")
    assert topology.split("emit") == ("emit", None)


def test_a_cameras_link_stays_with_the_camera():
    assert topology.targets("frames", "capture@gate") == ["motion@gate"]
    assert topology.targets("motion", "motion@gate") == ["classify"]


def test_the_chart_names_every_stage_and_every_link():
    chart = topology.mermaid()
    assert chart.startswith("flowchart LR\n")
    for stage in STAGES:
        assert f'{stage}["{stage}' in chart
    for link in LINKS:
        assert f"-->|{link}|" in chart


def test_one_stage_is_told_of_restarts_and_one_what_all_do():
    roles = sorted(row.role for row in STAGES.values() if row.role)
    assert roles == ["governor", "teller"]


def test_every_stage_ends_after_those_that_write_to_it_except_for_answers():
    assert sorted(topology.SHUTDOWN) == sorted(STAGES)
    asked = {reader for link in STAGES[topology.TELLER].writes for reader in topology.readers(link)}
    for writer, row in STAGES.items():
        for reader in (reader for link in row.writes for reader in topology.readers(link)):
            answers = reader == topology.TELLER and writer in asked
            assert answers or topology.SHUTDOWN.index(writer) < topology.SHUTDOWN.index(reader)
    assert topology.SHUTDOWN[-1] == "emit"


def test_what_answers_ends_before_what_delivers_the_answers():
    order = topology.SHUTDOWN.index
    assert order(topology.TELLER) < order("encode") < order("emit")
    assert order(topology.TELLER) < order("describe") < order("emit")


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_budgets_and_a_setting_that_holds_it_to_them(stage):
    row = STAGES[stage]
    table, _, key = row.held_by.partition(".")
    assert hasattr(getattr(Settings(), table), key)
    assert 0 < row.message_ms < row.stalled_after_s * 1000
    assert row.memory_mb > 0
