"""Events over a serial line: to a radio, a controller, or whatever reads JSON Lines at its other end."""

from __future__ import annotations

import errno
import select
import termios
from typing import TYPE_CHECKING

import serial

from pipeline.core.errors import SinkBusyError, SinkUnavailableError

if TYPE_CHECKING:
    from pipeline.eventlog.entries import Logged
    from stages.sinks.lines import Lines

_PIECE_BYTES = 256  # written at once; the kernel keeps about 4 kB for a port, a third of a second at 115200 baud
_REMEDIES = {
    errno.ENOENT: "there is no such device: plug it in, or set emit.serial_port",
    errno.EACCES: "may not be opened: add the daemon's user to the device's group",
    errno.EAGAIN: "another process has it: end that one, or set emit.serial_port",
}
"""By what the system said when a port was opened; anything else is no port, or one of other speeds."""


class Serial:
    """Whole lines to a serial port, which is opened again when it was unplugged.

    Args:
        port: A device, such as `/dev/ttyUSB0`.
        baud: Bits a second.
        lines: Events as lines.
    """

    trouble = ""

    def __init__(self, port: str, baud: int, lines: Lines) -> None:
        self._name, self._baud = port, baud
        self._lines = lines
        self._port: serial.Serial | None = None

    def deliver(self, logged: Logged, offset: int) -> int | None:
        """Write a piece of one line, without waiting for the port.

        A line that was cut by a new life or an unplugged port is ended, and written again as a whole.

        Raises:
            SinkBusyError: The port is still sending what it was given.
            SinkUnavailableError: There is no such port, or it failed.
        """
        line = self._lines.of(logged)[1]
        try:
            if self._port is None:
                self._port = self._opened()
                self._write(b"\n" if offset else b"")
                offset = 0
            if offset >= len(line):
                return None
            return offset + self._write(line[offset : offset + _PIECE_BYTES])
        except OSError as error:  # also serial.SerialException
            self.close()
            raise SinkUnavailableError(f"{self._name}: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the port."""
        if self._port is not None:
            self._port.close()
            self._port = None

    def _opened(self) -> serial.Serial:
        """Take the port for ourselves: lines of two daemons would be cut to pieces. Raises SinkUnavailableError."""
        try:
            return serial.Serial(self._name, self._baud, timeout=0, write_timeout=0, exclusive=True)
        except (OSError, ValueError, termios.error) as error:  # of speeds and of `termios`: no kind of OSError
            otherwise = f"is no serial port of {self._baud} bits a second: set emit.serial_port or emit.serial_baud"
            remedy = _REMEDIES.get(getattr(error, "errno", None) or 0, otherwise)
            raise SinkUnavailableError(f"{self._name}: {remedy}") from error

    def _write(self, piece: bytes) -> int:
        assert self._port is not None
        if not select.select((), (self._port.fileno(),), (), 0)[1]:
            raise SinkBusyError(f"{self._name}: still sends")
        return int(self._port.write(piece))
