#!/bin/sh
# Installs Boxyard from an unpacked archive, on hosts without Debian's packages. As root: ./install.sh [--remove]
#   --remove  stops the services and every box, and removes the program; data and settings stay
set -eu
here=$(cd "$(dirname "$0")" && pwd)
units='boxyard-agent.service boxyard-front.service'
files="$units boxyard-boxes.service"
fail() { echo "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail 'This needs root: it installs services.'
has_systemd() { [ -d /run/systemd/system ]; }

remove() {
  if has_systemd; then
    systemctl disable --now $units
    systemctl stop boxyard-boxes.service
  fi
  boxyard admin down
  data=$(sed -n 's/^BOXYARD_DATA_DIR=//p' /etc/boxyard/boxyard.conf 2>/dev/null | tail -n 1)
  for unit in $files; do rm -f "/usr/lib/systemd/system/$unit"; done
  rm -rf /usr/lib/boxyard /usr/bin/boxyard /usr/share/doc/boxyard /var/cache/boxyard /var/cache/boxyard-front
  if has_systemd; then systemctl daemon-reload; fi
  echo "Removed. Data stays in ${data:-/var/lib/boxyard}, settings in /etc/boxyard."
}

case ${1:-} in
  --remove) remove; exit ;;
  '') ;;
  *) fail 'usage: ./install.sh [--remove]' ;;
esac
missing=
for program in @PROGRAMS@; do
  command -v "$program" >/dev/null || missing="$missing $program"
done
[ -z "$missing" ] || fail "These programs are missing; install them first:$missing"
# An older version is replaced whole, so that no file of it stays.
rm -rf /usr/lib/boxyard.new /usr/lib/boxyard.old
cp -a "$here/root/usr/lib/boxyard" /usr/lib/boxyard.new
if [ -e /usr/lib/boxyard ]; then mv /usr/lib/boxyard /usr/lib/boxyard.old; fi
mv /usr/lib/boxyard.new /usr/lib/boxyard
rm -rf /usr/lib/boxyard.old
mkdir -p /usr/lib/systemd/system /usr/share/doc /etc/boxyard
cp -a "$here/root/usr/bin/boxyard" /usr/bin/boxyard
cp -a "$here/root/usr/share/doc/boxyard" /usr/share/doc/
for unit in $files; do cp -a "$here/root/usr/lib/systemd/system/$unit" /usr/lib/systemd/system/; done
[ -e /etc/boxyard/boxyard.conf ] || cp -a "$here/root/etc/boxyard/boxyard.conf" /etc/boxyard/
if has_systemd; then
  systemctl daemon-reload
  systemctl enable --quiet $units
  systemctl --no-block restart $units
  echo 'Installed. The first start builds a base: systemctl status boxyard-agent'
else
  echo 'Installed. There is no systemd here: run "boxyard serve" and the front by what starts services.'
fi
