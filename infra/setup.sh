#!/usr/bin/env bash
# Installs missing Debian packages and, by the lock file, Node.js packages.
# usage: infra/setup.sh host|test|suites|bench|tools|web|program
#   host   packages of the service; with BOXYARD_EDGE_ACME set, caddy too
#   test   the same and those of `npm test`
#   suites the same and those of all other suites, and of a test cluster
#   bench  the same and the peers of the benchmarks; of docker only the programs, which the bench starts itself
#   tools  packages of checks and builds, the web console's too: Node.js only, no root
#   web    packages that build the web console: Node.js only, no root
#   program  Node.js packages of the program alone, no root: for commands that change nothing on the host
# Prints one line for each installation, and nothing if there is nothing to do.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
stamp=$root/node_modules/.boxyard-setup
web_stamp=$root/web/node_modules/.boxyard-setup
log=$root/.build/setup.log

host_packages=(
  btrfs-progs busybox-static catatonit crun debian-archive-keyring dnsmasq-base haproxy iproute2 libnftables1 lxcfs
  mmdebstrap mount nftables util-linux zstd
)
# Caddy gets certificates by ACME.
[[ -z ${BOXYARD_EDGE_ACME:-} ]] || host_packages+=(caddy)
# The second line is run in consoles and boxes, and by readers of the documentation.
test_packages=(
  "${host_packages[@]}" e2fsprogs git openssh-client openssl procps python3 rsync systemd
  curl htop jq ncurses-base vim-tiny
)
# The first line is for the web console (Chromium is 740 MB), the second builds the runc of the test cluster, the third emulates a Debian,
# the fourth builds AWS's client of Lambda and holds an emulator of AWS; the last is a database in a box, and shells that complete words.
suite_packages=(
  "${test_packages[@]}" caddy chromium
  gcc libc6-dev libseccomp-dev
  "qemu-system-$([[ $(uname -m) == aarch64 ]] && echo arm || echo x86)" qemu-utils
  cmake g++ make xz-utils python3-venv
  postgresql zsh fish
)
bench_packages=("${suite_packages[@]}" restic)
# Docker's own packages conflict with Debian's.
command -v dockerd >/dev/null || bench_packages+=(containerd docker.io)
# Its client is a package of its own where there is one.
command -v docker >/dev/null || ! apt-cache show docker-cli >/dev/null 2>&1 || bench_packages+=(docker-cli)

main() {
  local purpose=${1:-}
  case $purpose in
    host)
      need_root
      need_packages "${host_packages[@]}"
      need_modules runtime
      ;;
    test)
      need_root
      need_packages "${test_packages[@]}"
      need_modules all
      need_web_modules
      ;;
    suites)
      need_root
      need_packages "${suite_packages[@]}"
      need_modules all
      need_web_modules
      ;;
    bench)
      need_root
      need_packages "${bench_packages[@]}"
      need_modules all
      need_web_modules
      ;;
    tools)
      need_modules all
      need_web_modules
      ;;
    web) need_web_modules ;;
    program) need_modules runtime ;;
    *) fail "usage: infra/setup.sh host|test|suites|bench|tools|web|program" ;;
  esac
}

need_root() {
  [[ $(id -u) == 0 ]] || fail "This needs root, because boxes need namespaces, mounts and networks. Run it again as root."
}

need_packages() {
  local missing=()
  command -v dpkg-query >/dev/null || fail "This is not a Debian machine. Install these by hand: $*"
  # dpkg-query prints unknown packages on stderr and fails; a package it does not list is missing.
  local installed
  installed=" $(dpkg-query -W -f='${db:Status-Status}:${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed://p' | tr '\n' ' ')" || true
  for package in "$@"; do [[ $installed == *" $package "* ]] || missing+=("$package"); done
  [[ ${#missing[@]} == 0 ]] && return
  export DEBIAN_FRONTEND=noninteractive
  local apt=(apt-get -q -y -o DPkg::Lock::Timeout=300)
  echo "Updating the lists of Debian packages (about 20 s)"
  locked logged "${apt[@]}" update
  # apt refuses to work after dpkg was interrupted. It waits for one that works now.
  if ! "${apt[@]}" check >/dev/null 2>&1; then
    echo "Finishing an interrupted installation of Debian packages (up to a few minutes)"
    locked without_services without_databases finish_packages "${apt[@]}"
  fi
  echo "Installing Debian packages (up to a few minutes): ${missing[*]}"
  locked without_services without_databases logged "${apt[@]}" install --no-install-recommends "${missing[@]}"
  for package in "${missing[@]}"; do
    case $package in
      haproxy | caddy | containerd | lxcfs) leave_to_us "$package.service" ;;
      docker.io) leave_to_us docker.service docker.socket ;;
      postgresql) leave_to_us postgresql.service ;;
    esac
  done
}

# Configures what was unpacked; then apt, the arguments, adds what that lacks.
finish_packages() {
  dpkg --configure -a >"$log" 2>&1 9>&- </dev/null || true
  logged "$@" install --no-install-recommends --fix-broken
}

# Keeps apt from starting services: dockerd changes the host's packet filter when it starts. Runs in a subshell. A set-up that was
# killed has left its file, which is known by its second line.
without_services() {
  local policy=/usr/sbin/policy-rc.d mark='# Only while Boxyard installs packages.'
  if [[ ! -e $policy ]] || grep -qxF "$mark" "$policy"; then
    trap "rm -f $policy" EXIT
    install -m 755 /dev/stdin "$policy" <<<$'#!/bin/sh\n'"$mark"$'\nexit 101'
  fi
  "$@"
}

# Keeps Debian's PostgreSQL from making a database for this machine when it is installed.
without_databases() (
  local settings=/etc/postgresql-common/createcluster.d
  if [[ " $* " == *" postgresql "* || $1 == finish_packages ]]; then
    trap "rm -f $settings/boxyard.conf; rmdir -p --ignore-fail-on-non-empty $settings" EXIT
    install -D -m 644 /dev/stdin "$settings/boxyard.conf" <<<'create_main_cluster = off'
  fi
  "$@"
)

# Disables a service that was just installed: the agent or the bench runs its own. Services from before stay as they were.
leave_to_us() {
  [[ -d /run/systemd/system ]] || return 0
  logged systemctl disable --now "$@"
}

# The stamp holds the hash of the lock file that node_modules was made from, and `all` or `runtime`.
need_modules() {
  is_stamped "$1" || locked install_modules "$1"
}

install_modules() {
  is_stamped "$1" && return
  command -v npm >/dev/null || fail "npm is missing. Install Node.js 20 or newer with npm, for example: apt-get install npm"
  case $(uname -m) in
    x86_64 | aarch64) ;;
    *) fail "No Node.js for $(uname -m) here; x86_64 and aarch64 are supported." ;;
  esac
  cd "$root"
  local adds=false
  is_stamped runtime && adds=true
  # From here on the packages are incomplete: an installation that is interrupted is begun anew by the next set-up.
  rm -f "$stamp"
  if [[ $1 == runtime ]]; then
    echo "Installing Node.js packages (about 10 s)"
    logged npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
  elif [[ $adds == true ]]; then
    # Adds to the installed packages, so that a service that runs from this checkout keeps its files.
    echo "Installing Node.js packages for development (about 30 s)"
    logged npm install --no-save --include=dev --ignore-scripts --no-audit --no-fund --loglevel=error
  else
    echo "Installing Node.js packages, including development (about 30 s)"
    logged npm ci --include=dev --ignore-scripts --no-audit --no-fund --loglevel=error
  fi
  echo "$(lock_hash) $1" >"$stamp"
}

# The web console is a package of its own, whose stamp holds the hash of its lock file.
need_web_modules() {
  has_web_modules || locked install_web_modules
}

install_web_modules() {
  has_web_modules && return
  echo "Installing Node.js packages of the web console (about 10 s)"
  cd "$root/web"
  rm -f "$web_stamp"
  logged npm ci --include=dev --ignore-scripts --no-audit --no-fund --loglevel=error
  web_hash >"$web_stamp"
}

has_web_modules() {
  [[ -r $web_stamp && $(<"$web_stamp") == "$(web_hash)" ]]
}

web_hash() {
  sha256sum <"$root/web/package-lock.json" | cut -d ' ' -f 1
}

# A stamp of `all` also satisfies `runtime`.
is_stamped() {
  local made=
  [[ -r $stamp ]] && read -r made <"$stamp"
  local hash
  hash=$(lock_hash)
  [[ $made == "$hash all" || $made == "$hash $1" ]]
}

lock_hash() {
  sha256sum <"$root/package-lock.json" | cut -d ' ' -f 1
}

# Serializes set-ups of one checkout.
locked() {
  mkdir -p "$root/.build"
  (
    flock --nonblock 9 || { echo "Waiting for another setup of this checkout" && flock 9; }
    "$@"
  ) 9>"$root/.build/setup.lock"
}

# Runs a command and prints its output only if it fails.
logged() {
  mkdir -p "$root/.build"
  "$@" >"$log" 2>&1 9>&- </dev/null && return
  tail -n 30 "$log" >&2
  fail "\"$*\" failed; see above, all of it is in .build/setup.log."
}

fail() {
  echo "$1" >&2
  exit 1
}

main "$@"
