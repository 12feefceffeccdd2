"""The table of sinks: the names of the settings, and what each row says of its sink."""

from typing import get_args

import msgspec
import pytest

from pipeline.core.settings import PASSING_SINKS, EmitSettings, Sink
from stages.sinks.table import TABLE, Given


class Watched:
    """Settings that remember which of their keys were read."""

    def __init__(self, settings):
        self.settings, self.read = settings, set()

    def __getattr__(self, name):
        self.read.add(name)
        return getattr(self.settings, name)


def test_the_settings_and_the_table_name_the_same_sinks():
    assert set(get_args(Sink)) == set(TABLE)
    assert set(PASSING_SINKS) == {name for name, row in TABLE.items() if not row.durable}


@pytest.mark.parametrize("name", TABLE)
def test_a_sink_reads_the_settings_that_its_row_names_and_no_others(name, tmp_path):
    rows = Watched(EmitSettings(folder=str(tmp_path)))
    TABLE[name].opened(Given(rows, lines=None, stdout=1)).close()
    keys = {setting.name for setting in msgspec.structs.fields(EmitSettings)}
    assert rows.read <= set(TABLE[name].reads) <= keys


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_events_wait_without_bound_for_what_keeps_them_alone(row):
    assert (row.most_waiting is None) == row.durable
    assert row.most_waiting is None or 0 < row.most_waiting < 1
