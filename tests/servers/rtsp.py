#!/usr/bin/python3
"""A camera for tests: serves a moving H.264 picture over RTSP at rtsp://127.0.0.1:PORT/test, and misbehaves when told.

    rtsp.py [--port 0] [--size 320x240] [--fps 15] [--login USER:PASSWORD]

Prints the port when it listens. Takes lines on standard input: `freeze` (the connection stays, no picture comes),
`thaw`, `size 160x120` (from now on, in mid-stream); each is answered with `done`. Ends with its standard input. Runs
under the system's Python, whose gi holds GStreamer (Debian: gir1.2-gst-rtsp-server-1.0, python3-gi,
gstreamer1.0-plugins-base, -good and -ugly); `rtsp.py --probe` says what of it is missing.
"""

import argparse
import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402  # the versions come first

_NEEDED = ("videotestsrc", "x264enc", "rtph264pay", "valve")
# Parameter sets go with every key frame, so that a reader learns a new size in mid-stream.
_LAUNCH = (
    "( videotestsrc is-live=true pattern=ball ! capsfilter name=form caps={caps} ! "
    "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15 bitrate=500 ! valve name=valve drop={frozen} ! "
    "rtph264pay name=pay0 pt=96 config-interval=-1 )"
)


class Camera:
    """What all clients see: one pipeline, shared."""
    def __init__(self, size, fps):
        self._fps = fps
        self._size = size
        self._frozen = False
        self._media = None
        self.factory = GstRtspServer.RTSPMediaFactory()
        self.factory.set_shared(True)
        self.factory.connect("media-configure", self._configured)
        self._prepare()

    def obey(self, line):
        """Do what a line says: to the pipeline that runs, and to those made for later clients."""
        word, *rest = line.split()
        if word == "size":
            self._size = rest[0]
            self._set("form", "caps", Gst.Caps.from_string(self._caps()))
        else:
            self._frozen = word == "freeze"
            self._set("valve", "drop", self._frozen)
        self._prepare()

    def _prepare(self):
        self.factory.set_launch(_LAUNCH.format(caps=self._caps(), frozen=str(self._frozen).lower()))

    def _caps(self):
        width, height = self._size.split("x")
        return f"video/x-raw,format=I420,width={width},height={height},framerate={self._fps}/1"

    def _configured(self, _factory, media):
        self._media = media

    def _set(self, element, name, value):
        if self._media is not None:
            self._media.get_element().get_by_name(element).set_property(name, value)


def require_login(server, factory, login):
    """Ask every client for this user and password."""
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "viewer")
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(*login.split(":", 1)), token)
    server.set_auth(auth)
    permissions = GstRtspServer.RTSPPermissions()
    for what in ("media.factory.access", "media.factory.construct"):
        permissions.add_permission_for_role("viewer", what, True)
    factory.set_permissions(permissions)


def read_commands(camera, loop):
    """Pass lines on to the loop's thread; the end of the input is the end of the server."""

    def obey(line):
        camera.obey(line)
        print("done", flush=True)

    for line in sys.stdin:
        GLib.idle_add(obey, line)
    loop.quit()


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("--port", "0"), ("--size", "320x240"), ("--fps", "15"), ("--login", None)):
        parser.add_argument(name, default=default)
    parser.add_argument("--probe", action="store_true")
    given = parser.parse_args()
    Gst.init(None)
    if given.probe:
        missing = ", ".join(name for name in _NEEDED if Gst.ElementFactory.find(name) is None)
        sys.exit(f"GStreamer has no {missing}" if missing else 0)
    camera = Camera(given.size, given.fps)
    server = GstRtspServer.RTSPServer(address="127.0.0.1", service=given.port)
    server.get_mount_points().add_factory("/test", camera.factory)
    if given.login:
        require_login(server, camera.factory, given.login)
    if not server.attach(None):
        sys.exit(f"cannot listen on port {given.port}")
    print(server.get_bound_port(), flush=True)
    loop = GLib.MainLoop()
    threading.Thread(target=read_commands, args=(camera, loop), daemon=True).start()
    loop.run()


if __name__ == "__main__":
    main()
