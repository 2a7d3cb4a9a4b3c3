#!/usr/bin/env bash
# Prepares this node of a cluster for boxes: installs the OCI wrapper and containerd's runtime handler `boxyard`, labels the node.
# usage: infra/node/install.sh [--print] [--root DIR] [--node NAME] [--kubeconfig FILE] [--run-dir DIR]
#   --print       prints the files it would write, and writes nothing
#   --root        works only on the files below DIR: runs no program of the node and labels nothing
#   --node        the node's name in the cluster (default: the host name)
#   --kubeconfig  an administrator's, to label the node (default: KUBECONFIG, or the files of kubeadm and k3s)
#   --run-dir     BOXYARD_RUN_DIR of the agent (default: /run/boxyard)
# Supports nodes of kubeadm and of k3s with containerd 2, and refuses others. It is safe to run again at any time.
set -euo pipefail

lib=/usr/local/lib/boxyard
k3s=/var/lib/rancher/k3s
mark='# Written by infra/node/install.sh of Boxyard, which also changes it.'

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=
print=
node=$(uname -n | tr '[:upper:]' '[:lower:]')
kubeconfig=${KUBECONFIG:-}
run_dir=/run/boxyard
scratch=
# Set by prepare_kubeadm and prepare_k3s: the handler's file, and the command that restarts its reader.
handler_file=
restart_with=
has_new_handler=

main() {
  read_arguments "$@"
  local kind
  kind=$(kind_of_node)
  is_offline || check_host
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  "prepare_$kind"
  # The handler comes last: by then the files it names exist, and a refusal above has left the node unchanged.
  write_file 0755 "$lib/boxyard-oci" "$here/boxyard-oci"
  write_file 0644 "$lib/boxyard-oci.conf" "$scratch/settings"
  if [[ -n $handler_file ]]; then write_file 0644 "$handler_file" "$scratch/handler"; fi
  if [[ -e $scratch/config.toml ]]; then
    write_file "0$(stat -c %a "$root/etc/containerd/config.toml")" /etc/containerd/config.toml "$scratch/config.toml"
  fi
  if [[ -n $has_new_handler ]]; then echo "Restart what reads the handler; pods go on running: $restart_with"; fi
  label_node "$kind"
}

read_arguments() {
  while (($# > 0)); do
    if [[ $1 == --print ]]; then
      print=yes
      shift
      continue
    fi
    [[ -n ${2:-} ]] || usage
    case $1 in
      --root) root=$(cd "$2" && pwd) ;;
      --node) node=$2 ;;
      --kubeconfig) kubeconfig=$2 ;;
      --run-dir) run_dir=$2 ;;
      *) usage ;;
    esac
    shift 2
  done
  [[ $run_dir =~ ^/[A-Za-z0-9._/-]+$ ]] || fail "--run-dir must be an absolute path of plain characters."
}

usage() {
  fail "usage: infra/node/install.sh [--print] [--root DIR] [--node NAME] [--kubeconfig FILE] [--run-dir DIR]"
}

kind_of_node() {
  local kinds=()
  if [[ -e $root/var/lib/kubelet/config.yaml ]]; then kinds+=(kubeadm); fi
  if [[ -e $root$k3s/agent ]]; then kinds+=(k3s); fi
  case ${#kinds[@]} in
    1) echo "${kinds[0]}" ;;
    0) fail "This is no node of kubeadm (/var/lib/kubelet/config.yaml) nor of k3s ($k3s/agent)." ;;
    *) fail "This looks like a node of kubeadm and of k3s at once; remove what is left of the one you do not use." ;;
  esac
}

# With --root, programs of the node cannot be run.
is_offline() {
  [[ -n $root ]]
}

check_host() {
  [[ $(id -u) == 0 ]] || fail "This needs root. Run it again as root."
  is_at_least 6.7 "$(uname -r)" || fail "Linux $(uname -r) is too old: boxes need 6.7 or newer."
  grep -qw btrfs /proc/filesystems || modprobe -q btrfs || fail "This kernel has no btrfs."
  [[ $(cat /proc/sys/user/max_user_namespaces) != 0 ]] || fail "User namespaces are off: user.max_user_namespaces is 0."
}

prepare_kubeadm() {
  local config=$root/etc/containerd/config.toml runc directory
  [[ -r $config ]] || fail "$config is missing. Make it: containerd config default > /etc/containerd/config.toml"
  [[ $(version_of "$config") =~ ^[234]$ ]] || fail "$config is of no version that is known here (2, 3 or 4)."
  if grep -Eq "^ *disabled_plugins *=.*[\"'](cri|io\.containerd\.[a-z.0-9]*cri[a-z.0-9]*)[\"']" "$config"; then
    fail "$config disables the CRI plugin, so no kubelet uses this containerd. Take it out of disabled_plugins first."
  fi
  runc=$(find_program runc /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin)
  write_settings "$runc"
  directory=$(imported_directory "$config")
  if [[ -z $directory ]]; then
    directory=/etc/containerd/conf.d
    add_import "$config" "$directory" >"$scratch/config.toml"
    config=$scratch/config.toml
  fi
  handler_file=$directory/boxyard.toml
  write_handler 'version = 3' "$(systemd_cgroup_of "$config")"
  restart_with="systemctl restart containerd"
  is_offline || try_containerd "$config" "$runc"
}

# Lets the node's own containerd parse the result, before anything is written.
try_containerd() {
  local version merged
  version=$(containerd --version | awk '{ print $3 }')
  is_at_least 2.0 "${version#v}" || fail "containerd $version is too old: pods with user namespaces need 2.0 or newer."
  check_runc "$2"
  sed -E "s|^imports *= *\[|&'$scratch/handler', |" "$1" >"$scratch/trial.toml"
  merged=$(containerd --log-level error --config "$scratch/trial.toml" config dump) || fail "containerd does not take this, see above."
  grep -qF "$lib/boxyard-oci" <<<"$merged" || fail "containerd does not read what $1 imports."
}

# k3s renders config.toml at every start: since 2026 with an import, before from a template that we provide.
prepare_k3s() {
  local etc=$k3s/agent/etc/containerd runc directory cgroups
  local config=$root$etc/config.toml template=$root$etc/config-v3.toml.tmpl
  [[ -r $config ]] || fail "$config is missing: start k3s once, with its own containerd (not --docker)."
  [[ $(version_of "$config") == 3 ]] || fail "This k3s has containerd 1; k3s 1.31.6 and 1.32.2 have containerd 2."
  runc=$(find_program runc "$k3s/data/current/bin")
  is_offline || check_runc "$runc"
  write_settings "$runc"
  cgroups=$(systemd_cgroup_of "$config")
  directory=$(imported_directory "$config")
  restart_with="systemctl restart k3s (k3s-agent on a node that is no server)"
  if [[ -n $directory ]]; then
    handler_file=$directory/boxyard.toml
    write_handler 'version = 3' "$cgroups"
  elif [[ ! -e $template ]] || head -n 1 "$template" | grep -qxF "$mark"; then
    handler_file=$etc/config-v3.toml.tmpl
    write_handler '{{ template "base" . }}' "$cgroups"
  elif ! grep -qF "\"$lib/boxyard-oci\"" "$template"; then
    write_handler '' "$cgroups"
    cat "$scratch/handler" >&2
    fail "$template is not ours. Add the lines above at its end, and run this again."
  fi
}

check_runc() {
  local version
  version=$("$1" --version | awk 'NR == 1 { print $3 }')
  is_at_least 1.2 "$version" || fail "runc $version is too old: user namespaces with idmapped mounts need 1.2 or newer."
  is_runc_fixed "$version" || echo "Warning: runc $version can let a hostile image out of its container (CVE-2025-31133, -52565, -52881), unless
your distribution has mended this version. Fixed in 1.2.8, 1.3.3, 1.4.0." >&2
}

# https://github.com/opencontainers/runc/security/advisories/GHSA-9493-h29p-rfm2 and its two siblings.
is_runc_fixed() {
  case $1 in
    1.2.[0-7] | 1.2.[0-7][!0-9]*) return 1 ;;
    1.3.[0-2] | 1.3.[0-2][!0-9]*) return 1 ;;
    1.4.0-rc.[12]) return 1 ;;
  esac
}

version_of() {
  sed -nE 's/^version *= *([0-9]+).*/\1/p' "$1" | head -n 1
}

# Prints the directory of a glob among the imports of a containerd configuration, if there is one.
imported_directory() {
  sed -nE "/^imports *=/s|^[^#]*[\"'](/[^\"'*]+)/\*\.toml[\"'].*\].*|\1|p" "$1" | head -n 1
}

# Inserts the import below the version: top-level keys must stand before the first table.
add_import() {
  local line="imports = [\"$2/*.toml\"]"
  case $(grep -E '^imports *=' "$1" | tr -d ' ') in
    '') sed -E "0,/^version *=/s|^version *=.*|&\n$line|" "$1" ;;
    'imports=[]') sed -E "s|^imports *=.*|$line|" "$1" ;;
    *) fail "Add '$2/*.toml' to the imports of $1 by hand, in one line, and run this again." ;;
  esac
}

# Prints runc's SystemdCgroup, which the handler must share: the kubelet names cgroups in one style for all pods.
systemd_cgroup_of() {
  awk '
    /^ *\[/ { is_runc = /runtimes\.["\x27]?runc["\x27]?\.options\]/ }
    is_runc && /^ *SystemdCgroup *= *true/ { found = "true" }
    END { print found == "" ? "false" : found }' "$1"
}

# usage: find_program NAME DIRECTORY...
find_program() {
  local name=$1 directory
  shift
  for directory in "$@"; do
    if [[ -x $root$directory/$name ]]; then
      echo "$directory/$name"
      return
    fi
  done
  fail "$name is not in any of: $*"
}

write_settings() {
  cat >"$scratch/settings" <<END
$mark
RUNC='$1'
RUN_DIR='$run_dir'
END
}

# Passes only our annotations of a pod to the wrapper.
write_handler() {
  cat >"$scratch/handler" <<END
$mark
$1

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.boxyard]
  runtime_type = "io.containerd.runc.v2"
  pod_annotations = ["boxyard.dev/*"]
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.boxyard.options]
  BinaryName = "$lib/boxyard-oci"
  SystemdCgroup = $2
END
}

# usage: write_file MODE PATH SOURCE    in one step: containerd may read it, and the wrapper may be run, at any moment
write_file() {
  local path=$root$2
  if cmp -s "$3" "$path" && [[ $(stat -c %a "$path") == "${1#0}" ]]; then
    echo "unchanged $2"
    return
  fi
  if [[ -n $print ]]; then
    echo "would write $2 (mode $1):"
    sed 's/^/    /' "$3"
    return
  fi
  mkdir -p "$(dirname "$path")"
  install -m "$1" "$3" "$path.new"
  mv "$path.new" "$path"
  echo "wrote $2"
  [[ $2 == "$lib"/* ]] || has_new_handler=yes
}

label_node() {
  local kubectl=(kubectl) label=(label node "$node" boxyard.dev/node=true --overwrite)
  if [[ $1 == k3s ]]; then kubectl=(k3s kubectl); fi
  local admin=$kubeconfig candidate
  for candidate in /etc/kubernetes/admin.conf /etc/rancher/k3s/k3s.yaml; do
    if [[ -z $admin && -r $candidate ]]; then admin=$candidate; fi
  done
  if is_offline || [[ -n $print || -z $admin ]]; then
    echo "Label the node where you are an administrator: kubectl ${label[*]}"
  else
    "${kubectl[@]}" --kubeconfig "$admin" "${label[@]}"
  fi
}

# usage: is_at_least WANTED HAVE
is_at_least() {
  [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]
}

fail() {
  echo "$1" >&2
  exit 1
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then main "$@"; fi
