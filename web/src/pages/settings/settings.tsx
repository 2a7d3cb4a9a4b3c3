import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useDeferredValue, useMemo } from 'react'
import { api } from '../../api/client.ts'
import { configQuery, versionQuery } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { FilterInput } from '../../ui/field.tsx'
import { Empty, Page, Panel } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { contractTexts } from './contract-texts.ts'
import { type Setting, selectSettings, settingGroups } from './setting-rows.ts'

/** The effective configuration: drivers, features, defaults and limits, in the words of the contract. */
export function SettingsPage() {
  const { data: config } = useSuspenseQuery(configQuery)
  const { data: version } = useQuery(versionQuery)
  const { data: texts = {} } = useQuery(contractQuery)
  const { get, change } = useSearchState()
  const text = useDeferredValue(get('q'))
  const groups = useMemo(() => settingGroups(config, texts), [config, texts])
  const shown = useMemo(() => selectSettings(groups, text), [groups, text])
  const count = shown.reduce((sum, { settings }) => sum + settings.length, 0)
  return (
    <Page title="Settings">
      <p className="text-muted">
        Server configuration (read-only){version && `, version ${version.version}`}. The environment sets it when
        Boxyard starts.
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <FilterInput
          label="Name, value or meaning"
          value={get('q')}
          onChange={(event) => change({ q: event.target.value })}
        />
        <span role="status" className="text-muted tabular-nums">
          {count} {count === 1 ? 'setting' : 'settings'}
        </span>
      </div>
      {shown.length === 0 && (
        <Empty title="No settings match">
          <Button onClick={() => change({ q: '' })}>Clear filters</Button>
        </Empty>
      )}
      {shown.map(({ title, settings }) => (
        <Panel key={title} title={title}>
          <SettingList settings={settings} />
        </Panel>
      ))}
    </Page>
  )
}

function SettingList({ settings }: { settings: readonly Setting[] }) {
  return (
    <dl className="flex flex-col divide-y divide-line">
      {settings.map(({ name, value, about }) => (
        <div key={name} className="grid gap-x-6 gap-y-1 py-2.5 first:pt-0 last:pb-0 md:grid-cols-[1fr_1fr]">
          <dt>
            <code className="font-mono text-xs break-all">{name}</code>
            {about !== '' && <span className="mt-0.5 block text-xs text-muted">{about}</span>}
          </dt>
          <dd className="break-words tabular-nums md:text-right">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const contractQuery = queryOptions({
  queryKey: ['contract', 'Config'],
  queryFn: async ({ signal }) => contractTexts(await api().call('getOpenApi', { signal }), 'Config'),
  staleTime: Number.POSITIVE_INFINITY,
})
