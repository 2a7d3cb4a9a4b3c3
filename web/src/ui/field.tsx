import { type ComponentProps, type ReactNode, useId } from 'react'
import { useRefusal } from './refusal.ts'

/** A field that cannot be changed is text. */
const FIXED =
  'disabled:appearance-none disabled:border-transparent disabled:bg-transparent disabled:px-0 disabled:text-text disabled:opacity-100'
const INPUT = `rounded-md border border-strong bg-panel px-2.5 py-1.5 text-sm placeholder:text-muted aria-invalid:border-bad ${FIXED}`

interface FieldProps {
  label: string
  hint?: ReactNode
  error?: string | undefined
}

/** A labelled line of text. */
export function TextField({ label, hint, error: told, className = '', ...rest }: FieldProps & ComponentProps<'input'>) {
  const { id, about, error, checks } = useField(hint, told)
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <input
        id={id}
        aria-describedby={about}
        aria-invalid={error !== undefined}
        {...rest}
        {...checks}
        className={`${INPUT} w-full`}
      />
      <About id={about} hint={hint} error={error} />
    </div>
  )
}

/** A labelled choice. */
export function SelectField({
  label,
  hint,
  error: told,
  className = '',
  ...rest
}: FieldProps & ComponentProps<'select'>) {
  const { id, about, error, checks } = useField(hint, told)
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <select
        id={id}
        aria-describedby={about}
        aria-invalid={error !== undefined}
        {...rest}
        {...checks}
        className={`${INPUT} w-full`}
      />
      <About id={about} hint={hint} error={error} />
    </div>
  )
}

/** A labelled yes or no. */
export function CheckField({
  label,
  hint,
  error: told,
  className = '',
  ...rest
}: FieldProps & ComponentProps<'input'>) {
  const { id, about, error, checks } = useField(hint, told)
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="flex items-center gap-2 text-sm font-medium">
        <input
          id={id}
          type="checkbox"
          aria-describedby={about}
          {...rest}
          {...checks}
          className="size-4 accent-accent"
        />
        {label}
      </label>
      <About id={about} hint={hint} error={error} />
    </div>
  )
}

/** A labelled text of several lines. */
export function TextAreaField({
  label,
  hint,
  error: told,
  className = '',
  ...rest
}: FieldProps & ComponentProps<'textarea'>) {
  const { id, about, error, checks } = useField(hint, told)
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <textarea
        id={id}
        aria-describedby={about}
        aria-invalid={error !== undefined}
        spellCheck={false}
        {...rest}
        {...checks}
        className={`${INPUT} w-full font-mono text-xs`}
      />
      <About id={about} hint={hint} error={error} />
    </div>
  )
}

/** Returns what every field has: the ids of it and of the words about it, what is wrong with it, and what finds that out. */
function useField(hint: ReactNode, told: string | undefined) {
  const id = useId()
  const { words, ...checks } = useRefusal()
  const error = words ?? told
  return { id, about: hint === undefined && error === undefined ? undefined : `${id}-about`, error, checks }
}

function About({ id, hint, error }: { id: string | undefined; hint: ReactNode; error: string | undefined }) {
  if (id === undefined) return null
  if (error === undefined) {
    return (
      <p id={id} className="text-xs text-muted">
        {hint}
      </p>
    )
  }
  return (
    <p id={id} role="alert" className="text-xs text-bad">
      {error}
    </p>
  )
}

/** A search or filter without a visible label. */
export function FilterInput({ label, ...rest }: { label: string } & ComponentProps<'input'>) {
  return <input type="search" aria-label={label} placeholder={label} {...rest} className={`${INPUT} w-full max-w-xs`} />
}

/** A small choice without a visible label. */
export function FilterSelect({ label, ...rest }: { label: string } & ComponentProps<'select'>) {
  return <select aria-label={label} {...rest} className={INPUT} />
}
