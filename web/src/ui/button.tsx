import type { ComponentProps } from 'react'

type Kind = 'plain' | 'primary' | 'danger' | 'quiet'

/** A button. `danger` is for destructive actions. */
export function Button({ kind = 'plain', className = '', ...rest }: ComponentProps<'button'> & { kind?: Kind }) {
  return <button type="button" {...rest} className={`${buttonStyle(kind)} ${className}`} />
}

/** Returns the classes of a button, for a link that looks like one. */
export function buttonStyle(kind: Kind = 'plain'): string {
  return `inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md px-3 py-1 text-sm font-medium whitespace-nowrap transition-colors disabled:cursor-not-allowed disabled:opacity-50 ${STYLES[kind]}`
}

const STYLES: Record<Kind, string> = {
  plain: 'border border-line bg-panel hover:bg-raised',
  primary: 'bg-accent text-accent-text hover:opacity-90',
  danger: 'border border-bad text-bad hover:bg-bad-soft',
  quiet: 'text-muted hover:bg-raised hover:text-text',
}
