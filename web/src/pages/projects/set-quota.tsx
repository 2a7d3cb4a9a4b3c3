import type { AnswerOf } from '@boxyard/sdk'
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { projectsQuery } from '../../api/queries.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { Loading } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { tell } from '../../ui/toasts.tsx'
import { AMOUNTS, type AmountKey, amountText } from './project-rows.ts'

type Allowed = Record<AmountKey, number | null>

interface SetQuotaProps {
  /** The name of the project. `+` for one that the dialog asks for, empty for none. */
  name: string
  choose(name: string): void
  close(): void
}

/** Sets the quota of a project. Existing resources stay, even beyond it. */
export function SetQuota({ name, choose, close }: SetQuotaProps) {
  return (
    <Dialog
      title={name === '+' ? 'Set quota' : `Quota of ${name}`}
      about="Existing resources stay, even if they exceed it. New ones must fit."
      isOpen={name !== ''}
      close={close}
    >
      {name === '+' ? <NameForm choose={choose} close={close} /> : <ReadQuota key={name} name={name} close={close} />}
    </Dialog>
  )
}

/** Asks for the name of a project, in order to read its quota before setting anything. */
function NameForm({ choose, close }: Omit<SetQuotaProps, 'name'>) {
  return (
    <Form action="Continue" isBusy={false} error={null} close={close} send={(form) => choose(form.text('project'))}>
      <TextField
        label="Project"
        name="project"
        required
        autoFocus
        autoComplete="off"
        spellCheck={false}
        pattern={NAME_PATTERN}
        hint="It can be a new project."
      />
    </Form>
  )
}

function ReadQuota({ name, close }: { name: string; close(): void }) {
  const { data: quota, error, refetch } = useQuery(quotaQuery(name))
  if (quota !== undefined) return <QuotaForm name={name} quota={quota} close={close} />
  return error === null ? <Loading /> : <Problem error={error} retry={() => void refetch()} />
}

function QuotaForm({ name, quota, close }: { name: string; quota: AnswerOf<'getQuota'>; close(): void }) {
  const queries = useQueryClient()
  // The initial values of the form, whatever is reloaded.
  const [{ allowed: shown, used, updated_at: setAt }] = useState(quota)
  const set = useMutation({
    mutationFn: (allowed: Allowed | null) => api().call('updateQuota', { path: { project: name }, body: { allowed } }),
    onSuccess: async () => {
      close()
      // A quota that was never set returns to the default.
      const before = setAt === null ? null : (shown as Allowed)
      tell(`Saved the quota of ${name}.`, () => set.mutate(before))
      await queries.invalidateQueries({ queryKey: projectsQuery.queryKey })
    },
  })
  return (
    <Form
      action="Save"
      isBusy={set.isPending}
      error={set.error}
      close={close}
      send={(form) => set.mutate(allowedOf(form))}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        {AMOUNTS.map(({ key, name: word, unit }) => (
          <TextField
            key={key}
            autoFocus={key === 'boxes'}
            label={unit === '' ? word : `${word} in ${unit}`}
            name={key}
            type="number"
            min="0"
            step={key === 'boxes' || key === 'ram_mb' ? '1' : 'any'}
            placeholder="unlimited"
            defaultValue={shown[key] ?? ''}
            hint={`In use: ${amountText(used[key], null, unit)}`}
          />
        ))}
      </div>
      <p className="text-xs text-muted">An empty field means unlimited.</p>
    </Form>
  )
}

function allowedOf(form: FormValues): Allowed {
  const apiNames = (key: AmountKey): number | null => (form.text(key) === '' ? null : Number(form.text(key)))
  return {
    boxes: apiNames('boxes'),
    cpus: apiNames('cpus'),
    ram_mb: apiNames('ram_mb'),
    storage_gb: apiNames('storage_gb'),
  }
}

/** The quota of a project and its use, even if the project is still empty. */
const quotaQuery = (project: string) =>
  queryOptions({
    // While its dialog closes there is none.
    enabled: project !== '',
    queryKey: [...projectsQuery.queryKey, project],
    queryFn: ({ signal }) => api().call('getQuota', { path: { project }, signal }),
    staleTime: 0,
    gcTime: 0,
  })
