#!/bin/bash
# Runs the tests but the long ones of `make test-matrix`: those on a node beside those that need
# none, since the former mostly wait. What the former print comes last. Where the machine cannot run
# a cluster, says why and leaves those tests out; with CI=true that is a failure.
set -eu -o pipefail
cd "$(dirname "$0")/.."
quick="not cluster"
if why=$(python3 tools/singlenode check 2>&1); then
    python3 tools/singlenode install
    # Ten minutes of building that a contributor is not asked for; its tests are left out without it.
    if [ "${CI:-}" = true ]; then python3 tools/singlenode install --only kueue; fi
    # Other shells, a real Git LFS client, and real SSH and web servers, for the tests of the episode.
    missing=()
    for package in busybox-static git-lfs nginx-light openssh-server; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    if [ "${#missing[@]}" -gt 0 ]; then
        echo "installing ${missing[*]} ..." >&2
        export DEBIAN_FRONTEND=noninteractive
        apt=(apt-get -o DPkg::Lock::Timeout=600 -q)
        # The lists of a fresh machine are empty.
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
