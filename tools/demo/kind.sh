#!/bin/bash
# Runs the demo on a new kind cluster, and removes the cluster whether the demo succeeds or fails.
# Needs docker, kind, kubectl and helm on the PATH.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
for program in docker kind kubectl helm; do
    command -v "$program" >/dev/null ||
        { echo "make e2e-kind needs $program on the PATH: install it." >&2; exit 1; }
done
# A new name, so that existing clusters are not touched.
name=afresh-e2e-$$
state=$(mktemp -d)
export KUBECONFIG=$state/kubeconfig
trap 'kind delete cluster --name "$name"; rm -rf "$state"' EXIT
kind create cluster --name "$name" --wait 120s
python3 tools/demo --cluster current
python3 tools/demo --cluster current --remove
