#!/bin/sh
# Debian packages that wheels cannot bring: OpenCV's two libraries, and with the argument `rtsp` the server that the
# tests of live streams start. Installs them where it may, else names the command.
set -eu
missing=""
want() { # library-or-check package...
    check=$1
    shift
    eval "$check" >/dev/null 2>&1 || missing="$missing $*"
}
has_library() { ldconfig -p 2>/dev/null | grep -q "$1" || /sbin/ldconfig -p | grep -q "$1"; }

if [ "${1:-}" = rtsp ]; then
    want "/usr/bin/python3 -c 'import gi; gi.require_version(\"GstRtspServer\", \"1.0\")'" gir1.2-gst-rtsp-server-1.0 python3-gi
    want "ls /usr/lib/*/gstreamer-1.0/libgstx264.so /usr/lib/*/gstreamer-1.0/libgstrtp.so" \
        gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-ugly
else
    want "has_library libGL.so.1" libgl1
    want "has_library libglib-2.0.so.0" libglib2.0-0
fi
[ -n "$missing" ] || exit 0
command="apt-get install --no-install-recommends -y$missing"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    # shellcheck disable=SC2086  # a list of packages
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends -y $missing >/dev/null
else
    echo "Please run once: sudo $command" >&2
    [ "${1:-}" = rtsp ] # the tests of live streams are then skipped, and say so
fi
