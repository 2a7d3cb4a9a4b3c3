import { type ComponentProps, type ReactNode, useId } from 'react'
import { useFault } from './fault-form.tsx'
import { useRefusal } from './refusal.ts'

/** A field that cannot be changed is text. */
const FIXED =
  'disabled:appearance-none disabled:border-transparent disabled:bg-transparent disabled:px-0 disabled:text-text disabled:opacity-100'
const INPUT = `rounded-md border border-strong bg-panel px-2.5 py-1.5 text-sm placeholder:text-muted aria-invalid:border-bad ${FIXED}`

interface FieldProps {
  label: string
  hint?: ReactNode
  error?: string | undefined
  /** The API's names of its value, if they are others. The field shows their refusals. */
  apiNames?: readonly string[] | undefined
}

/** A labelled line of text. */
export function TextField({ label, hint, error, apiNames, className, ...rest }: FieldProps & ComponentProps<'input'>) {
  const { marks, checks, about } = useField({ hint, error, name: rest.name, apiNames })
  return (
    <Labelled id={marks.id} label={label} about={about} className={className}>
      <input {...marks} {...rest} {...checks} className={`${INPUT} w-full`} />
    </Labelled>
  )
}

/** A labelled choice. */
export function SelectField({
  label,
  hint,
  error,
  apiNames,
  className,
  ...rest
}: FieldProps & ComponentProps<'select'>) {
  const { marks, checks, about } = useField({ hint, error, name: rest.name, apiNames })
  return (
    <Labelled id={marks.id} label={label} about={about} className={className}>
      <select {...marks} {...rest} {...checks} className={`${INPUT} w-full`} />
    </Labelled>
  )
}

/** A labelled text of several lines. */
export function TextAreaField({
  label,
  hint,
  error,
  apiNames,
  className,
  ...rest
}: FieldProps & ComponentProps<'textarea'>) {
  const { marks, checks, about } = useField({ hint, error, name: rest.name, apiNames })
  return (
    <Labelled id={marks.id} label={label} about={about} className={className}>
      <textarea
        {...marks}
        spellCheck={false}
        {...rest}
        rows={rowsOf(rest)}
        {...checks}
        className={`${INPUT} field-sizing-content max-h-80 w-full font-mono text-xs`}
        style={{ minHeight: `calc(${rest.rows ?? LEAST_ROWS} * 1lh + 0.875rem)` }}
      />
    </Labelled>
  )
}

/** Returns the initial rows of a text, for browsers whose fields do not grow with it. */
function rowsOf({ rows = LEAST_ROWS, defaultValue }: ComponentProps<'textarea'>): number {
  const lines = String(defaultValue ?? '').split('\n')
  const wrapped = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / ROW_LETTERS)), 0)
  return Math.min(MOST_ROWS, Math.max(rows, wrapped))
}

const LEAST_ROWS = 2
const MOST_ROWS = 16
/** Letters in a line of the narrowest dialog. */
const ROW_LETTERS = 40

/** A labelled yes or no. */
export function CheckField({
  label,
  hint,
  error,
  apiNames,
  className = '',
  ...rest
}: FieldProps & ComponentProps<'input'>) {
  const { marks, checks, about } = useField({ hint, error, name: rest.name, apiNames })
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={marks.id} className="flex items-center gap-2 text-sm font-medium">
        <input
          id={marks.id}
          type="checkbox"
          aria-describedby={marks['aria-describedby']}
          {...rest}
          {...checks}
          className="size-4 accent-accent"
        />
        {label}
      </label>
      {about}
    </div>
  )
}

interface LabelledProps {
  /** Id of the labelled control. */
  id: string
  label: string
  /** The words about it. */
  about: ReactNode
  className: string | undefined
  children: ReactNode
}

/** A label over a control, and the words about it below. */
function Labelled({ id, label, about, className = '', children }: LabelledProps) {
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
      {about}
    </div>
  )
}

/** Returns the shared parts of every field: its accessibility attributes, its validation, and the texts about it. */
function useField({ hint, error: told, name, apiNames }: Omit<FieldProps, 'label'> & { name?: string | undefined }) {
  const id = useId()
  const { words, ...checks } = useRefusal()
  const fault = useFault(name, apiNames)
  const error = words ?? fault ?? told
  const aboutId = hint === undefined && error === undefined ? undefined : `${id}-about`
  const marks = { id, 'aria-describedby': aboutId, 'aria-invalid': error !== undefined }
  return { marks, checks, about: <About id={aboutId} hint={hint} error={error} /> }
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
  return <select aria-label={label} {...rest} className={`${INPUT} max-w-48`} />
}
