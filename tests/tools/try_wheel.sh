#!/usr/bin/env bash
# Build the wheel, install it with its run-time dependencies alone into a clean environment outside the checkout,
# and run tests/tools/wheel_smoke.py there. Usage: try_wheel.sh [PYTHON]
set -euo pipefail
python=${1:-python3}
checkout=$(cd "$(dirname "$0")/../.." && pwd)
bin=$checkout/.venv/bin
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

cd "$checkout"
rm -rf build dist
if [ -x "$bin/uv" ]; then
  "$bin/uv" build --quiet --wheel --out-dir dist .
else
  "$bin/python" -m pip wheel --quiet --no-deps --wheel-dir dist .
fi
wheel=$(ls dist/*.whl)

"$python" -m venv "$room/venv"
if [ -x "$bin/uv" ]; then
  "$bin/uv" pip install --quiet --python "$room/venv/bin/python" --constraint requirements.lock "$wheel"
else
  # pip refuses hashes in a constraint file; the versions are what matters here.
  sed -n 's/^\([A-Za-z0-9._-]*==[^ ;\\]*\).*/\1/p' requirements.lock > "$room/versions.txt"
  "$room/venv/bin/python" -m pip install --quiet --constraint "$room/versions.txt" "$wheel"
fi

cd "$room"
# -I: neither the current folder nor the script's folder is on the path.
"$room/venv/bin/python" -I "$checkout/tests/tools/wheel_smoke.py" "$checkout"
