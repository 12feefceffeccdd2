"""Sample incidents are such as the pipeline makes them."""

import pytest

from models.asking.prompts import format_facts
from pipeline.core.bench import samples
from pipeline.core.text import templates
from tests.bench import asking


def test_sample_incidents_are_of_different_kinds():
    assert len({facts.object.class_ for facts in samples.INCIDENTS}) >= 5
    assert {facts.object.count > 1 for facts in samples.INCIDENTS} == {False, True}
    assert {facts.track.visits_last_hour > 1 for facts in samples.INCIDENTS} == {False, True}


@pytest.mark.parametrize("facts", samples.INCIDENTS, ids=lambda facts: facts.zone)
def test_a_sample_incident_can_be_told_to_a_model_and_to_people(facts):
    assert f"; {facts.zone}; " in format_facts(facts)
    assert templates.describe(facts, "no_model").summary.endswith(".")


def test_the_incidents_of_benchmarks_never_repeat_within_a_soak():
    assert len({asking.various(number) for number in range(2000)}) == 2000
