import { useQuery } from '@tanstack/react-query'
import { meQuery } from '../api/queries.ts'
import { hasSession, type LinkFacts, readLink } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'
import { timeText } from '../ui/words.ts'

interface LinkQuestionProps {
  /** Ticket of the link, or `''` for an incomplete one. */
  ticket: string
  /** Why the last sign-in failed, or null. */
  error: unknown
  isBusy: boolean
  accept(): void
  decline(): void
}

/**
 * Asks before a sign-in link signs in, because its sender may want this browser to work with the sender's token. Only its button signs in.
 * The button is not focused, so a key that is held down does not press it.
 */
export function LinkQuestion({ ticket, error, isBusy, accept, decline }: LinkQuestionProps) {
  const isWhole = ticket !== ''
  const link = useQuery({
    queryKey: ['link', ticket],
    queryFn: () => readLink(ticket),
    enabled: isWhole,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const fault = error ?? link.error ?? (isWhole ? null : new Error(NOT_WHOLE))
  const name = link.data?.token.name
  return (
    <form
      aria-label="Sign in with a link"
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        if (name !== undefined && !isBusy) accept()
      }}
    >
      <h2 className="text-lg font-semibold">{name === undefined ? 'A sign-in link' : `Sign in as ${name}?`}</h2>
      {link.isFetching && <p role="status">Checking the link…</p>}
      {link.data !== undefined && <LinkFactsList facts={link.data} />}
      {link.data !== undefined && <Present />}
      {fault !== null && <Problem error={fault} retry={() => void link.refetch()} />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={decline}>{fault === null ? 'Cancel' : 'Back'}</Button>
        {name !== undefined && (
          <Button type="submit" kind="primary" disabled={isBusy}>
            {isBusy ? 'Signing in…' : `Sign in as ${name}`}
          </Button>
        )}
      </div>
    </form>
  )
}

function LinkFactsList({ facts: { token, expires_at } }: { facts: LinkFacts }) {
  const { projects, permissions } = token
  const shown = projects === '*' ? 'all projects, including future ones' : projects.slice(0, SHOWN).join(', ')
  const more = projects === '*' ? 0 : projects.length - SHOWN
  const rows = [
    ['Deployment', location.host],
    ['Token', `${token.name} (${token.id})`],
    ['Projects', more > 0 ? `${shown} and ${more} more` : shown],
    ['Permissions', permissions.join(', ')],
    ['Session ends', timeText(expires_at)],
  ] as const
  return (
    <>
      <p>Sign in only if you created or requested this link. Everything you do will be done as this token.</p>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {rows.map(([label, text]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="wrap-anywhere">{text}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}

/** Shows the currently signed-in user, whose session a sign-in ends. */
function Present() {
  const isSignedIn = hasSession()
  const { data: me } = useQuery({ ...meQuery, enabled: isSignedIn })
  if (!isSignedIn) return null
  const name = me === undefined ? 'signed in' : `signed in as ${(me.on_behalf_of ?? me).name}`
  return <p className="rounded-md bg-warn-soft p-3">You are {name}. Signing in ends that session.</p>
}

const SHOWN = 5
const NOT_WHOLE = 'This link is not complete. Copy the whole link, or request a new one.'
