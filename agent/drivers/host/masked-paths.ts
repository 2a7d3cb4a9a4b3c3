/**
 * Files and directories of `/proc` and `/sys` that are empty in every box, under crun and in pods. They would show the host, its hardware,
 * or the activity of other boxes. A path that the kernel lacks costs nothing. Each other file adds about 0.02 ms to a start, each directory
 * 0.2 ms.
 *
 * Programs read the following paths, which show no activity of others, so the list omits them:
 * - `cgroups` (container support of JVMs), `config.gz`, `crypto`, `devices`, `filesystems`, `misc`, `version`
 * - `cpuinfo` and `stat` (lxcfs shows the box's)
 * - `/sys/devices/system/cpu` (thread pools and caches), `/sys/kernel/cgroup`, `/sys/bus` and `/sys/class`
 * - `/sys/kernel/mm` (`transparent_hugepage` of JVMs and Redis)
 *
 * Only root of the host reads `kpage*`, `pagetypeinfo`, `slabinfo` and `vmallocinfo`.
 */
export const MASKED_PATHS: readonly string[] = [
  // Docker's defaults, and other paths that name hardware.
  ...paths('/proc', 'acpi asound bus driver fs iomem ioports irq kallsyms kcore keys mdstat modules mtrr scsi'),
  ...paths('/proc', 'bootconfig cmdline latency_stats locks sched_debug timer_list timer_stats'),
  // Counters of the whole host, by which one box could watch another.
  ...paths('/proc', 'buddyinfo diskstats interrupts partitions pressure schedstat softirqs vmstat zoneinfo'),
  ...paths('/proc/sys/fs', 'dentry-state file-nr inode-nr inode-state'),
  // The host's memory, disks and firmware, and the pools of others.
  ...paths('/sys', 'block class/bdi class/block dev/block firmware hypervisor module'),
  ...paths('/sys/devices', 'system/memory system/node virtual/bdi virtual/block virtual/dmi virtual/powercap'),
]

function paths(directory: string, names: string): string[] {
  return names.split(' ').map((name) => `${directory}/${name}`)
}
