"""Short clips, written on the spot, and what is read of them."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np

from stages.sources.footage import Footage
from tests.fakes import picture


def write(path, *, size=(64, 48), frames=20, codec="mpeg4", pixels="yuv420p", fps=10, pts=None, options=None):
    """A clip whose pictures get lighter one by one; what it is called says in which container."""
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream(codec, rate=fps)
        stream.width, stream.height = size
        stream.pix_fmt = pixels
        for number in range(frames):
            rgb = np.full((size[1], size[0], 3), 40 + 5 * number, np.uint8)
            frame = av.VideoFrame.from_ndarray(rgb, "rgb24").reformat(format=pixels)
            frame.pts = pts[number] if pts else number
            frame.time_base = Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def read(path, **given):
    """Every picture of a clip, copied out, and the report about it."""
    source = Footage(path, **given)
    pictures = []
    for one in source.pictures():
        target = picture(0, (one.width, one.height))
        one.copy_to(target)
        pictures.append((one, target))
    report = source.report()
    source.close()
    return pictures, report
