#!/bin/bash
# Runs all tests except the long ones of `make test-matrix`: those on a node in parallel with those
# that need none, since the former mostly wait. The output of the former is printed last. If the
# machine cannot run a cluster, prints why and leaves those tests out; with CI=true that is a failure.
set -eu -o pipefail
cd "$(dirname "$0")/.."
quick="not cluster"
if why=$(python3 tools/singlenode check 2>&1); then
    python3 tools/singlenode install
    # Takes ten minutes, so that contributors need not build it; its tests are then left out.
    if [ "${CI:-}" = true ]; then python3 tools/singlenode install --only kueue; fi
    # Other shells, a real Git LFS client, and real SSH and web servers, for the tests of the episode.
    missing=()
    for package in bubblewrap busybox-static git-lfs nginx-light openssh-server; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    if [ "${#missing[@]}" -gt 0 ]; then
        echo "installing ${missing[*]} ..." >&2
        export DEBIAN_FRONTEND=noninteractive
        apt=(apt-get -o DPkg::Lock::Timeout=600 -q)
        # The package lists of a new machine are empty.
        "${apt[@]}" install -y "${missing[@]}" >/dev/null 2>&1 ||
            { "${apt[@]}" update >/dev/null; "${apt[@]}" install -y "${missing[@]}" >/dev/null; }
    fi
    tools/prometheus.sh >/dev/null
elif [ "${CI:-}" = true ]; then
    echo "CI must run the tests that need a cluster: $why" >&2
    exit 1
else
    echo "leaving out the tests that need a cluster: $why" >&2
    quick="not apiserver and not cluster"
fi
make --no-print-directory .venv/.ready
pytest=(.venv/bin/python -m pytest -q --durations=25)
node=
if [ "$quick" = "not cluster" ]; then
    mkdir -p build
    # In a session of its own, it is told to end once.
    setsid "${pytest[@]}" -m cluster >build/node-tests.log 2>&1 &
    node=$!
    trap 'kill "$node" 2>/dev/null && wait "$node"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
fi
make --no-print-directory check
code=0
"${pytest[@]}" -n auto --dist loadfile --no-loadscope-reorder -m "$quick" || code=1
if [ -n "$node" ]; then
    tail -n +1 -f --pid="$node" build/node-tests.log
    wait "$node" || code=1
fi
exit "$code"
