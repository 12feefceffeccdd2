"""Writes a clip of the drawn scene: sensor noise, and things that walk through it, encoded as a camera does.

    python tools/make_footage.py night.mp4 --width 1920 --height 1080 --fps 20 --seconds 60 --bitrate 4000000

The same options give the same bytes on a machine. What the container is, the target's suffix says; .h264 gives the bare
stream. `make` does the same for benchmarks and tests.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import av
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # as a script it runs where nothing is installed, too

from pipeline.core.errors import SourceError  # noqa: E402  # as above
from pipeline.core.frames import Planes  # noqa: E402
from stages.sources.synthetic import DrawnScene, Synthetic  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from stages.sources.synthetic import DrawnPicture

PREFERRED = ("libx264", "mpeg4")  # the second is in every build of libav
SECONDS_A_KEYFRAME = 2
HELP = {
    "width": "pixels, even",
    "height": "pixels, even",
    "fps": "pictures a second",
    "seconds": "length",
    "walks": "how often something walks across",
    "pause_s": "seconds before each walk",
    "walk_s": "seconds that a walk takes",
    "size": "height of the walker, share of the picture",
    "noise": "standard deviation of the luma, grey levels",
    "seed": "of the noise and of the ground",
}


def make(
    target: Path,
    scene: DrawnScene | None = None,
    *,
    bitrate: int = 1_000_000,
    codec: str = "",
    rotation: int = 0,
    report: Callable[[int, int], None] = lambda _done, _total: None,
    **fields: float,
) -> Path:
    """Write a clip and return its path.

    Args:
        target: Its suffix says in which container. Nothing is there before all of it is.
        scene: What is drawn.
        bitrate: Bits a second, held over a second, as a camera's encoder does.
        codec: An encoder of libav; default: libx264, or mpeg4 where that is not built in.
        rotation: Degrees clockwise that a player turns the pictures by: 0, 90, 180 or 270.
        report: Is called with the pictures done and all there are.
        **fields: Fields of the scene that differ from those given.

    Raises:
        SourceError: The scene cannot be drawn.
        ValueError: The codec, size, rotation or container cannot be had.
    """
    scene = (scene or DrawnScene())._replace(**fields)  # type: ignore[arg-type]  # checked where the address is read
    drawing = Synthetic(f"synthetic://?{urlencode(scene._asdict())}")
    name = codec or next(name for name in PREFERRED if name in av.codecs_available)
    if name not in av.codecs_available:
        raise ValueError(f"no encoder `{name}` in this build of libav")
    if scene.width % 2 or scene.height % 2:
        raise ValueError(f"{scene.width}x{scene.height}: colour at half the size needs even numbers")
    part = target.with_name(f".part-{target.name}")
    total = round(drawing.scene.seconds * drawing.scene.fps)
    try:
        _write(part, drawing, lambda done: report(done, total), codec=name, bitrate=bitrate, rotation=rotation)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def _write(
    path: Path, drawing: Synthetic, report: Callable[[int], None], *, codec: str, bitrate: int, rotation: int
) -> None:
    scene = drawing.scene
    rate = Fraction(scene.fps).limit_denominator(1001)
    with av.open(str(path), "w", options={"fflags": "+bitexact"}) as container:
        stream: Any = container.add_stream(codec, rate=rate, options=_options(codec, scene.fps, bitrate))
        stream.width, stream.height, stream.pix_fmt = scene.width, scene.height, "yuv420p"
        stream.bit_rate = bitrate
        stream.codec_context.thread_count = 1
        stream.codec_context.time_base = 1 / rate
        if rotation:
            stream.set_display_rotation(-rotation)  # libav counts against the clock
        for done, frame in enumerate(_frames(drawing.pictures(), scene, 1 / rate), 1):
            container.mux(stream.encode(frame))
            report(done)
        container.mux(stream.encode(None))


def _options(codec: str, fps: float, bitrate: int) -> dict[str, str]:
    """One thread, no B pictures, a key picture every two seconds: what cameras send, and the same in every run."""
    options = {"g": str(round(SECONDS_A_KEYFRAME * fps) or 1), "bf": "0", "threads": "1", "flags": "+bitexact"}
    if codec == "libx264":
        options |= {"preset": "veryfast", "maxrate": str(bitrate), "bufsize": str(bitrate)}
    return options


def _frames(pictures: Iterable[DrawnPicture], scene: DrawnScene, time_base: Fraction) -> Iterator[av.VideoFrame]:
    for picture in pictures:
        frame = av.VideoFrame(scene.width, scene.height, "yuv420p")
        y, u, v = (_view(plane) for plane in frame.planes)
        picture.copy_to(Planes(y, u, v))
        frame.pts, frame.time_base = picture.index, time_base
        yield frame


def _view(plane: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    return rows[: plane.height, : plane.width]


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A bar where somebody looks."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415  # nobody else needs it
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(name)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def main() -> None:
    """Read the options, write the clip, say what it is."""
    description, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=Path, help="the file to write: .mp4, .mkv, .avi, .ts, .h264 ...")
    for name, default in DrawnScene._field_defaults.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(default), default=default, help=f"{HELP[name]} (default: %(default)s)")
    parser.add_argument("--bitrate", type=int, default=1_000_000, help="bits a second (default: %(default)s)")
    parser.add_argument("--codec", default="", help=f"encoder of libav (default: {' or '.join(PREFERRED)})")
    parser.add_argument(
        "--rotation", type=int, choices=(0, 90, 180, 270), default=0, help="degrees clockwise that a player turns it by"
    )
    options = parser.parse_args()
    scene = DrawnScene(**{name: getattr(options, name) for name in DrawnScene._fields})
    try:
        with _progress(options.target.name) as report:
            make(
                options.target,
                scene,
                bitrate=options.bitrate,
                codec=options.codec,
                rotation=options.rotation,
                report=report,
            )
    except (SourceError, ValueError, OSError) as error:
        parser.error(str(error))
    size = options.target.stat().st_size
    print(f"{options.target}: {size / 1e6:.1f} MB, {size * 8 / scene.seconds / 1e6:.2f} Mbit/s")


if __name__ == "__main__":
    main()
