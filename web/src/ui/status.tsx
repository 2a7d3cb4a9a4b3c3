import type { Box } from '../api/records.ts'
import { type Tone, toneOf } from './words.ts'

const TONES: Readonly<Record<Tone, { tint: string; dot: string }>> = {
  good: { tint: 'bg-good-soft text-good', dot: 'bg-good' },
  warn: { tint: 'bg-warn-soft text-warn', dot: 'bg-warn' },
  bad: { tint: 'bg-bad-soft text-bad', dot: 'bg-bad' },
  neutral: { tint: 'bg-raised text-muted', dot: 'bg-strong' },
}

/** Shows a state as a tinted badge, with words and a dot for users who do not see the tint. */
export function Status({ status, title }: { status: string; title?: string | undefined }) {
  return (
    <Badge tone={toneOf(status)} isMoving={status === 'pending'} title={title}>
      {status}
    </Badge>
  )
}

interface BadgeProps {
  tone: Tone
  /** Whether the state ends soon. */
  isMoving?: boolean
  title?: string | undefined
  children: string
}

/** Shows a word on a tint. Forced colors keep the dot. */
export function Badge({ tone, isMoving = false, title, children }: BadgeProps) {
  const { tint, dot } = TONES[tone]
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${tint}`}
      title={title}
    >
      <span aria-hidden className={`dot size-1.5 shrink-0 rounded-full ${dot} ${isMoving ? 'animate-pulse' : ''}`} />
      {children}
    </span>
  )
}

/** The state of a box, with its reason. */
export function BoxState({ box }: { box: Box }) {
  return <Status status={box.status} title={box.state.message ?? box.state.reason.replaceAll('_', ' ')} />
}

/** A short label, such as a tag. */
export function Chip({ children }: { children: string }) {
  return <span className="rounded bg-raised px-1.5 py-0.5 font-mono text-xs">{children}</span>
}
