/** System calls that only boxes with nesting may make: namespaces, mounts that the kernel offers to user namespaces, and host names. */
export const NESTING_CALLS = [
  ...['clone', 'clone3', 'unshare', 'setns', 'sethostname', 'setdomainname'],
  ...['mount', 'umount', 'umount2', 'pivot_root', 'open_tree', 'open_tree_attr', 'move_mount', 'mount_setattr'],
  ...['fsopen', 'fsconfig', 'fsmount', 'fspick'],
]

/**
 * Netlink protocols of boxes with nesting, whose processes may have CAP_NET_ADMIN in namespaces of their own: routes, socket
 * diagnosis, audit, netfilter, uevents, generic.
 */
export const NESTING_NETLINK_PROTOCOLS = [0, 4, 9, 12, 15, 16]

/** Calls that fail with ENOSYS in boxes with nesting, because container runtimes then continue without keyrings, but not after EPERM. */
export const KEYRING_CALLS = ['keyctl', 'add_key', 'request_key']
