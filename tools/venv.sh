#!/bin/sh
# Creates .venv with the pinned tools; installs uv into the cache if it is missing.
# Usage: tools/venv.sh UV_VERSION
set -eu
cd "$(dirname "$0")/.."
version=$1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/afresh
uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    uv=$cache/uv-$version/bin/uv
    if [ ! -x "$uv" ]; then
        echo "installing uv $version ..." >&2
        if ! python3 -m venv "$cache/uv-$version" 2>/dev/null; then
            apt-get install -y -q python3-venv >/dev/null 2>&1 ||
                { apt-get update -q && apt-get install -y -q python3-venv; } >/dev/null 2>&1 ||
                { echo "python3 has no module venv: install the package python3-venv." >&2; exit 1; }
            python3 -m venv "$cache/uv-$version"
        fi
        "$cache/uv-$version/bin/pip" install --quiet "uv==$version"
    fi
fi
echo "installing the pinned Python packages into .venv ..." >&2
"$uv" venv --quiet --allow-existing --python "$(command -v python3)" .venv
"$uv" pip sync --quiet --python .venv/bin/python tools/requirements/dev.txt
touch .venv/.ready
