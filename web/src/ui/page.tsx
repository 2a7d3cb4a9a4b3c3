import { Inbox } from 'lucide-react'
import type { ReactNode } from 'react'
import { useEffect } from 'react'
import { fullnessOf } from './words.ts'

interface PageProps {
  title: string
  /** The breadcrumb above the title. */
  of?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

/** Title, actions and content of a page. Sets the title of the browser tab. */
export function Page({ title, of, actions, children }: PageProps) {
  useTitle(title)
  return (
    <div className="flex w-full max-w-6xl flex-col gap-5 p-4 md:p-6">
      <div className="flex flex-wrap items-end justify-between gap-3">
        <div className="min-w-0">
          {of}
          <Heading title={title} />
        </div>
        <div className="flex flex-wrap gap-2">{actions}</div>
      </div>
      {children}
    </div>
  )
}

/** Heads a page. A title such as `yard/web` shows only the name, because a breadcrumb shows the project. */
export function Heading({ title }: { title: string }) {
  const name = title.slice(title.lastIndexOf('/') + 1)
  return (
    <h1 aria-label={name === title ? undefined : title} className="text-xl font-semibold break-all">
      {name}
    </h1>
  )
}

/** Names the tab of the browser. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Boxyard`
  }, [title])
}

/** A titled part of a page. */
export function Panel({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} data-panel className="rounded-lg border border-line bg-panel">
      <div className="flex min-h-11.5 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2">
        <h2 className="font-semibold">{title}</h2>
        {actions}
      </div>
      <div className="p-4">{children}</div>
    </section>
  )
}

/** Says that there is nothing here, and the next step. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 rounded-lg border border-dashed border-strong p-8 text-center in-data-panel:border-0 in-data-panel:p-2">
      <Inbox aria-hidden className="size-6 text-muted" />
      <p className="font-medium">{title}</p>
      <div className="max-w-prose text-muted">{children}</div>
    </div>
  )
}

/** Shows a skeleton while content loads. */
export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <div aria-busy className="flex w-full max-w-6xl flex-col gap-3 py-2">
      <p role="status" className="sr-only">
        {what}…
      </p>
      {SKELETON.map((width) => (
        <div key={width} aria-hidden className={`h-4 animate-pulse rounded bg-raised ${width}`} />
      ))}
    </div>
  )
}

const SKELETON = ['w-2/3', 'w-full', 'w-5/6', 'w-1/2']

/** A number with its name. */
export function Figure({ name, value, note }: { name: string; value: ReactNode; note?: ReactNode }) {
  return (
    <div className="rounded-lg border border-line bg-panel p-4">
      <p className="text-muted">{name}</p>
      <p className="mt-1 text-2xl font-semibold tabular-nums">{value}</p>
      {note !== undefined && <p className="mt-1 text-xs text-muted">{note}</p>}
    </div>
  )
}

interface MeterProps {
  name: string
  used: number
  total: number
  words: string
  /** Whether it runs out. Its colour and text then show this. */
  isRoom?: boolean
}

/** How much of something is used. */
export function Meter({ name, used, total, words: amount, isRoom = false }: MeterProps) {
  const percent = total > 0 ? Math.min(100, (100 * used) / total) : 0
  const fullness = isRoom ? fullnessOf(used, total) : null
  const words = fullness === null ? amount : `${amount}, ${fullness}`
  const colour = fullness === null ? 'bg-accent' : fullness === 'full' ? 'bg-bad' : 'bg-warn'
  return (
    <div>
      <div className="flex justify-between gap-3 text-sm">
        <span>{name}</span>
        <span className="text-right text-muted tabular-nums">{words}</span>
      </div>
      <div
        role="meter"
        aria-label={name}
        aria-valuenow={Math.round(percent)}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={words}
        className="mt-1 h-2 overflow-hidden rounded-full bg-raised"
      >
        <div className={`h-full ${colour}`} style={{ width: `${percent}%` }} />
      </div>
    </div>
  )
}
