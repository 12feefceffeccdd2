"""Show the topology."""

from __future__ import annotations

from rich.table import Table

from pipeline import topology
from pipeline.view.output import console, say, say_json


def show(*, as_json: bool, mermaid: bool) -> None:
    """Print the stages, the links and the diagram."""
    if as_json:
        say_json(_to_json())
        return
    if not mermaid:
        screen = console()
        screen.print(_stages_table())
        screen.print(_links_table())
    say(topology.mermaid() + "\n")


def _stages_table() -> Table:
    table = Table(
        "stage",
        "process",
        "reads (keeps)",
        "writes",
        "nice",
        "load",
        "replaced after",
        title="Stages",
        title_justify="left",
    )
    for name, row in topology.STAGES.items():
        reads = ", ".join(f"{link} ({_keep_phrase(given)})" for link, given in row.reads.items())
        per = "one a camera" if row.per_camera else "one"
        table.add_row(
            name, per, reads or "-", ", ".join(row.writes), str(row.nice), row.load, f"{row.stalled_after_s:g} s"
        )
    return table


def _links_table() -> Table:
    table = Table("link", "carries", "rate", "what", title="Links", title_justify="left")
    for name, link in topology.LINKS.items():
        table.add_row(name, ", ".join(kind.__name__ for kind in link.carries), link.rate, link.what)
    return table


def _keep_phrase(given: topology.Input) -> str:
    name = given.keep.value.replace("_", " ")
    return f"{given.depth} {name}" if given.depth > 1 else name


def _to_json() -> dict[str, object]:
    return {
        "stages": {
            name: {
                "implementation": row.implementation,
                "reads": {link: _keep_phrase(given) for link, given in row.reads.items()},
                "writes": list(row.writes),
                "per_camera": row.per_camera,
                "nice": row.nice,
                "load": row.load,
                "realtime": row.realtime,
                "stalled_after_s": row.stalled_after_s,
            }
            for name, row in topology.STAGES.items()
        },
        "links": {
            name: {"carries": [kind.__name__ for kind in link.carries], "rate": link.rate, "what": link.what}
            for name, link in topology.LINKS.items()
        },
    }
