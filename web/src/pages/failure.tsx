import { useQueryErrorResetBoundary } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { mayHeal } from '../api/patience.ts'
import { PageFileError } from '../shell/page-files.ts'
import { Button } from '../ui/button.tsx'
import { Empty, Page } from '../ui/page.tsx'
import { Problem } from '../ui/problem.tsx'

/** Stands for a page that could not be shown; tries again by itself where that may help. */
export function Failure({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const boundary = useQueryErrorResetBoundary()
  const retry = (): void => {
    boundary.reset()
    reset()
    void router.invalidate()
  }
  const again = useRef(retry)
  again.current = retry
  const isTried = mayHeal(error)
  useEffect(() => {
    if (!isTried) return undefined
    const timer = setInterval(() => {
      // Until it has come the page stays as it is, with the focus where it is.
      if (error instanceof PageFileError) void error.again().then(again.current, () => undefined)
      else again.current()
    }, RETRY_MS)
    return () => clearInterval(timer)
  }, [isTried, error])
  return (
    <Page title="This page cannot be shown">
      {error instanceof PageFileError ? (
        <Problem error={error}>
          <Button onClick={() => location.reload()}>Reload</Button>
        </Problem>
      ) : (
        <Problem error={error} retry={retry} />
      )}
      {!isTried && (
        <Link to="/" className="self-start underline">
          Go to the overview
        </Link>
      )}
    </Page>
  )
}

/** Stands for a page that is not there. */
export function Missing() {
  return (
    <Page title="No such page">
      <Empty title="There is nothing at this address">
        <Link to="/" className="underline">
          Go to the overview
        </Link>
      </Empty>
    </Page>
  )
}

const RETRY_MS = 3_000
