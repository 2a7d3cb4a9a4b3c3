import { useSuspenseQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { Ref, Volume } from '../../api/records.ts'
import { volumeQuery } from '../../api/volume-queries.ts'
import { Breadcrumb } from '../../shell/breadcrumb.tsx'
import { useRights } from '../../shell/rights.ts'
import { Jobs } from '../../ui/jobs.tsx'
import { Ago } from '../../ui/now.tsx'
import { Meter, Page } from '../../ui/page.tsx'
import { Tags } from '../../ui/tags-field.tsx'
import { bytesText } from '../../ui/words.ts'
import { Attachments } from './attachments.tsx'
import { placeOfVolume } from './place.ts'
import { VolumeActions } from './volume-actions.tsx'
import { VolumeBackups } from './volume-backups.tsx'
import { VolumeSnapshots } from './volume-snapshots.tsx'

/** One volume, with its attachments, snapshots, backups and actions. */
export function VolumePage() {
  const params: unknown = useParams({ strict: false })
  const { project = '', name = '' } = params as Partial<Ref>
  const { data: volume } = useSuspenseQuery(volumeQuery({ project, name }))
  const { canWrite } = useRights()
  return (
    <Page
      title={`${project}/${name}`}
      of={<Breadcrumb to="/volumes" name="Volumes" project={project} />}
      actions={canWrite && <VolumeActions volume={volume} />}
    >
      <Jobs place={placeOfVolume(volume)} />
      <Facts volume={volume} />
      <Attachments volume={volume} />
      <VolumeSnapshots volume={volume} />
      <VolumeBackups volume={volume} />
    </Page>
  )
}

function Facts({ volume }: { volume: Volume }) {
  const { used_bytes: used, size_gb: size, from, tags, created_at: created, id } = volume
  return (
    <div className="flex flex-col gap-4 rounded-lg border border-line bg-panel p-4">
      {used === null ? (
        <p className="text-bad">Its data is missing. Restore a backup.</p>
      ) : (
        <Meter
          name="Used, including snapshots"
          isRoom
          used={used}
          total={size * GIB}
          words={`${bytesText(used)} of ${size} GiB`}
        />
      )}
      <dl className="flex flex-wrap gap-x-8 gap-y-3">
        <Fact name="Created">
          <Ago time={created} />
        </Fact>
        <Fact name="Source">{from ?? 'created empty'}</Fact>
        <Fact name="ID">
          <code className="text-xs select-all">{id}</code>
        </Fact>
        {Object.keys(tags).length > 0 && (
          <Fact name="Tags">
            <span className="flex flex-wrap gap-1">
              <Tags tags={tags} />
            </span>
          </Fact>
        )}
      </dl>
    </div>
  )
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="break-all">{children}</dd>
    </div>
  )
}

const GIB = 2 ** 30
