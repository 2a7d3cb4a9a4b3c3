import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Ref, Service } from '../../../api/records.ts'
import { Dialog } from '../../../ui/dialog.tsx'
import { SelectField, TextAreaField, TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { NAME_PATTERN } from '../../../ui/refusal-words.ts'
import { tell } from '../../../ui/toasts.tsx'
import { textOf } from '../../boxes/form-text.ts'
import { joinCommand } from '../commands/command-words.ts'
import { servicesQuery } from './queries.ts'
import { READINESS_KINDS, RESTARTS, readinessFields, specOfForm, variableLines } from './service-form.ts'

interface DefineServiceProps {
  box: Ref
  /** The service whose definition changes, or null for a new one. */
  service: Service | null
  isOpen: boolean
  close(): void
}

/** Defines a service and starts it, or changes what its next start uses. */
export function DefineService({ box, service, isOpen, close }: DefineServiceProps) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const put = useMutation({
    mutationFn: (form: FormData) => {
      const name = service?.name ?? textOf(form, 'name')
      const path = { project: box.project, name: box.name, service: name }
      return api().call('putService', { path, body: specOfForm(form, service?.spec ?? null) })
    },
    onSuccess: async ({ name }) => {
      close()
      tell(service === null ? `Added and started ${name}.` : `Updated ${name}. The next start uses the new definition.`)
      await queries.invalidateQueries({ queryKey: servicesQuery(box).queryKey })
      const params = { project: box.project, name: box.name }
      if (service === null) await navigate({ to: '/boxes/$project/$name/services', params, search: { service: name } })
    },
  })
  return (
    <Dialog
      title={service === null ? 'Add service' : `Edit ${service.name}`}
      about={
        service === null
          ? 'A program that starts with the box and restarts when it exits.'
          : 'Applies at the next start. To switch without downtime, deploy a version instead.'
      }
      isOpen={isOpen}
      close={close}
    >
      <Form
        action={service === null ? 'Add and start' : 'Save'}
        busy="Starting…"
        isBusy={put.isPending}
        error={put.error}
        close={close}
        send={({ all }) => put.mutate(all)}
      >
        <ServiceFields service={service} />
      </Form>
    </Dialog>
  )
}

function ServiceFields({ service }: { service: Service | null }) {
  const spec = service?.spec ?? null
  return (
    <>
      {service === null && (
        <TextField label="Name" name="name" required autoComplete="off" spellCheck={false} pattern={NAME_PATTERN} />
      )}
      <CommandField value={spec === null ? '' : joinCommand(spec.command)} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Port"
          name="port"
          type="number"
          min="0"
          max="65535"
          placeholder="none"
          defaultValue={spec?.port ?? ''}
          hint="The service gets it as PORT, and a URL."
        />
        <SelectField label="Restart policy" name="restart" defaultValue={spec?.restart ?? 'always'}>
          {RESTARTS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </SelectField>
        <ReadinessFields spec={spec} />
        <TextField
          label="Directory"
          name="cwd"
          pattern="/.*"
          placeholder="home directory"
          defaultValue={spec?.cwd ?? ''}
        />
        <TextField label="User" name="user" placeholder="root" defaultValue={spec?.user ?? ''} />
      </div>
      <TextAreaField
        label="Environment"
        name="env"
        rows={3}
        placeholder="NAME=VALUE"
        defaultValue={variableLines(spec?.env ?? {})}
      />
    </>
  )
}

/** The words of a program. */
export function CommandField({ value }: { value: string }) {
  return (
    <TextAreaField
      label="Command"
      name="command"
      required
      autoComplete="off"
      autoCapitalize="off"
      defaultValue={value}
      hint="A program and its arguments. Quote arguments with spaces. Use sh -c '…' for shell syntax."
    />
  )
}

function ReadinessFields({ spec }: { spec: Service['spec'] | null }) {
  const start = readinessFields(spec)
  const [kind, setKind] = useState<string>(start.kind)
  return (
    <>
      <SelectField label="Ready when" name="readiness" value={kind} onChange={(event) => setKind(event.target.value)}>
        {READINESS_KINDS.map((each) => (
          <option key={each} value={each}>
            {READINESS_WORDS[each]}
          </option>
        ))}
      </SelectField>
      {kind === 'http' || kind === 'command' ? (
        <TextField
          key={kind}
          label={kind === 'http' ? 'Path' : 'Probe command'}
          name="probe"
          apiNames={['readiness']}
          required
          defaultValue={kind === start.kind ? start.value : kind === 'http' ? '/' : ''}
        />
      ) : (
        <span className="max-sm:hidden" />
      )}
    </>
  )
}

const READINESS_WORDS: Record<(typeof READINESS_KINDS)[number], string> = {
  none: 'it runs',
  http: 'an HTTP path responds',
  tcp: 'its port accepts connections',
  command: 'a command succeeds',
}
