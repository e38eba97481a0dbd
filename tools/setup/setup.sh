#!/usr/bin/env bash
# Brings what the build needs: Debian packages (only those that are missing) and the MLX library,
# unpacked from its wheel into .deps/. Safe to run again; silent when there is nothing to do.
#   setup.sh            for building, testing and running
#   setup.sh --fuzz     also clang with its fuzzer runtime
set -euo pipefail
cd "$(dirname "$0")/../.."

# name, version and sha256 of the wheel for each machine
readonly mlx_version=0.32.4
case "$(uname -m)" in
  x86_64) readonly mlx_sha256=0e0a24fa2ce8b6b94d2e6a90604e8813aa8e29fcb918bb2aa01cfb6d133d8cee ;;
  aarch64) readonly mlx_sha256=1289e85e64af1fd16380bf331438bfe4afe875d27afc3e0bcf35f427c488fadd ;;
  *) echo "setup: no MLX wheel for $(uname -m); expected x86_64 or aarch64" >&2; exit 1 ;;
esac

packages=(g++ cmake ninja-build ccache python3 python3-pip
  libfmt-dev nlohmann-json3-dev libhwy-dev libgtest-dev
  libpcre2-dev libutf8proc-dev
  libjpeg62-turbo-dev libpng-dev libwebp-dev libgif-dev zlib1g-dev)
if [ "${1:-}" = --fuzz ]; then packages+=(clang libclang-rt-14-dev); fi

install_packages() {
  local missing=()
  local present
  present=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' "${packages[@]}" 2>/dev/null | awk '$2 == "ii" { print $1 }' || true)
  for package in "${packages[@]}"; do
    grep -qx "$package" <<<"$present" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo)
    else
      echo "setup: packages are missing; install them as root and try again:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
  fi
  echo "setup: installing ${missing[*]}"
  local log=.deps/apt.log
  mkdir -p .deps
  if ! { "${as_root[@]}" apt-get update -q && DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q \
    --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "setup: the packages could not be installed; see $log" >&2
    exit 1
  fi
}

unpack_mlx() {
  local stamp=.deps/mlx-cpu/.version
  if [ "$(cat "$stamp" 2>/dev/null)" = "$mlx_version $mlx_sha256" ]; then return; fi
  echo "setup: fetching MLX $mlx_version"
  local work
  mkdir -p .deps
  work=$(mktemp -d .deps/mlx-XXXXXX)
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$work" "mlx-cpu==$mlx_version"
  local wheel
  wheel=$(ls "$work"/*.whl)
  if ! echo "$mlx_sha256  $wheel" | sha256sum --check --quiet; then
    echo "setup: $(basename "$wheel") has another sha256 than expected ($mlx_sha256)" >&2
    exit 1
  fi
  python3 -m zipfile -e "$wheel" "$work/unpacked"
  echo "$mlx_version $mlx_sha256" >"$work/unpacked/.version"
  rm -rf .deps/mlx-cpu
  mv "$work/unpacked" .deps/mlx-cpu
  rm -rf "$work"
  trap - EXIT
}

install_packages
unpack_mlx
