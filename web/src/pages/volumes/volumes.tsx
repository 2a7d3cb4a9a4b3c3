import { useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useDeferredValue, useMemo } from 'react'
import { volumesQuery } from '../../api/queries.ts'
import type { Volume } from '../../api/records.ts'
import { useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { FailedJobs, useAgain } from '../../ui/failed-jobs.tsx'
import { FilterSelect } from '../../ui/field.tsx'
import { Jobs } from '../../ui/jobs.tsx'
import { List, ProjectFilter } from '../../ui/list.tsx'
import { ABOVE_ROW_LINK, type Column, LongTable, ROW_LINK } from '../../ui/long-table.tsx'
import { Ago } from '../../ui/now.tsx'
import { Page } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { Tags } from '../../ui/tags-field.tsx'
import { bytesText } from '../../ui/words.ts'
import { CreateVolume } from './create-volume.tsx'
import { selectVolumes } from './select-volumes.ts'

/** All data volumes, with search, order and creation. */
export function VolumesPage() {
  const { data: volumes } = useSuspenseQuery(volumesQuery)
  const { get, change } = useSearchState()
  const { canWrite } = useRights()
  const again = useAgain({ open: () => change({ dialog: 'create' }), close: () => change({ dialog: '' }) })
  const text = useDeferredValue(get('q'))
  const [project, use, sort] = [get('project'), get('use'), get('sort')]
  const shown = useMemo(() => selectVolumes(volumes, { text, project, use, sort }), [volumes, text, project, use, sort])
  const projects = useMemo(() => [...new Set(volumes.map((volume) => volume.project))], [volumes])
  return (
    <Page
      title="Volumes"
      actions={
        canWrite && (
          <Button kind="primary" onClick={() => change({ dialog: 'create' })}>
            Create volume
          </Button>
        )
      }
    >
      <Jobs place="volumes" />
      <FailedJobs place="volumes" again={again.show} />
      <List
        words={['volume', 'volumes']}
        total={volumes.length}
        shown={shown.length}
        findBy="Name, tag or box"
        filters={
          <>
            <ProjectFilter projects={projects} value={project} change={(project) => change({ project })} />
            <FilterSelect label="Use" value={use} onChange={(event) => change({ use: event.target.value })}>
              <option value="">All volumes</option>
              <option value="attached">Attached</option>
              <option value="free">Not attached</option>
            </FilterSelect>
          </>
        }
        unfiltered={{ project: '', use: '' }}
        nextStep={
          <>
            You can attach a data volume to running boxes, and it outlives them.{' '}
            {canWrite ? 'Create one here' : 'To create one, ask for a token with write permission'}, or run{' '}
            <code>boxyard volume create data</code>.
          </>
        }
      >
        <LongTable
          label="Volumes"
          grid="grid-cols-[1fr_6.5rem] md:grid-cols-[2fr_2fr_7rem_7rem] lg:grid-cols-[2fr_2fr_7rem_7rem_12rem_6rem]"
          columns={COLUMNS}
          items={shown}
          keyOf={({ id }) => id}
          sorting={{ by: sort || 'name', change: (by) => change({ sort: by === 'name' ? '' : by }) }}
        />
      </List>
      <CreateVolume again={again.input} isOpen={get('dialog') === 'create' && canWrite} close={again.close} />
    </Page>
  )
}

/** The boxes with a volume, with links to them. */
function AttachedTo({ volume: { project, attachments } }: { volume: Volume }) {
  if (attachments.length === 0) return <span className="text-muted">–</span>
  return (
    <span className={`flex w-fit flex-wrap gap-x-2 ${ABOVE_ROW_LINK}`}>
      {attachments.map(({ box, path, read_only: isReadOnly }) => (
        <Link
          key={box}
          to="/boxes/$project/$name"
          params={{ project, name: box }}
          preload={false}
          title={path}
          className="inline-flex min-h-6 min-w-6 items-center hover:underline"
        >
          {box}
          {isReadOnly && <span className="text-muted"> (read-only)</span>}
        </Link>
      ))}
    </span>
  )
}

const COLUMNS: readonly Column<Volume>[] = [
  {
    name: 'Name',
    sort: 'name',
    of: ({ project, name }) => (
      <Link
        to="/volumes/$project/$name"
        params={{ project, name }}
        preload={false}
        className={`font-medium break-all hover:underline ${ROW_LINK}`}
      >
        <span className="font-normal text-muted">{project}/</span>
        {name}
      </Link>
    ),
  },
  { name: 'Attached to', from: 'md', of: (volume) => <AttachedTo volume={volume} /> },
  { name: 'Used', sort: '-used', isNumber: true, of: ({ used_bytes }) => bytesText(used_bytes) },
  { name: 'Size', sort: '-size', isNumber: true, from: 'md', of: ({ size_gb }) => `${size_gb} GiB` },
  {
    name: 'Tags',
    from: 'lg',
    of: ({ tags }) => (
      <span className="flex flex-wrap gap-1">
        <Tags tags={tags} />
      </span>
    ),
  },
  {
    name: 'Created',
    sort: '-created',
    from: 'lg',
    of: ({ created_at }) => (
      <span className={ABOVE_ROW_LINK}>
        <Ago time={created_at} />
      </span>
    ),
  },
]
