/**
 * Names by which Linux systems address the machine itself or groups of machines in /etc/hosts (Debian, Fedora, SUSE, systemd). A box with
 * such a name would answer for every box of its project.
 */
export const RESERVED_HOST_NAMES: ReadonlySet<string> = new Set([
  ...['localhost', 'localhost4', 'localhost6', 'localdomain', 'loopback', 'broadcasthost'],
  ...['localnet', 'mcastprefix', 'allnodes', 'allrouters', 'allhosts', 'localhost', 'loopback'].flatMap((name) => [
    `ip6-${name}`,
    `ipv6-${name}`,
  ]),
])
