#!/bin/sh
# The demo on a 64-bit ARM user land under qemu, and whether it tells of the same incidents as this machine does.
#
# usage: tools/emulated_board.sh FRESH_MACHINE
#
# FRESH_MACHINE [--arm64] CHECKOUT COMMAND runs a command in a new emulated machine that holds a clone of CHECKOUT.
# Emulation shows the host's /proc/cpuinfo, and onnxruntime crashes on an x86 one, so a board's is put in its place.
set -eu
fresh=$1
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
core='BogoMIPS\t: 48.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x4\nCPU part\t: 0xd0b\nCPU revision\t: 0\n\n'
"$fresh" --arm64 "$here" "printf 'processor\t: 0\n$core''processor\t: 1\n$core' >/tmp/cpuinfo && mount --bind /tmp/cpuinfo /proc/cpuinfo &&
    make demo >&2 && uname -m >&2 && cat demo/out/events.jsonl" >"$work/board.jsonl"
"$here/.venv/bin/python" "$here/tools/fetch_demo.py" "$here/demo/bikes.mp4"
"$here/.venv/bin/pipeline" replay "$here/demo/bikes.mp4" --config "$here/config/demo.toml" --camera street \
    --out "$work/out" --state-dir "$work/state" --quiet
"$here/.venv/bin/python" "$here/tools/same_incidents.py" "$work/board.jsonl" "$work/out/events.jsonl"
