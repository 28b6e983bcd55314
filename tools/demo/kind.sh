#!/bin/bash
# Runs the demo on a cluster of kind's that is made for it, and removes the cluster whatever the end.
# Needs docker, kind, kubectl and helm on the PATH.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
for program in docker kind kubectl helm; do
    command -v "$program" >/dev/null ||
        { echo "make e2e-kind needs $program on the PATH: install it." >&2; exit 1; }
done
# One of its own: what is already there stays as it is.
name=afresh-e2e-$$
state=$(mktemp -d)
export KUBECONFIG=$state/kubeconfig
trap 'kind delete cluster --name "$name"; rm -rf "$state"' EXIT
kind create cluster --name "$name" --wait 120s
python3 tools/demo --cluster current
python3 tools/demo --cluster current --remove
