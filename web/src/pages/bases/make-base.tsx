import type { CallInput } from '@boxyard/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { type JobInput, runJob } from '../../api/jobs.ts'
import { boxesQuery, boxSnapshotsQuery } from '../../api/queries.ts'
import { ProjectField, rememberProject, useFirstProject } from '../../shell/project-field.tsx'
import { useRights } from '../../shell/rights.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { OriginFields, useChosenOf } from '../../ui/origin-fields.tsx'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { useSearchState } from '../../ui/search-state.ts'
import { tell, tellError } from '../../ui/toasts.tsx'
import { ArchiveFields, useArchiveUpload } from './archive-source.tsx'

const SOURCES = ['image', 'box', 'snapshot', 'archive'] as const
type Source = (typeof SOURCES)[number]

interface MakeBaseProps {
  /** The form values of a failed attempt. Empty for a new one. */
  again: JobInput
  close(): void
}

/** Creates a base from a box, a snapshot of one, an image of a registry, or an archive. */
export function MakeBase({ again, isOpen, close }: MakeBaseProps & { isOpen: boolean }) {
  return (
    <Dialog
      title="Create base"
      about="New boxes start from a base in milliseconds. Existing boxes never change with it."
      isOpen={isOpen}
      close={close}
    >
      <MakeBaseForm again={again} close={close} />
    </Dialog>
  )
}

function MakeBaseForm({ again, close }: MakeBaseProps) {
  const first = useFirstProject()
  const [chosen, setProject] = useState<string | null>(again['project'] ?? null)
  const { get, change } = useSearchState()
  const source = SOURCES.find((each) => each === get('of')) ?? 'image'
  const { isAdmin, isOfAll } = useRights()
  const project = chosen ?? first
  const ofArchive = useArchiveUpload(project, close)
  const ofOther = useMakeBase(project, source, close)
  const make = source === 'archive' ? ofArchive.upload : ofOther
  return (
    <Form action="Create" isBusy={make.isPending} error={make.error} close={close} send={make.mutate}>
      <div className="grid gap-4 sm:grid-cols-2">
        <ProjectField value={project} change={setProject} />
        <TextField
          label="Name"
          name="name"
          defaultValue={again['name']}
          required
          autoFocus
          autoComplete="off"
          spellCheck={false}
          pattern={NAME_PATTERN}
          hint="a–z, 0–9 and -"
        />
      </div>
      <SelectField
        label="Source"
        value={source}
        disabled={make.isPending}
        onChange={(event) => change({ of: event.target.value })}
      >
        <option value="image">Image from a registry</option>
        <option value="box">Box</option>
        <option value="snapshot">Snapshot of a box</option>
        <option value="archive">Archive from this computer</option>
      </SelectField>
      {source === 'archive' ? (
        <ArchiveFields sent={ofArchive.sent} />
      ) : source === 'image' ? (
        <TextField
          label="Image"
          name="image"
          defaultValue={again['image']}
          required
          maxLength={512}
          spellCheck={false}
          placeholder="debian:12"
          hint="A public image, such as debian:12 or ghcr.io/user/tool:1."
        />
      ) : (
        <BoxSource project={project} source={source} again={again} />
      )}
      {isAdmin && isOfAll && (
        <CheckField
          label="Share with all projects"
          name="shared"
          defaultChecked={again['shared'] !== undefined}
          hint="Every project can create boxes from it."
        />
      )}
    </Form>
  )
}

function BoxSource({ project, source, again }: { project: string; source: Source; again: JobInput }) {
  const { data: boxes = [] } = useQuery(boxesQuery)
  const names = boxes.filter((box) => box.project === project).map(({ name }) => name)
  const [box, choose] = useChosenOf(names, again['box'])
  const isOfSnapshot = source === 'snapshot'
  const ref = { project, name: box }
  const { data: snapshots = [] } = useQuery({ ...boxSnapshotsQuery(ref), enabled: box !== '' && isOfSnapshot })
  const fields = { origin: 'box', snapshot: 'snapshot' }
  const given = { label: 'Box', fields, project, names, origin: box, choose }
  return <OriginFields {...given} snapshots={isOfSnapshot ? snapshots : null} />
}

function useMakeBase(project: string, source: Source, close: () => void) {
  const queries = useQueryClient()
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: ['bases'] })
  return useMutation({
    mutationFn: async (form: FormValues) => {
      const body = bodyOf(form, source)
      const query = { wait_seconds: source === 'image' ? 0 : 20 }
      // The dialog shows an immediate refusal. An image may take minutes, and a notice reports its end.
      const answer = await api().callFully('createBase', { path: { project }, query, body })
      rememberProject(project)
      close()
      const name = body.shared ? body.name : `${project}/${body.name}`
      let isStopped = false
      const stop = (): void => {
        isStopped = true
        const query = { shared: body.shared === true }
        void api()
          .call('deleteBase', { path: { project, base: body.name }, query })
          .catch(tellError)
      }
      const words = `Creating base ${name} from ${form.text('image') || form.text('box')}`
      void runJob({ words, place: 'bases', stop, input: inputOf(form, project, source) }, () => Promise.resolve(answer))
        .then(() => tell(`Created base ${name}.`))
        .catch((error: unknown) => (isStopped ? tell(`Canceled base ${name}.`) : tellError(error)))
        .finally(() => void refresh())
    },
  })
}

/** Values that refill the form. */
function inputOf(form: FormValues, project: string, source: Source): JobInput {
  const given = ['name', 'image', 'box', 'snapshot', 'shared'].filter((field) => form.has(field))
  return { project, source, ...Object.fromEntries(given.map((field) => [field, form.text(field)])) }
}

function bodyOf(form: FormValues, source: Source): CallInput<'createBase'>['body'] {
  return {
    name: form.text('name'),
    ...(source === 'image' ? { image: form.text('image') } : { box: form.text('box') }),
    ...(source === 'snapshot' ? { snapshot: form.text('snapshot') } : {}),
    ...(form.has('shared') ? { shared: true } : {}),
  }
}
