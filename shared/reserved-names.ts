/**
 * Names by which Linux systems call the machine itself, or what it does not address one by one, in /etc/hosts (Debian, Fedora, SUSE, systemd). A
 * box of such a name would answer in the place of each box of its project.
 */
export const RESERVED_HOST_NAMES: ReadonlySet<string> = new Set([
  ...['localhost', 'localhost4', 'localhost6', 'localdomain', 'loopback', 'broadcasthost'],
  ...['localnet', 'mcastprefix', 'allnodes', 'allrouters', 'allhosts', 'localhost', 'loopback'].flatMap((name) => [
    `ip6-${name}`,
    `ipv6-${name}`,
  ]),
])
