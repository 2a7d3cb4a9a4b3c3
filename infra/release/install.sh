#!/bin/sh
# Installs Boxyard from an unpacked archive, on hosts without Debian's packages. As root: ./install.sh [--remove]
#   --remove  stops the services and every box, and removes the program; data and settings stay
set -eu
here=$(cd "$(dirname "$0")" && pwd)
units='boxyard-agent.service boxyard-front.service'
files="$units boxyard-boxes.service"
umask 022
fail() { echo "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail 'This needs root: it installs services.'
has_systemd() { [ -d /run/systemd/system ]; }

remove() {
  if has_systemd; then
    for unit in $units; do
      if [ -e "/usr/lib/systemd/system/$unit" ]; then systemctl disable --now "$unit"; fi
    done
    if [ -e /usr/lib/systemd/system/boxyard-boxes.service ]; then systemctl stop boxyard-boxes.service; fi
  fi
  # An installation that was cut off has moved the older version away.
  if [ ! -e /usr/lib/boxyard ] && [ -e /usr/lib/boxyard.old ]; then mv /usr/lib/boxyard.old /usr/lib/boxyard; fi
  # It is gone if an earlier removal was cut off.
  if [ -e /usr/bin/boxyard ] && [ -e /usr/lib/boxyard ]; then boxyard admin down; fi
  data=$(sed -n 's/^BOXYARD_DATA_DIR=//p' /etc/boxyard/boxyard.conf 2>/dev/null | tail -n 1)
  for unit in $files; do rm -f "/usr/lib/systemd/system/$unit"; done
  rm -f /usr/bin/boxyard
  rm -rf /usr/lib/boxyard /usr/lib/boxyard.new /usr/lib/boxyard.old /usr/share/doc/boxyard /var/cache/boxyard /var/cache/boxyard-front
  if has_systemd; then systemctl daemon-reload; fi
  echo "Removed. Data stays in ${data:-/var/lib/boxyard}, settings in /etc/boxyard."
}

# Who unpacked the archive owns its files, with the modes of their umask.
copy() {
  cp -a "$1" "$2"
  chown -Rh 0:0 "$2"
  chmod -R u=rwX,go=rX "$2"
}

case ${1:-} in
  --remove) remove; exit ;;
  '') ;;
  *) fail 'usage: ./install.sh [--remove]' ;;
esac
# Replaced behind its back, the package would leave files of both when it is upgraded or removed.
if command -v dpkg-query >/dev/null && dpkg-query --show --showformat='${db:Status-Status}' boxyard 2>/dev/null | grep -q '^installed$'; then
  fail 'The Debian package is installed here: upgrade that (apt-get install ./boxyard_*.deb), or remove it first.'
fi
missing=
for program in @PROGRAMS@; do
  command -v "$program" >/dev/null || missing="$missing $program"
done
[ -z "$missing" ] || fail "These programs are missing; install them first:$missing"
# An older version is replaced whole, so that no file of it stays.
rm -rf /usr/lib/boxyard.new /usr/lib/boxyard.old
copy "$here/root/usr/lib/boxyard" /usr/lib/boxyard.new
if [ -e /usr/lib/boxyard ]; then mv /usr/lib/boxyard /usr/lib/boxyard.old; fi
mv /usr/lib/boxyard.new /usr/lib/boxyard
rm -rf /usr/lib/boxyard.old /usr/share/doc/boxyard
mkdir -p /usr/lib/systemd/system /usr/share/doc /etc/boxyard
copy "$here/root/usr/bin/boxyard" /usr/bin/boxyard
copy "$here/root/usr/share/doc/boxyard" /usr/share/doc/boxyard
for unit in $files; do copy "$here/root/usr/lib/systemd/system/$unit" "/usr/lib/systemd/system/$unit"; done
[ -e /etc/boxyard/boxyard.conf ] || copy "$here/root/etc/boxyard/boxyard.conf" /etc/boxyard/boxyard.conf
if has_systemd; then
  systemctl daemon-reload
  systemctl enable --quiet $units
  systemctl --no-block restart $units
  echo 'Installed. The first start builds a base: systemctl status boxyard-agent'
else
  echo 'Installed. There is no systemd here: have what starts services run, in /usr/lib/boxyard and with the settings of'
  echo '/etc/boxyard/boxyard.conf, what boxyard-agent.service and boxyard-front.service in /usr/lib/systemd/system name as ExecStart.'
fi
