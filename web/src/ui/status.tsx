import type { Box } from '../api/records.ts'

const TONES: Record<string, string> = {
  running: 'bg-good',
  done: 'bg-good',
  ok: 'bg-good',
  ready: 'bg-good',
  active: 'bg-good',
  pending: 'bg-warn animate-pulse',
  degraded: 'bg-warn',
  unknown: 'bg-warn',
  failed: 'bg-bad',
  unavailable: 'bg-bad',
  lost: 'bg-bad',
}

/** A state in words, with a dot of its colour: the colour alone says nothing. */
export function Status({ status, title }: { status: string; title?: string | undefined }) {
  return (
    <span className="inline-flex items-center gap-1.5" title={title}>
      <span aria-hidden className={`dot size-2 shrink-0 rounded-full ${TONES[status] ?? 'bg-strong'}`} />
      {status}
    </span>
  )
}

/** The state of a box, with its reason. */
export function BoxState({ box }: { box: Box }) {
  return <Status status={box.status} title={box.state.message ?? box.state.reason.replaceAll('_', ' ')} />
}

/** A short word about something, such as a tag. */
export function Chip({ children }: { children: string }) {
  return <span className="rounded bg-raised px-1.5 py-0.5 font-mono text-xs">{children}</span>
}
