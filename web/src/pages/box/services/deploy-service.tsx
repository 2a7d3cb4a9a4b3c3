import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Ref, Service } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Dialog } from '../../../ui/dialog.tsx'
import { CheckField, TextAreaField, TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { tell } from '../../../ui/toasts.tsx'
import { textOf } from '../../boxes/form-text.ts'
import { joinCommand } from '../commands/command-words.ts'
import { CommandField } from './define-service.tsx'
import { serviceQuery, servicesQuery } from './queries.ts'
import { programOfForm, variableLines } from './service-form.ts'

interface DeployServiceProps {
  box: Ref
  service: Service
  isOpen: boolean
  close(): void
}

/** Starts a version of a service beside the active one. */
export function DeployService({ box, service, isOpen, close }: DeployServiceProps) {
  const queries = useQueryClient()
  const { canWrite } = useRights()
  const deploy = useMutation({
    mutationFn: async (form: FormData) => {
      const path = { project: box.project, name: box.name, service: service.name }
      const { command, env } = programOfForm(form, service.spec)
      const body = {
        command,
        // A user who cannot see the variables keeps them.
        ...(canWrite ? { env } : {}),
        isolation: form.has('fork') ? ('fork' as const) : ('process' as const),
        copy_data: form.has('fork') && form.has('copy_data'),
        ready_seconds: Number(textOf(form, 'seconds')),
      }
      const { headers } = await api().callFully('deployService', { path, body })
      const operation = headers.get('operation-location')
      if (operation !== null) await api().waitForOperation(operation)
      return queries.query({ ...serviceQuery(box, service.name), staleTime: 0 })
    },
    onSuccess: ({ preview }) => {
      close()
      const isFailed = preview === null || preview.state === 'failed'
      tell(
        isFailed
          ? `The new version of ${service.name} failed. See its preview.`
          : `Deployed a preview of ${service.name}.`,
      )
    },
    onSettled: () => queries.invalidateQueries({ queryKey: servicesQuery(box).queryKey }),
  })
  return (
    <Dialog
      title={`Deploy a version of ${service.name}`}
      about="Starts next to the active version with its own URL. It receives no traffic until you promote it."
      isOpen={isOpen}
      close={close}
    >
      <Form
        action="Deploy"
        busy="Waiting until ready…"
        isBusy={deploy.isPending}
        error={deploy.error}
        close={close}
        send={({ all }) => deploy.mutate(all)}
      >
        <DeployFields spec={service.spec} canSeeVariables={canWrite} />
      </Form>
    </Dialog>
  )
}

function DeployFields({ spec, canSeeVariables }: { spec: Service['spec']; canSeeVariables: boolean }) {
  const [isFork, setFork] = useState(false)
  return (
    <>
      <CommandField value={joinCommand(spec.command)} />
      {canSeeVariables && (
        <TextAreaField
          label="Environment"
          name="env"
          rows={3}
          placeholder="NAME=VALUE"
          defaultValue={variableLines(spec.env)}
        />
      )}
      <TextField
        label="Ready timeout in seconds"
        name="seconds"
        apiNames={['ready_seconds']}
        type="number"
        min="1"
        max="3600"
        defaultValue="60"
      />
      <CheckField
        label="Run in a copy of the box"
        name="fork"
        apiNames={['isolation']}
        checked={isFork}
        onChange={(event) => setFork(event.target.checked)}
        hint="Other versions do not see its changes to the disk. Data volumes are read-only."
      />
      {isFork && <CheckField label="Copy the data volumes, so it can write to them" name="copy_data" />}
    </>
  )
}
