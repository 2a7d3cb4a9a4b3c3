import type { Machine } from './machine.ts'

/** Returns remains of the service in a machine's kernel. They are processes, mounts, rules, links, loop devices and cgroups. */
export async function remainsOn(machine: Machine): Promise<string[]> {
  const found = await machine.run(`
    grep -lE '/(usr/lib|run)/boxyard' /proc/[0-9]*/cmdline 2>/dev/null | while read -r file; do tr '\\0' ' ' <"$file" 2>/dev/null; echo; done
    grep boxyard /proc/self/mountinfo
    nft list tables | grep boxyard
    ip -o link | grep -o 'bx[0-9][^:]*'
    losetup --list --noheadings --output NAME,BACK-FILE
    find /sys/fs/cgroup -type d -name '*boxyard*'
    systemctl list-units --all --no-legend | grep boxyard | grep -v not-found
    true`)
  return found === '' ? [] : found.split('\n')
}
