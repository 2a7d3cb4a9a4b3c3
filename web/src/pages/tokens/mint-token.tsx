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
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { timeText } from '../../ui/words.ts'
import { livesWithin } from './life.ts'
import { projectsText } from './token-list.ts'

type Minted = AnswerOf<'createToken'>

/** Mints a token that may do no more than the session, and shows it once. */
export function MintToken({ isOpen, close }: { isOpen: boolean; close(): void }) {
  const [minted, setMinted] = useState<Minted | null>(null)
  const end = (): void => {
    setMinted(null)
    close()
  }
  return (
    <Dialog
      title={minted ? `The token ${minted.name}` : 'Mint a token'}
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
        Copy it now: it is shown this once, and nobody can read it again.
      </p>
      <CodeLine text={minted.token ?? ''} />
      <p className="text-muted">
        {minted.permissions.join(', ')} in {projectsText(minted.projects)};{' '}
        {minted.expires_at === null ? 'without an end' : `until ${timeText(minted.expires_at)}`}. Log in with it by{' '}
        <code>boxyard login</code>, or set <code>BOXYARD_TOKEN</code>.
      </p>
      <div className="dialog-buttons flex justify-end">
        <Button kind="primary" onClick={close}>
          I have it
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
      action="Mint"
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
        hint="Who or what it is for, such as ci"
      />
      <Projects me={me} isAll={isAll} setAll={setAll} />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 text-sm font-medium">It may</legend>
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
  if (me.projects !== '*') {
    return (
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 text-sm font-medium">In</legend>
        {me.projects.map((each) => (
          <CheckField key={each} label={each} name={`project ${each}`} defaultChecked={each === first} />
        ))}
      </fieldset>
    )
  }
  return (
    <div className="flex flex-col gap-2">
      <CheckField label="In all projects, also new ones" checked={isAll} onChange={() => setAll(!isAll)} />
      {!isAll && (
        <TextField
          label="Projects"
          name="projects"
          required
          autoComplete="off"
          spellCheck={false}
          key={first}
          defaultValue={first}
          hint={`With commas between them${known.length > 0 ? `; there are ${known.slice(0, 8).join(', ')}` : ''}.`}
        />
      )}
    </div>
  )
}

function Life({ me }: { me: Me }) {
  const { expires_at: minterEnds } = me.stands_for ?? me
  const lives = livesWithin(minterEnds, Date.now())
  return (
    <SelectField
      label="It ends"
      name="life"
      apiNames={['expires_in_seconds']}
      defaultValue={lives.find(({ words }) => words === '30 days')?.seconds ?? ''}
    >
      {lives.map(({ seconds, words }) => (
        <option key={seconds} value={seconds}>
          after {words}
        </option>
      ))}
      <option value="">{minterEnds === null ? 'never' : `with yours, ${timeText(minterEnds)}`}</option>
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
  'It may do what you choose of what you may yourself. It lives on when you sign out, and ends with the token that you signed in with at the latest.'
const MEANINGS: Readonly<Record<string, string>> = {
  read: 'sees boxes, their files, volumes and events',
  write: 'makes, changes and deletes them',
  exec: 'runs commands and opens terminals',
  ports: 'connects to TCP ports of boxes',
  admin: 'reads the audit log and the storage; in all projects also manages tokens of others and quotas',
}
