import type { StorageReport } from '../../api/records.ts'
import { Meter, Panel } from '../../ui/page.tsx'
import { bytesText } from '../../ui/words.ts'

type Pool = NonNullable<StorageReport['pool']>

/** How full the pool is, the errors of its disk, and data waiting for destruction. In a fleet also for each cell. */
export function PoolPanel({ report }: { report: StorageReport }) {
  const { pool, deleting, cells = [] } = report
  if (pool === null) return null
  return (
    <Panel title="Pool">
      <div className="flex flex-col gap-4">
        <PoolMeters pool={pool} />
        <DeviceErrors errors={pool.device_errors} />
        {deleting !== null && deleting > 0 && (
          <p className="text-muted">
            {deleting} deleted {deleting === 1 ? 'subvolume still counts' : 'subvolumes still count'} until cleanup
            ends.
          </p>
        )}
        {cells.length > 1 &&
          cells.map(({ cell, pool: own }) => (
            <Meter
              key={cell}
              name={`Cell ${cell}`}
              isRoom
              used={own.used_bytes}
              total={own.total_bytes}
              words={`${bytesText(own.used_bytes)} of ${bytesText(own.total_bytes)}`}
            />
          ))}
      </div>
    </Panel>
  )
}

function PoolMeters({ pool }: { pool: Pool }) {
  const { data, metadata, used_bytes: used, total_bytes: total, available_bytes: free } = pool
  return (
    <>
      <Meter
        name="Used"
        isRoom
        used={used}
        total={total}
        words={`${bytesText(used)} of ${bytesText(total)}, ${bytesText(free)} free`}
      />
      <p className="text-muted">
        Allocated: {bytesText(data.total_bytes)} for data ({bytesText(data.used_bytes)} used) and{' '}
        {bytesText(metadata.total_bytes)} for metadata ({bytesText(metadata.used_bytes)} used). The pool grows when
        needed.
      </p>
    </>
  )
}

function DeviceErrors({ errors }: { errors: Pool['device_errors'] }) {
  const found = Object.entries(errors).filter(([, count]) => count > 0)
  if (found.length === 0) return <p>No disk errors.</p>
  return (
    <p className="rounded-md bg-warn-soft p-3">
      Disk errors: {found.map(([kind, count]) => `${count} ${kind}`).join(', ')}. Check the disk and the pool, and
      restore damaged data from backups.
    </p>
  )
}
