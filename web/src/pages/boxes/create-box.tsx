import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { boxesQuery, configQuery } from '../../api/queries.ts'
import { ProjectField, rememberProject, useFirstProject } from '../../shell/project-field.tsx'
import { useRights } from '../../shell/rights.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { createBodyOf } from './box-form.ts'
import { BaseField, MoreOptions } from './box-options.tsx'
import { suggestedName } from './suggested-name.ts'

/** Creates a box and opens its terminal or page. */
export function CreateBox({ isOpen, close }: { isOpen: boolean; close(): void }) {
  return (
    <Dialog title="Create box" about="A complete Linux, ready in milliseconds." isOpen={isOpen} close={close}>
      <CreateBoxForm close={close} />
    </Dialog>
  )
}

function CreateBoxForm({ close }: { close(): void }) {
  const navigate = useNavigate()
  const { canExec, isOfAll, canRead } = useRights()
  const { data: config } = useQuery(configQuery)
  const { data: boxes } = useQuery({ ...boxesQuery, enabled: canRead })
  const first = useFirstProject()
  const [chosen, setProject] = useState<string | null>(null)
  // The first project gets the name that the documentation uses.
  const project = chosen ?? (first === '' && isOfAll && boxes?.length === 0 ? 'demo' : first)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const create = async (form: FormValues): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      const body = createBodyOf(form, config?.defaults.config)
      const params = { project, name: body.name }
      await api().createBox(project, body)
      rememberProject(project)
      close()
      const isOpened = canExec && !form.isAlternative
      await navigate({ to: isOpened ? '/boxes/$project/$name/terminal' : '/boxes/$project/$name', params })
    } catch (fault) {
      setError(fault)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Form
      action={canExec ? 'Create and open terminal' : 'Create'}
      {...(canExec ? { alternative: 'Create' } : {})}
      busy="Creating…"
      isBusy={isBusy}
      error={error}
      close={close}
      send={(form) => void create(form)}
    >
      <BoxFields project={project} setProject={setProject} />
      <MoreOptions project={project} />
    </Form>
  )
}

function BoxFields({ project, setProject }: { project: string; setProject(project: string): void }) {
  const { data: config } = useQuery(configQuery)
  const { data: boxes = [] } = useQuery(boxesQuery)
  const [suggested] = useState(() => suggestedName(boxes.map(({ name }) => name)))
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <ProjectField value={project} change={setProject} />
      <TextField
        label="Name"
        name="name"
        required
        autoFocus
        data-first
        autoComplete="off"
        spellCheck={false}
        pattern={NAME_PATTERN}
        defaultValue={suggested}
        hint="a–z, 0–9 and -"
      />
      <BaseField project={project} />
      <TextField
        label="CPU"
        name="cpus"
        type="number"
        min="0.1"
        step="0.1"
        defaultValue={config?.defaults.config.cpus}
        hint="Cores"
      />
      <TextField
        label="Memory in MiB"
        name="ram_mb"
        type="number"
        min="16"
        step="1"
        defaultValue={config?.defaults.config.ram_mb}
      />
      <TextField
        label="Disk in GiB"
        name="storage_gb"
        type="number"
        min="0.01"
        step="any"
        defaultValue={config?.defaults.config.storage_gb}
      />
    </div>
  )
}
