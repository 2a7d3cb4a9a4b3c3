import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { readCredential } from '../api/credential.ts'
import { dropLink, linkKept, takeLink } from '../api/link-ticket.ts'
import { ownPath } from '../api/own-path.ts'
import { type Credential, hasSession, reasonKept, signIn } from '../api/session.ts'
import { usePageSearch } from '../shell/page-search.ts'
import { Button } from '../ui/button.tsx'
import { FaultForm, FaultRest } from '../ui/fault-form.tsx'
import { TextField } from '../ui/field.tsx'
import { useTitle } from '../ui/page.tsx'
import { LinkQuestion } from './link-question.tsx'

/** Begins a session with a pasted token, or with a sign-in link, which asks first. */
export function SignIn() {
  useTitle('Sign in')
  const { to } = usePageSearch<{ to: string }>()
  const reason = reasonKept()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const [link, setLink] = useLink()

  const leave = (): Promise<void> => navigate({ href: ownPath(to), replace: true })
  const begin = async (credential: Credential): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      await signIn(credential)
      queries.clear()
      await leave()
    } catch (fault) {
      setError(fault)
    } finally {
      setBusy(false)
    }
  }
  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <div className="w-full max-w-md rounded-lg border border-line bg-panel p-6">
        <div className="mb-5 flex items-center gap-3">
          <img src="/icon.svg" alt="" className="size-9" />
          <h1 className="text-xl font-semibold">Sign in to Boxyard</h1>
        </div>
        {reason !== null && error === null && (
          <p role="status" className="mb-4 rounded-md bg-warn-soft p-3">
            {reason}
          </p>
        )}
        {link === null ? (
          <TokenForm
            error={error}
            isBusy={isBusy}
            begin={(credential) => {
              if ('ticket' in credential) setLink(credential.ticket)
              else void begin(credential)
            }}
          />
        ) : (
          <LinkQuestion
            key={link}
            ticket={link}
            error={error}
            isBusy={isBusy}
            accept={() => void begin({ ticket: link })}
            decline={() => {
              setLink(null)
              setError(null)
              if (hasSession()) void leave()
            }}
          />
        )}
        <p className="mt-5 text-muted">
          Or open the one-time link that <code>npm run up</code> or <code>boxyard console-url</code> prints.
        </p>
      </div>
    </main>
  )
}

/** Returns the ticket of the link that opened the page, or that was pasted into its address bar since, or null. */
function useLink(): [string | null, (ticket: string | null) => void] {
  const [link, setLink] = useState(linkKept)
  useEffect(() => {
    const look = (): void => {
      takeLink()
      const ticket = linkKept()
      if (ticket !== null) setLink(ticket)
      dropLink()
    }
    look()
    addEventListener('hashchange', look)
    return () => removeEventListener('hashchange', look)
  }, [])
  return [link, setLink]
}

function TokenForm({ error, isBusy, begin }: { error: unknown; isBusy: boolean; begin(credential: Credential): void }) {
  const [token, setToken] = useState('')
  const [isNone, setNone] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  return (
    <FaultForm
      error={isNone ? null : error}
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        const credential = readCredential(token)
        setNone(credential === null)
        if (credential === null) field.current?.focus()
        else begin(credential)
      }}
    >
      <TextField
        label="Access token"
        type="password"
        name="token"
        required
        autoFocus
        autoComplete="off"
        spellCheck={false}
        ref={field}
        value={token}
        error={isNone ? NO_TOKEN : undefined}
        hint="Starts a session in this browser with the same permissions. It ends with the token."
        onChange={(event) => {
          setToken(event.target.value)
          setNone(false)
        }}
      />
      <FaultRest />
      <Button type="submit" kind="primary" disabled={isBusy || token.trim() === ''}>
        {isBusy ? 'Signing in…' : 'Sign in'}
      </Button>
    </FaultForm>
  )
}

const NO_TOKEN = "That isn't a token. A token is one long word with two dots in it. Copy all of it."
