import { ApiError } from '@boxyard/sdk'
import { TriangleAlert } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { errorWords, faultSentence } from '../api/error-words.ts'
import { mayHeal } from '../api/patience.ts'

interface ProblemProps {
  error: unknown
  /** Shown if another try may help. */
  retry?: () => void
  className?: string
  /** Content beside it, such as a dismiss button. */
  children?: ReactNode
}

/** Shows an error in the words of the contract, with the id that finds the request in the logs. */
export function Problem({ error, retry, className = '', children }: ProblemProps) {
  const isOfApi = error instanceof ApiError
  const element = useRef<HTMLDivElement>(null)
  // In a long dialog it may appear out of sight.
  useEffect(() => {
    const { current } = element
    if (current?.closest('[role="dialog"]')) current.scrollIntoView({ block: 'nearest' })
  }, [error])
  return (
    <div
      ref={element}
      role="alert"
      className={`flex gap-3 rounded-md border border-bad bg-bad-soft p-3 text-sm ${className}`}
    >
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1">
        <p className="break-words">{errorWords(error)}</p>
        {isOfApi && (
          <p className="mt-1 font-mono text-xs text-muted">
            <a
              className="underline"
              href={`/problems/${encodeURIComponent(error.code)}`}
              target="_blank"
              rel="noreferrer"
            >
              {error.code}
            </a>
            {error.requestId !== null && <span className="ml-2 break-all select-all">{error.requestId}</span>}
          </p>
        )}
        {isOfApi &&
          // The text above already has a single one.
          error.errors.length > 1 &&
          error.errors.map((fault) => (
            <p key={fault.pointer} className="mt-1 text-xs">
              {faultSentence(fault)}
            </p>
          ))}
        {retry && mayHeal(error) && (
          <button type="button" className="mt-2 underline" onClick={retry}>
            Try again
          </button>
        )}
      </div>
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}
