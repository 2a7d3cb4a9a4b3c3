import { useQueryErrorResetBoundary } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { failureTitle } from '../api/error-words.ts'
import { mayHeal } from '../api/patience.ts'
import { PageFileError } from '../shell/page-files.ts'
import { Button } from '../ui/button.tsx'
import { Empty, Page } from '../ui/page.tsx'
import { Problem } from '../ui/problem.tsx'

/** Replaces a page that could not be shown. Retries automatically if that may help. */
export function Failure(props: ErrorComponentProps) {
  return (
    <Page title={titleOf(props.error)}>
      <FailureNote {...props}>
        <Link to="/" className="self-start underline">
          Go to Overview
        </Link>
      </FailureNote>
    </Page>
  )
}

/** Replaces the whole console, which has no frame yet. */
export function FailureAlone(props: ErrorComponentProps) {
  return (
    <main>
      <Failure {...props} />
    </main>
  )
}

/** Replaces a part of a page, whose frame stays. */
export function PartFailure(props: ErrorComponentProps) {
  return (
    <div className="flex w-full max-w-6xl flex-col gap-5 p-4 md:p-6">
      <h2 className="text-lg font-semibold">{titleOf(props.error)}</h2>
      <FailureNote {...props} />
    </div>
  )
}

function titleOf(error: unknown): string {
  return error instanceof PageFileError ? "Couldn't load this page" : failureTitle(error)
}

/** Shows the reason and a remedy. `children` is the way out if there is none. */
function FailureNote({ error, reset, children }: ErrorComponentProps & { children?: ReactNode }) {
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
      // Until it has loaded, the page and its focus stay unchanged.
      if (error instanceof PageFileError) void error.again().then(again.current, () => undefined)
      else again.current()
    }, RETRY_MS)
    return () => clearInterval(timer)
  }, [isTried, error])
  return (
    <>
      {error instanceof PageFileError ? (
        <Problem error={error}>
          <Button onClick={() => location.reload()}>Reload</Button>
        </Problem>
      ) : (
        <Problem error={error} retry={retry} />
      )}
      {!isTried && children}
    </>
  )
}

/** Replaces a page that does not exist. */
export function Missing() {
  return (
    <Page title="Page not found">
      <Empty title="There is nothing at this address">
        <Link to="/" className="underline">
          Go to Overview
        </Link>
      </Empty>
    </Page>
  )
}

/** Replaces a part of a box that does not exist. */
export function MissingPart() {
  return (
    <div className="p-6">
      <Empty title="There is nothing at this address">Select one of the tabs above.</Empty>
    </div>
  )
}

const RETRY_MS = 3_000
