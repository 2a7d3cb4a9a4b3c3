import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { basesQuery, configQuery, sharedBasesQuery } from '../../api/queries.ts'
import { ProjectField, rememberProject, useFirstProject } from '../../shell/project-field.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'

/** Creates a box, and goes to it. */
export function CreateBox({ isOpen, close }: { isOpen: boolean; close(): void }) {
  return (
    <Dialog title="Create a box" about="A Linux of its own, ready in milliseconds." isOpen={isOpen} close={close}>
      <CreateBoxForm close={close} />
    </Dialog>
  )
}

function CreateBoxForm({ close }: { close(): void }) {
  const navigate = useNavigate()
  const { data: config } = useQuery(configQuery)
  const first = useFirstProject()
  const [chosen, setProject] = useState<string | null>(null)
  const project = chosen ?? first
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const create = async ({ text }: FormValues): Promise<void> => {
    const name = text('name')
    setBusy(true)
    setError(null)
    try {
      const size = config?.defaults.config
      await api().createBox(project, {
        name,
        base: text('base'),
        config: { cpus: Number(text('cpus')) || size?.cpus, ram_mb: Number(text('ram_mb')) || size?.ram_mb } as never,
      })
      rememberProject(project)
      close()
      await navigate({ to: '/boxes/$project/$name', params: { project, name } })
    } catch (fault) {
      setError(fault)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Form
      action="Create"
      busy="Creating…"
      isBusy={isBusy}
      error={error}
      close={close}
      send={(form) => void create(form)}
    >
      <BoxFields project={project} setProject={setProject} />
    </Form>
  )
}

function BoxFields({ project, setProject }: { project: string; setProject(project: string): void }) {
  const { data: config } = useQuery(configQuery)
  const { data: shared = [] } = useQuery(sharedBasesQuery)
  const { data: own = [] } = useQuery(basesQuery)
  const bases = [...new Set([...shared, ...own.filter((base) => base.project === project)].map(({ name }) => name))]
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <ProjectField value={project} change={setProject} />
      <TextField
        label="Name"
        name="name"
        required
        autoFocus
        autoComplete="off"
        spellCheck={false}
        pattern={NAME_PATTERN}
        hint="a–z, 0–9 and -"
      />
      <SelectField
        label="Base"
        name="base"
        defaultValue={config?.defaults.base}
        key={`${bases.length} ${config?.defaults.base ?? ''}`}
      >
        {bases.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </SelectField>
      <TextField
        label="Processors"
        name="cpus"
        type="number"
        min="0.1"
        step="0.1"
        defaultValue={config?.defaults.config.cpus}
      />
      <TextField
        label="Memory in MiB"
        name="ram_mb"
        type="number"
        min="16"
        step="1"
        defaultValue={config?.defaults.config.ram_mb}
      />
    </div>
  )
}
