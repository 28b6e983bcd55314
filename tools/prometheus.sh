#!/bin/sh
# Prints the directory of prometheus and promtool. If they are missing, unpacks Debian's package into
# the cache without installing it, so that no service is set up or started.
set -eu
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
    dirname "$(command -v promtool)"
    exit 0
fi
home=${XDG_CACHE_HOME:-$HOME/.cache}/afresh/prometheus
mkdir -p "$home"
# Tests that run in parallel call this at the same time: the second one waits for the first.
exec 9>"$home/lock"
flock 9
if [ ! -x "$home/usr/bin/promtool" ]; then
    echo "unpacking prometheus ..." >&2
    rm -rf "$home"/new.* # of a run that was killed
    new=$(mktemp -d "$home/new.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    (
        cd "$new"
        apt-get download -q prometheus >/dev/null 2>&1 ||
            { apt-get update -q >/dev/null 2>&1; apt-get download -q prometheus >/dev/null 2>&1; } ||
            { echo "apt-get cannot download prometheus: install it yourself." >&2; exit 1; }
        dpkg-deb -x prometheus_*.deb .
    )
    rm -rf "$home/usr"
    mv "$new/usr" "$home/usr"
fi
echo "$home/usr/bin"
