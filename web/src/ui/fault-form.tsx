import {
  type ComponentProps,
  createContext,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { placeFaults } from './faults.ts'
import { focusLate } from './first-focus.ts'
import { Problem } from './problem.tsx'

/** The context that the fields of a form use. */
interface FaultScope {
  /** Returns why the value of a field was refused. Undefined if it was not, or has changed since. */
  wordsAt(field: string): string | undefined
  /** Faults that no field of the form shows, or null. */
  rest: unknown
  /** Makes a field show refusals of values with these names in the API. */
  register(field: string, names: readonly string[]): () => void
}

const Scope = createContext<FaultScope | null>(null)

interface FaultFormProps extends ComponentProps<'form'> {
  /** The error of the last attempt, or null. */
  error: unknown
}

/**
 * A form that shows the faults of an attempt at its fields until they change, and focuses the first one. `FaultRest` shows faults without a
 * field until anything changes.
 */
export function FaultForm({ error, ...form }: FaultFormProps) {
  const element = useRef<HTMLFormElement>(null)
  const fields = useRef(new Map<string, string>())
  const [changed, setChanged] = useState<{ since: unknown; names: ReadonlySet<string> }>({ since: error, names: NONE })
  if (changed.since !== error) setChanged({ since: error, names: NONE })
  const names = changed.since === error ? changed.names : NONE
  const placed = useMemo(() => placeFaults(error, fields.current), [error])
  useEffect(() => focusLate(element.current), [])
  useEffect(() => {
    if (placed.at.size > 0) showFirst(element.current)
  }, [placed])
  const scope = useMemo<FaultScope>(
    () => ({
      wordsAt: (field) => {
        const fault = placed.at.get(field)
        return fault === undefined || fault.endedBy.some((name) => names.has(name)) ? undefined : fault.words
      },
      rest: names.size === 0 ? placed.rest : null,
      register: (field, apiNames) => {
        const before = apiNames.map((name) => [name, fields.current.get(name)] as const)
        for (const name of apiNames) fields.current.set(name, field)
        return () => {
          for (const [name, other] of before) {
            if (fields.current.get(name) !== field) continue
            if (other === undefined || other === field) fields.current.delete(name)
            else fields.current.set(name, other)
          }
        }
      },
    }),
    [placed, names],
  )
  const note = ({ target }: React.SyntheticEvent): void => {
    if (error !== null) setChanged({ since: error, names: new Set(names).add((target as HTMLInputElement).name) })
  }
  return (
    <Scope value={scope}>
      <form ref={element} {...form} onInput={note} />
    </Scope>
  )
}

/** Faults of the surrounding form that belong to no field. */
export function FaultRest() {
  const rest = useContext(Scope)?.rest ?? null
  return rest === null ? null : <Problem error={rest} />
}

/** Returns why the value of a field was refused. `of` lists its names in the API, if they are others. */
export function useFault(field: string | undefined, of: readonly string[] = []): string | undefined {
  const scope = useContext(Scope)
  const register = scope?.register
  const names = [...(field === undefined ? [] : [field]), ...of].join('\n')
  useLayoutEffect(
    () => (field === undefined ? undefined : register?.(field, names.split('\n'))),
    [register, field, names],
  )
  return field === undefined ? undefined : scope?.wordsAt(field)
}

function showFirst(form: HTMLFormElement | null): void {
  const first = form?.querySelector<HTMLElement>('[aria-invalid="true"]')
  first?.closest('details')?.setAttribute('open', '')
  first?.focus()
}

const NONE: ReadonlySet<string> = new Set()
