import type { DataDiskFacts, Facts, SettingsFacts } from '../facts.ts'
import { areaOf, type Finding } from '../findings.ts'

/** Checks the disk of the data directory. Pure. */
export function checkDisk({ disk, settings }: Pick<Facts, 'disk' | 'settings'>): Finding[] {
  if ('hidden' in disk) return [DISK.unknown(settings.agent.dataDir, disk.hidden)]
  const findings = [...checkKind(disk.value), ...checkRoom(disk.value, settings)]
  if (findings.length > 0) return findings
  const { dataDir, exists, type, availableBytes } = disk.value
  const where = exists ? dataDir : `${dataDir} (not there yet)`
  return [DISK.ok(`${where} is on ${type}, with ${gib(availableBytes)} left.`)]
}

function checkKind({ path, type, isReadOnly }: DataDiskFacts): Finding[] {
  const findings: Finding[] = []
  if (isReadOnly) {
    findings.push(
      DISK.problem({
        code: 'disk_read_only',
        evidence: `${path} is mounted read-only.`,
        remedy: 'If dmesg shows a disk error, check and repair the disk. Otherwise remount it read-write.',
      }),
    )
  }
  if (VOLATILE.has(type)) {
    findings.push(
      DISK.problem({
        code: 'disk_volatile',
        evidence: `${path} is on ${type}, which loses all data at a reboot.`,
        remedy: 'Set BOXYARD_DATA_DIR to a directory on a disk.',
      }),
    )
  }
  if (REMOTE.test(type)) {
    findings.push(
      DISK.problem({
        code: 'disk_remote',
        evidence: `${path} is on ${type}, where synced data can be lost, unlike on a local disk.`,
        remedy: 'Set BOXYARD_DATA_DIR to a directory on a local disk (ext4, xfs, btrfs) or on a network block device.',
      }),
    )
  }
  return findings
}

function checkRoom(disk: DataDiskFacts, { agent }: SettingsFacts): Finding[] {
  const { path, availableBytes, totalBytes, freeInodes, pool } = disk
  if (freeInodes !== null && freeInodes < FEW_INODES) {
    const evidence = `The filesystem of ${path} has inodes for only ${freeInodes} more files.`
    return [DISK.problem({ code: 'inodes_used_up', evidence, remedy: 'Remove files that you no longer need there.' })]
  }
  if (pool !== null) {
    if (availableBytes >= Math.min(LOW_BYTES, totalBytes / 10)) return []
    const evidence = `The filesystem of ${path} has ${mib(availableBytes)} left.`
    return [
      DISK.problem({
        code: 'disk_full',
        evidence,
        remedy: 'Free space there. The service needs it to write its state.',
      }),
    ]
  }
  const { initialBytes, hostReserveBytes } = agent.pool
  if (availableBytes >= initialBytes + hostReserveBytes) return []
  const fault = {
    code: 'disk_small',
    evidence: `The filesystem of ${path} has ${gib(availableBytes)} left. The first pool takes ${gib(initialBytes)}, and ${gib(hostReserveBytes)} must stay free.`,
    remedy: 'Free space, set BOXYARD_DATA_DIR to a larger disk, or lower BOXYARD_POOL_GB and BOXYARD_HOST_RESERVE_GB.',
  } as const
  const isTooSmall = availableBytes < hostReserveBytes + LOW_BYTES
  return [isTooSmall ? DISK.problem(fault) : DISK.note(fault)]
}

function gib(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`
}

function mib(bytes: number): string {
  return `${Math.floor(bytes / 1024 ** 2)} MiB`
}

const DISK = areaOf('disk')
/** As in the health report, and the smallest pool. */
const LOW_BYTES = 256 * 1024 ** 2
const FEW_INODES = 1_000
const VOLATILE: ReadonlySet<string> = new Set(['tmpfs', 'ramfs', 'rootfs'])
const REMOTE = /^(nfs4?|cifs|smb3|9p|ceph|glusterfs|virtiofs|vboxsf|fuse\..+)$/
