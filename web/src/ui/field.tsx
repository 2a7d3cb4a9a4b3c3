import { type ComponentProps, type ReactNode, useId } from 'react'

/** What names of boxes, volumes and the like match. */
export const NAME_PATTERN = '[a-z0-9]+(-[a-z0-9]+)*'

const INPUT = 'rounded-md border border-strong bg-panel px-2.5 py-1.5 text-sm placeholder:text-muted'

interface FieldProps {
  label: string
  hint?: ReactNode
  error?: string | undefined
}

/** A labelled line of text. */
export function TextField({ label, hint, error, className = '', ...rest }: FieldProps & ComponentProps<'input'>) {
  const id = useId()
  const about = hint === undefined && error === undefined ? undefined : `${id}-about`
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
        className={`${INPUT} w-full`}
      />
      <About id={about} hint={hint} error={error} />
    </div>
  )
}

/** A labelled choice. */
export function SelectField({ label, hint, error, className = '', ...rest }: FieldProps & ComponentProps<'select'>) {
  const id = useId()
  const about = hint === undefined && error === undefined ? undefined : `${id}-about`
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <select id={id} aria-describedby={about} {...rest} className={`${INPUT} w-full`} />
      <About id={about} hint={hint} error={error} />
    </div>
  )
}

/** A labelled yes or no. */
export function CheckField({ label, hint, error, className = '', ...rest }: FieldProps & ComponentProps<'input'>) {
  const id = useId()
  const about = hint === undefined && error === undefined ? undefined : `${id}-about`
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="flex items-center gap-2 text-sm font-medium">
        <input id={id} type="checkbox" aria-describedby={about} {...rest} className="size-4 accent-accent" />
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
  error,
  className = '',
  ...rest
}: FieldProps & ComponentProps<'textarea'>) {
  const id = useId()
  const about = hint === undefined && error === undefined ? undefined : `${id}-about`
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <textarea
        id={id}
        aria-describedby={about}
        spellCheck={false}
        {...rest}
        className={`${INPUT} w-full font-mono text-xs`}
      />
      <About id={about} hint={hint} error={error} />
    </div>
  )
}

function About({ id, hint, error }: { id: string | undefined; hint: ReactNode; error: string | undefined }) {
  if (id === undefined) return null
  return (
    <p id={id} className={`text-xs ${error === undefined ? 'text-muted' : 'text-bad'}`}>
      {error ?? hint}
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
