import type { Me, Token } from '../../api/records.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/long-table.tsx'
import { Ago } from '../../ui/now.tsx'
import { Chip, Status } from '../../ui/status.tsx'
import { projectsText, tokenState } from './token-list.ts'

interface Deps {
  tokens: readonly Token[]
  me: Me
  now: number
  revoke(token: Token): void
}

/** Returns the columns of the list of tokens. */
export function tokenColumns({ tokens, me, now, revoke }: Deps): Column<Token>[] {
  const names = new Map(tokens.map(({ id, name }) => [id, name]))
  // A session creates tokens in the name of its token.
  const own = me.on_behalf_of ?? me
  const minterOf = ({ created_by: by }: Token): string =>
    by === null ? 'the host' : by === own.id ? `${own.name} (you)` : (names.get(by) ?? by)
  return [
    {
      name: 'Name',
      sort: 'name',
      of: (token) => (
        <>
          <span className="font-medium break-all" title={token.id}>
            {token.name}
          </span>
          {token.id === me.id && <span className="text-muted"> (this session)</span>}
          <span className="block text-xs text-muted md:hidden">
            {projectsText(token.projects)}: {token.permissions.join(', ')}
          </span>
        </>
      ),
    },
    {
      name: 'Permissions',
      from: 'md',
      of: ({ permissions }) => (
        <span className="flex flex-wrap gap-1">
          {permissions.map((each) => (
            <Chip key={each}>{each}</Chip>
          ))}
        </span>
      ),
    },
    {
      name: 'Projects',
      from: 'md',
      of: ({ projects }) => <span className="break-words">{projectsText(projects)}</span>,
    },
    { name: 'Created by', from: 'lg', of: (token) => <span className="break-all">{minterOf(token)}</span> },
    { name: 'Created', sort: '-created', from: 'lg', of: ({ created_at }) => <Ago time={created_at} /> },
    {
      name: 'Expires',
      sort: 'expires',
      of: (token) => <End token={token} now={now} />,
    },
    {
      name: '',
      of: (token) =>
        tokenState(token, now) === 'live' && (
          <span className="flex justify-end">
            <Button aria-label={`Revoke ${token.name}`} onClick={() => revoke(token)}>
              Revoke
            </Button>
          </span>
        ),
    },
  ]
}

function End({ token, now }: { token: Token; now: number }) {
  const state = tokenState(token, now)
  if (state === 'live') return token.expires_at === null ? 'never' : <Ago time={token.expires_at} />
  return (
    <>
      <Status status={state} />
      <span className="block text-xs text-muted">
        <Ago time={state === 'revoked' ? token.revoked_at : token.expires_at} />
      </span>
    </>
  )
}
