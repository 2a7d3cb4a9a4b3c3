import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { projectsQuery } from '../../api/queries.ts'
import type { Project } from '../../api/records.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { NAME_PATTERN, TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { tell } from '../../ui/toasts.tsx'
import { AMOUNTS, type AmountKey, amountText } from './project-rows.ts'

type Allowed = Record<AmountKey, number | null>

interface SetQuotaProps {
  /** The name of the project; `+`: of one that is named in the dialog, empty: none. */
  name: string
  /** What it has; undefined where it has nothing. */
  project: Project | undefined
  close(): void
}

/** Sets the quota of a project; what exists stays, also beyond it. */
export function SetQuota({ name, project, close }: SetQuotaProps) {
  const isNamed = name !== '+'
  return (
    <Dialog
      title={isNamed ? `Quota of ${name}` : 'Quota of a project'}
      about="What exists stays, also beyond it; nothing is added that goes beyond."
      isOpen={name !== ''}
      close={close}
    >
      <QuotaForm name={isNamed ? name : null} project={project} close={close} />
    </Dialog>
  )
}

function QuotaForm({ name, project, close }: { name: string | null; project: Project | undefined; close(): void }) {
  const queries = useQueryClient()
  const set = useMutation({
    mutationFn: ({ to, allowed }: { to: string; allowed: Allowed | null }) =>
      api().call('updateQuota', { path: { project: to }, body: { allowed } }),
    onSuccess: async (_, { to }) => {
      close()
      // One that was never set goes back to the default.
      const before = project === undefined || project.updated_at === null ? null : (project.allowed as Allowed)
      tell(`The quota of ${to} is set.`, () => set.mutate({ to, allowed: before }))
      await queries.invalidateQueries({ queryKey: projectsQuery.queryKey })
    },
  })
  return (
    <Form
      action="Set"
      isBusy={set.isPending}
      error={set.error}
      close={close}
      send={(form) => set.mutate({ to: name ?? form.text('project'), allowed: allowedOf(form) })}
    >
      {name === null && (
        <TextField
          label="Project"
          name="project"
          required
          autoFocus
          autoComplete="off"
          spellCheck={false}
          pattern={NAME_PATTERN}
          hint="It need not have anything yet."
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        {AMOUNTS.map(({ key, name: word, unit }) => (
          <TextField
            key={key}
            autoFocus={name !== null && key === 'boxes'}
            label={unit === '' ? word : `${word} in ${unit}`}
            name={key}
            type="number"
            min="0"
            step={key === 'boxes' || key === 'ram_mb' ? '1' : 'any'}
            placeholder="no bound"
            defaultValue={project?.allowed[key] ?? ''}
            hint={project ? `It uses ${amountText(project.used[key], null, unit)}.` : undefined}
          />
        ))}
      </div>
      <p className="text-xs text-muted">An empty field is no bound.</p>
    </Form>
  )
}

function allowedOf(form: FormValues): Allowed {
  const valueOf = (key: AmountKey): number | null => (form.text(key) === '' ? null : Number(form.text(key)))
  return {
    boxes: valueOf('boxes'),
    cpus: valueOf('cpus'),
    ram_mb: valueOf('ram_mb'),
    storage_gb: valueOf('storage_gb'),
  }
}
