import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Ref, Service } from '../../../api/records.ts'
import { usePageSearch } from '../../../shell/page-search.ts'
import { FilterSelect } from '../../../ui/field.tsx'
import { Panel } from '../../../ui/page.tsx'
import { createOutputFollower } from '../commands/output-follower.ts'
import { NO_OUTPUT } from '../commands/output-log.ts'
import { OutputView } from '../commands/output-view.tsx'
import { useOutput } from '../commands/use-output.ts'
import { logSource, readAllOfLog } from './log-source.ts'

const VERSIONS = ['active', 'preview', 'previous'] as const

/** The live output of a version of a service. */
export function ServiceLog({ box, service }: { box: Ref; service: Service }) {
  const { log: asked } = usePageSearch<{ log: string }>()
  const version = VERSIONS.find((each) => each === asked) ?? 'active'
  const navigate = useNavigate()
  const { project, name } = box
  const of = useMemo(
    () => ({ box: { project, name }, service: service.name, version }),
    [project, name, service.name, version],
  )
  const output = useOutput(useMemo(() => createOutputFollower(NO_OUTPUT, logSource(of)), [of]))
  const there = VERSIONS.filter((each) => each === 'active' || service[each] !== null)
  return (
    <Panel
      title="Log"
      actions={
        <FilterSelect
          label="Version"
          value={version}
          onChange={(event) =>
            void navigate({
              to: '/boxes/$project/$name/services',
              params: { project: box.project, name: box.name },
              search: { service: service.name, log: event.target.value },
              replace: true,
            })
          }
        >
          {there.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </FilterSelect>
      }
    >
      <OutputView
        label={`Log of ${service.name}`}
        output={output}
        empty="No output yet."
        whole={{ fileName: `${service.name}-${version}.log`, read: () => readAllOfLog(of) }}
      />
    </Panel>
  )
}
