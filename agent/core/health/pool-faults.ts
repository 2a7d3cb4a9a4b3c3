import type { HealthFault } from '../../../shared/schemas/health.ts'
import type { PoolCondition } from '../../ports/pool/condition.ts'

/** Turns the condition of a pool into faults of the health report. Pure. */
export function poolFaults({ deviceErrors, scrub, isReadOnly, backing }: PoolCondition): HealthFault[] {
  const faults: HealthFault[] = []
  if (isReadOnly) {
    faults.push({
      code: 'pool_read_only',
      evidence: 'A write to the disk of the pool failed: nothing is written to it any more, reads go on.',
      remedy:
        "Mend the disk, or free space on it (the host's kernel log names the fault); then stop the service, take it down (`npm run down`, which ends the boxes) and start it again.",
    })
  }
  if (backing.missingBytes > Math.max(0, backing.availableBytes)) {
    faults.push({
      code: 'pool_not_backed',
      evidence: `The pool's image lacks ${mib(backing.missingBytes)} of its blocks, and its disk has ${mib(backing.availableBytes)} for them: once that is used up the pool becomes read-only.`,
      remedy: 'Free space on the disk of the image: the image then takes its blocks by itself.',
    })
  }
  const counted = Object.entries(deviceErrors).filter(([, count]) => count > 0)
  if (counted.length > 0) {
    faults.push({
      code: 'storage_errors',
      evidence: `The disk of the pool has failed: ${counted.map(([what, count]) => `${what} ${count}`).join(', ')}.`,
      remedy:
        'Look after the disk and scrub (POST /v1/storage/scrub); restore what is damaged. A scrub that finds nothing wrong lets the count begin anew.',
    })
  }
  if (scrub !== null && scrub.errors > 0) {
    faults.push({
      code: 'scrub_errors',
      evidence: `The last scrub found ${scrub.errors} errors in ${scrub.checkedBytes} bytes.`,
      remedy: "The host's kernel log names the files: restore them from snapshots or backups, then scrub again.",
    })
  }
  if (scrub?.status === 'failed') {
    faults.push({
      code: 'scrub_failed',
      evidence: 'The last scrub could not be carried out.',
      remedy: 'Start another with POST /v1/storage/scrub; `btrfs` of btrfs-progs must be installed.',
    })
  }
  return faults
}

function mib(bytes: number): string {
  return `${Math.floor(bytes / 1024 ** 2)} MiB`
}
