import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { type MouseEvent, type ReactNode, useState } from 'react'
import { api } from '../../api/client.ts'
import { webAddress } from '../../api/own-path.ts'
import { meQuery, tokensQuery } from '../../api/queries.ts'
import type { Box } from '../../api/records.ts'
import { useRights } from '../../shell/rights.ts'
import { Button, buttonStyle } from '../../ui/button.tsx'
import { CodeLine, copyText } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Problem } from '../../ui/problem.tsx'
import { livesWithin } from '../tokens/life.ts'
import { accessOf, usePublish } from './use-publish.ts'
import { VISIT_SECONDS, VISITS_KEPT, wasTold, withVisit } from './visits.ts'

interface BoxUrlProps {
  box: Box
  url: string
  className?: string
  /** Names the link where it shows no text. */
  label?: string
  children: ReactNode
}

/** A link to a URL of a box. Of a private one it says before, once in the time of a sign-in there, what the page asks for. */
export function BoxUrl({ box, url, className = 'underline', label, children }: BoxUrlProps) {
  const [isAsking, setAsking] = useState(false)
  const address = webAddress(url)
  if (address === null) return <span className="break-all">{children}</span>
  const { host } = new URL(address)
  const ask = (event: MouseEvent): void => {
    const isOther = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    if (isOther || box.url_settings.auth === 'public') return
    if (wasTold(localStorage.getItem(VISITS_KEPT), host, Date.now())) return
    event.preventDefault()
    setAsking(true)
  }
  return (
    <>
      <a
        href={address}
        target="_blank"
        rel="noreferrer"
        aria-label={label}
        title={label}
        className={className}
        onClick={ask}
      >
        {children}
      </a>
      <Dialog
        title={`Open ${host}`}
        about={`This URL is private. The new tab asks for a token that can read ${box.project}, once every seven days.`}
        isOpen={isAsking}
        close={() => setAsking(false)}
      >
        <Ways box={box} address={address} close={() => setAsking(false)} />
      </Dialog>
    </>
  )
}

/** The ways into a private URL: a token for it, one that the user has, or no token for anybody. */
function Ways({ box, address, close }: { box: Box; address: string; close(): void }) {
  const { canWrite } = useRights()
  const mint = useVisitToken(box)
  const publish = usePublish(box)
  const token = mint.data?.token ?? null
  return (
    <div className="flex flex-col gap-4">
      {mint.error !== null && <Problem error={mint.error} />}
      {token !== null && (
        <>
          <p role="status">
            Paste this token there. It can only read {box.project}, and works for all URLs of that project. It is shown
            only once.
          </p>
          <CodeLine text={token} />
        </>
      )}
      <div className="flex flex-wrap gap-2">
        {token === null && (
          <Button kind="primary" disabled={mint.isPending} onClick={() => mint.mutate()}>
            Create a token
          </Button>
        )}
        <a
          href={address}
          target="_blank"
          rel="noreferrer"
          className={buttonStyle(token === null ? 'plain' : 'primary')}
          onClick={({ currentTarget }) => {
            keepTold(address)
            // It stays on screen, should the browser not copy it.
            if (token === null) close()
            else void copyText(token, currentTarget)
          }}
        >
          {token === null ? 'I have a token' : 'Copy and open'}
        </a>
      </div>
      {canWrite && (
        <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-t border-line pt-4">
          <p className="min-w-0 flex-1 basis-56 text-muted">
            Or make the URLs of {box.name} and its services public. Then anyone who can reach them can open them.
          </p>
          <Button
            disabled={publish.isPending}
            onClick={() => publish.mutate({ ...accessOf(box), auth: 'public' }, { onSuccess: close })}
          >
            Make public
          </Button>
        </div>
      )}
    </div>
  )
}

function keepTold(url: string): void {
  localStorage.setItem(VISITS_KEPT, withVisit(localStorage.getItem(VISITS_KEPT), new URL(url).host, Date.now()))
}

/** Mints a token that may read the project of a box, for as long as a sign-in lasts or else as long as the minter may. */
function useVisitToken({ project, name }: Box) {
  const { data: me } = useSuspenseQuery(meQuery)
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () => {
      const { expires_at: minterEnds } = me.on_behalf_of ?? me
      const isWithin = livesWithin(minterEnds, Date.now()).some(({ seconds }) => seconds === VISIT_SECONDS)
      const body = { name: visitorName(name), projects: [project], permissions: ['read' as const] }
      return api().call('createToken', { body: { ...body, expires_in_seconds: isWithin ? VISIT_SECONDS : null } })
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: tokensQuery.queryKey }),
  })
}

/** Returns the name of a token for the URLs of a box, which is as short as names are. */
function visitorName(box: string): string {
  return `visit-${box}`.slice(0, 63).replace(/-+$/, '')
}
