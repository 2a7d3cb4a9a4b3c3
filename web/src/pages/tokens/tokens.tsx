import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'
import { api } from '../../api/client.ts'
import { meQuery, tokensQuery } from '../../api/queries.ts'
import type { Token } from '../../api/records.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { FilterSelect } from '../../ui/field.tsx'
import { List } from '../../ui/list.tsx'
import { LongTable } from '../../ui/long-table.tsx'
import { useNow } from '../../ui/now.tsx'
import { Page } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { tell, tellError } from '../../ui/toasts.tsx'
import { MintToken } from './mint-token.tsx'
import { tokenColumns } from './token-columns.tsx'
import { mintedWith, selectTokens, tokenState } from './token-list.ts'

/** Lists tokens with their creators, permissions and ends. Creates and revokes them. */
export function TokensPage() {
  const { data: tokens } = useSuspenseQuery(tokensQuery)
  const { data: me } = useSuspenseQuery(meQuery)
  const { get, change } = useSearchState()
  const [revoked, setRevoked] = useState<Token | null>(null)
  const now = useNow()
  const text = useDeferredValue(get('q'))
  const [state, sort] = [get('state') || 'live', get('sort') || '-created']
  const shown = useMemo(() => selectTokens(tokens, { text, state, sort }, now), [tokens, text, state, sort, now])
  const columns = useMemo(() => tokenColumns({ tokens, me, now, revoke: setRevoked }), [tokens, me, now])
  return (
    <Page
      title="Tokens"
      actions={
        <Button kind="primary" onClick={() => change({ dialog: 'create' })}>
          Create token
        </Button>
      }
    >
      <List
        words={['token', 'tokens']}
        total={tokens.length}
        shown={shown.length}
        findBy="Name, project or permission"
        filters={
          <FilterSelect label="State" value={state} onChange={(event) => change({ state: event.target.value })}>
            <option value="live">Active</option>
            <option value="ended">Expired or revoked</option>
            <option value="all">All</option>
          </FilterSelect>
        }
        unfiltered={{ state: 'all' }}
        nextStep="Create one for each program and person, so you can revoke each one separately."
      >
        <LongTable
          label="Tokens"
          grid="grid-cols-[1fr_6rem_5.5rem] md:grid-cols-[1.3fr_1.5fr_1fr_7rem_6rem] lg:grid-cols-[1.3fr_1.5fr_1fr_8rem_6rem_7rem_6rem]"
          columns={columns}
          items={shown}
          keyOf={({ id }) => id}
          sorting={{ by: sort, change: (by) => change({ sort: by === '-created' ? '' : by }) }}
        />
      </List>
      <MintToken isOpen={get('dialog') === 'create'} close={() => change({ dialog: '' })} />
      <Revoke token={revoked} tokens={tokens} ownId={me.id} close={() => setRevoked(null)} />
    </Page>
  )
}

interface RevokeProps {
  /** The token to revoke, or null. */
  token: Token | null
  tokens: readonly Token[]
  /** The token of this session. */
  ownId: string
  close(): void
}

function Revoke({ token, tokens, ownId, close }: RevokeProps) {
  const queries = useQueryClient()
  const now = useNow()
  const revoke = useMutation({
    mutationFn: ({ id }: Token) => api().call('deleteToken', { path: { token: id } }),
    onSuccess: (_, { name }) => tell(`Revoked token ${name}.`),
    onError: tellError,
    onSettled: () => queries.invalidateQueries({ queryKey: tokensQuery.queryKey }),
  })
  const ends = token ? mintedWith(tokens, token.id).filter((each) => tokenState(each, now) === 'live') : []
  const isOwn = token?.id === ownId || ends.some(({ id }) => id === ownId)
  return (
    <Confirm
      title={`Revoke the token ${token?.name}?`}
      about={[
        'The token stops working at once, and its sessions and open connections end.',
        ...(ends.length > 0
          ? [`This also revokes tokens created ${token?.is_session ? 'in' : 'with'} it: ${namesOf(ends)}.`]
          : []),
        ...(isOwn ? ['This ends your own session.'] : []),
      ].join(' ')}
      action="Revoke"
      typed={token?.name}
      isOpen={token !== null}
      close={close}
      act={() => token && revoke.mutate(token)}
    />
  )
}

function namesOf(tokens: readonly Token[]): string {
  const names = tokens.slice(0, NAMED_MAX).map(({ name }) => name)
  const more = tokens.length - names.length
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

const NAMED_MAX = 10
