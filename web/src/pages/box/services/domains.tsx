import { useMutation } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { Button } from '../../../ui/button.tsx'
import { TextField } from '../../../ui/field.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { textOf } from '../../boxes/form-text.ts'

interface DomainsProps {
  domains: readonly string[]
  /** Null where nothing may be changed. */
  change: ((what: 'publish' | 'unpublish', domains: string[]) => Promise<unknown>) | null
}

/** Further names at which something is served: added, and given up, which can be taken back. */
export function Domains({ domains, change }: DomainsProps) {
  const run = useMutation({
    mutationFn: async ({ what, domain }: { what: 'publish' | 'unpublish'; domain: string }) => change?.(what, [domain]),
    onSuccess: (_, { what, domain }) => {
      const undo = what === 'publish' ? 'unpublish' : 'publish'
      tell(`${domain} is ${what}ed.`, () => run.mutate({ what: undo, domain }))
    },
    onError: tellError,
  })
  return (
    <div className="flex flex-col gap-3">
      {domains.length === 0 ? (
        <p className="text-muted">No further domains.</p>
      ) : (
        <ul aria-label="Domains" className="flex flex-wrap gap-2">
          {domains.map((domain) => (
            <li key={domain} className="flex items-center gap-1 rounded-md bg-raised px-2 py-1">
              <span className="break-all">{domain}</span>
              {change && (
                <button
                  type="button"
                  aria-label={`Unpublish ${domain}`}
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
        <form
          className="flex items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            const form = event.currentTarget
            run.mutate(
              { what: 'publish', domain: textOf(new FormData(form), 'domain') },
              { onSuccess: () => form.reset() },
            )
          }}
        >
          <TextField
            label="Another domain"
            name="domain"
            required
            autoComplete="off"
            placeholder="shop.example.org"
            className="max-w-xs flex-1"
          />
          <Button type="submit" disabled={run.isPending}>
            Publish
          </Button>
        </form>
      )}
    </div>
  )
}
