import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import { boxQuery } from '../../../api/queries.ts'
import type { Box } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button } from '../../../ui/button.tsx'
import { FaultForm, FaultRest } from '../../../ui/fault-form.tsx'
import { SelectField, TextField } from '../../../ui/field.tsx'
import { Panel } from '../../../ui/page.tsx'
import { textOf } from '../../boxes/form-text.ts'
import { BoxUrl } from '../box-url.tsx'
import { accessOf, usePublish } from '../use-publish.ts'
import { Domains } from './domains.tsx'

/** Access to the URLs of a box, the port of its own URL, and its other names. */
export function BoxAccess({ box }: { box: Box }) {
  const { canWrite } = useRights()
  const queries = useQueryClient()
  const path = { project: box.project, name: box.name }
  const keep = (after: Box): void => {
    queries.setQueryData(boxQuery(box).queryKey, after)
  }
  const now = accessOf(box)
  const set = usePublish(box, { isOfForm: true })
  const changeDomains = async (what: 'publish' | 'unpublish', domains: string[]): Promise<void> => {
    keep(await api().call(what === 'publish' ? 'publishBox' : 'unpublishBox', { path, body: { domains } }))
  }
  return (
    <Panel title="URLs and access">
      <div className="grid gap-6 md:grid-cols-2">
        <FaultForm
          error={set.error}
          key={`${now.auth} ${now.port}`}
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault()
            const form = new FormData(event.currentTarget)
            const port = Number(textOf(form, 'port'))
            set.mutate({ auth: textOf(form, 'auth') === 'public' ? 'public' : 'token', port: port > 0 ? port : null })
          }}
        >
          {box.url !== null && (
            <BoxUrl box={box} url={box.url} className="break-all underline">
              {box.url}
            </BoxUrl>
          )}
          <SelectField
            label="Access"
            name="auth"
            defaultValue={now.auth}
            disabled={!canWrite}
            hint="Applies to the URLs of its services too."
          >
            <option value="token">Anyone with a project token</option>
            <option value="public">Public</option>
          </SelectField>
          <TextField
            label="Port"
            name="port"
            type="number"
            min="0"
            max="65535"
            placeholder="8080"
            defaultValue={now.port ?? ''}
            disabled={!canWrite}
          />
          {canWrite && (
            <Button type="submit" className="self-start" disabled={set.isPending}>
              Save
            </Button>
          )}
          <FaultRest />
        </FaultForm>
        <Domains domains={box.published_domains} change={canWrite ? changeDomains : null} />
      </div>
    </Panel>
  )
}
