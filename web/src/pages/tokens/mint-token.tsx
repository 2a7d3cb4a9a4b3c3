import type { AnswerOf, CallInput } from '@boxyard/sdk'
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { meQuery, tokensQuery } from '../../api/queries.ts'
import type { Me } from '../../api/records.ts'
import { rememberProject, useFirstProject, useKnownProjects } from '../../shell/project-field.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeLine } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { useOwnValue } from '../../ui/own-value.ts'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { timeText } from '../../ui/words.ts'
import { livesWithin } from './life.ts'
import { projectsText } from './token-list.ts'

type Minted = AnswerOf<'createToken'>

/** Creates a token with at most the permissions of the session, and shows it once. */
export function MintToken({ isOpen, close }: { isOpen: boolean; close(): void }) {
  const [minted, setMinted] = useState<Minted | null>(null)
  const end = (): void => {
    setMinted(null)
    close()
  }
  return (
    <Dialog
      title={minted ? `Token ${minted.name}` : 'Create token'}
      about={minted ? undefined : ABOUT}
      isOpen={isOpen}
      isKept={minted !== null}
      close={end}
    >
      {minted ? <ShowOnce minted={minted} close={end} /> : <MintForm close={close} show={setMinted} />}
    </Dialog>
  )
}

function ShowOnce({ minted, close }: { minted: Minted; close(): void }) {
  return (
    <div className="flex flex-col gap-4">
      <p role="status" className="rounded-md bg-warn-soft p-3">
        Copy the token now. It is shown only once.
      </p>
      <CodeLine text={minted.token ?? ''} />
      <p className="text-muted">
        {minted.permissions.join(', ')} in {projectsText(minted.projects)},{' '}
        {minted.expires_at === null ? 'never expires' : `expires ${timeText(minted.expires_at)}`}. Log in with{' '}
        <code>boxyard login</code>, or set <code>BOXYARD_TOKEN</code>.
      </p>
      <div className="dialog-buttons flex justify-end">
        <Button kind="primary" onClick={close}>
          Done
        </Button>
      </div>
    </div>
  )
}

function MintForm({ close, show }: { close(): void; show(minted: Minted): void }) {
  const { data: me } = useSuspenseQuery(meQuery)
  const queries = useQueryClient()
  const [isAll, setAll] = useState(false)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(['read']))
  const mint = useMutation({
    mutationFn: (body: CallInput<'createToken'>['body']) => api().call('createToken', { body }),
    onSuccess: async (minted) => {
      const [only, ...others] = minted.projects === '*' ? [] : minted.projects
      if (only !== undefined && others.length === 0) rememberProject(only)
      show(minted)
      await queries.invalidateQueries({ queryKey: tokensQuery.queryKey })
    },
  })
  const permissions = me.permissions.filter((each) => chosen.has(each))
  const send = (form: FormValues): void => {
    const life = Number(form.text('life'))
    const named = projectsOf(form, me)
    mint.mutate({
      name: form.text('name'),
      projects: isAll ? '*' : named,
      permissions,
      expires_in_seconds: life > 0 ? life : null,
    })
  }
  return (
    <Form
      action="Create token"
      isBusy={mint.isPending}
      isReady={permissions.length > 0}
      error={mint.error}
      close={close}
      send={send}
    >
      <TextField
        label="Name"
        name="name"
        required
        autoFocus
        autoComplete="off"
        spellCheck={false}
        pattern={NAME_PATTERN}
        hint="A person or program, such as ci"
      />
      <Projects me={me} isAll={isAll} setAll={setAll} />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 text-sm font-medium">Permissions</legend>
        {me.permissions.map((each) => (
          <CheckField
            key={each}
            label={each}
            hint={MEANINGS[each] ?? ''}
            checked={chosen.has(each)}
            onChange={() =>
              setChosen(
                new Set(
                  permissions.includes(each) ? permissions.filter((one) => one !== each) : [...permissions, each],
                ),
              )
            }
          />
        ))}
      </fieldset>
      <Life me={me} />
    </Form>
  )
}

function Projects({ me, isAll, setAll }: { me: Me; isAll: boolean; setAll(isAll: boolean): void }) {
  const known = useKnownProjects()
  const first = useFirstProject()
  const named = useOwnValue(first)
  if (me.projects !== '*') {
    return (
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 text-sm font-medium">Projects</legend>
        {me.projects.map((each) => (
          <CheckField key={each} label={each} name={`project ${each}`} defaultChecked={each === first} />
        ))}
      </fieldset>
    )
  }
  return (
    <div className="flex flex-col gap-2">
      <CheckField label="All projects, including future ones" checked={isAll} onChange={() => setAll(!isAll)} />
      {!isAll && (
        <TextField
          label="Projects"
          name="projects"
          required
          autoComplete="off"
          spellCheck={false}
          {...named}
          hint={`Separate names with commas.${known.length > 0 ? ` Existing: ${known.slice(0, 8).join(', ')}.` : ''}`}
        />
      )}
    </div>
  )
}

function Life({ me }: { me: Me }) {
  const { expires_at: minterEnds } = me.on_behalf_of ?? me
  const lives = livesWithin(minterEnds, Date.now())
  return (
    <SelectField
      label="Expires"
      name="life"
      apiNames={['expires_in_seconds']}
      defaultValue={lives.find(({ words }) => words === '30 days')?.seconds ?? ''}
    >
      {lives.map(({ seconds, words }) => (
        <option key={seconds} value={seconds}>
          in {words}
        </option>
      ))}
      <option value="">{minterEnds === null ? 'never' : `with your token, ${timeText(minterEnds)}`}</option>
    </SelectField>
  )
}

function projectsOf(form: FormValues, me: Me): string[] {
  if (me.projects !== '*') return me.projects.filter((each) => form.has(`project ${each}`))
  return form
    .text('projects')
    .split(/[\s,]+/)
    .filter(Boolean)
}

const ABOUT =
  'A token can have at most your own permissions. It stays valid when you sign out, and expires no later than your own token.'
const MEANINGS: Readonly<Record<string, string>> = {
  read: 'see boxes, files, volumes and activity',
  write: 'create, change and delete them',
  exec: 'run commands and open terminals',
  ports: 'connect to TCP ports of boxes',
  admin: 'read the audit log and storage. With all projects: manage all tokens and quotas',
}
