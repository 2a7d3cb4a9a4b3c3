import { useMutation } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { Button } from '../../../ui/button.tsx'
import { FaultForm, FaultRest } from '../../../ui/fault-form.tsx'
import { TextField } from '../../../ui/field.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { textOf } from '../../boxes/form-text.ts'

interface DomainsProps {
  domains: readonly string[]
  /** Null if nothing can be changed. */
  change: ((what: 'publish' | 'unpublish', domains: string[]) => Promise<unknown>) | null
}

/** Additional names that serve something. Adds and removes them, with undo. */
export function Domains({ domains, change }: DomainsProps) {
  const run = useMutation({
    mutationFn: async ({ what, domain }: Change) => change?.(what, [domain]),
    onSuccess: (_, { what, domain }) => {
      const undo = what === 'publish' ? 'unpublish' : 'publish'
      tell(`${what === 'publish' ? 'Added' : 'Removed'} ${domain}.`, () => run.mutate({ what: undo, domain }))
    },
    onError: (error, { isTyped }) => isTyped || tellError(error),
  })
  return (
    <div className="flex flex-col gap-3">
      {domains.length === 0 ? (
        <p className="text-muted">No custom domains.</p>
      ) : (
        <ul aria-label="Domains" className="flex flex-wrap gap-2">
          {domains.map((domain) => (
            <li key={domain} className="flex items-center gap-1 rounded-md bg-raised px-2 py-1">
              <span className="break-all">{domain}</span>
              {change && (
                <button
                  type="button"
                  aria-label={`Remove ${domain}`}
                  className="rounded p-0.5 hover:bg-line"
                  onClick={() => run.mutate({ what: 'unpublish', domain })}
                >
                  <X aria-hidden className="size-3.5" />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {change && (
        <FaultForm
          error={run.variables?.isTyped ? run.error : null}
          className="flex flex-wrap items-start gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            const form = event.currentTarget
            run.mutate(
              { what: 'publish', domain: textOf(new FormData(form), 'domain'), isTyped: true },
              { onSuccess: () => form.reset() },
            )
          }}
        >
          <TextField
            label="Custom domain"
            name="domain"
            apiNames={['domains']}
            required
            autoComplete="off"
            placeholder="shop.example.org"
            className="max-w-xs flex-1"
          />
          <Button type="submit" className="mt-6" disabled={run.isPending}>
            Add
          </Button>
          <div className="basis-full empty:hidden">
            <FaultRest />
          </div>
        </FaultForm>
      )}
    </div>
  )
}

interface Change {
  what: 'publish' | 'unpublish'
  domain: string
  /** Whether it was typed into the form, which then shows the refusal. */
  isTyped?: boolean
}
