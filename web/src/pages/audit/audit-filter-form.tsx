import { OPERATIONS } from '@boxyard/sdk'
import { useEffect, useId, useState } from 'react'
import { useKnownProjects } from '../../shell/project-field.tsx'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { NAME_PATTERN, STATUS_PATTERN } from '../../ui/refusal-words.ts'
import type { SearchState } from '../../ui/search-state.ts'

/** Asks which lines of the audit log to show. The address holds the filter. */
export function AuditFilterForm({ get, change }: SearchState) {
  const id = useId()
  const projects = useKnownProjects()
  const fields = [
    { name: 'actor', label: 'Token', placeholder: 'name or ID', list: [] },
    { name: 'project', label: 'Project', placeholder: 'any', list: projects },
    { name: 'operation', label: 'Operation', placeholder: 'createBox', list: Object.keys(OPERATIONS) },
    { name: 'status', label: 'Status', placeholder: '403', list: STATUSES },
  ]
  const asked = fields.map((field) => get(field.name)).join('\n')
  const [texts, setTexts] = useState(() => asked.split('\n'))
  // Links and the Back button also change the address.
  useEffect(() => setTexts(asked.split('\n')), [asked])
  const isSet = fields.some(({ name }) => get(name) !== '')
  return (
    <form
      role="search"
      aria-label="Filter the audit log"
      className="grid grid-cols-2 items-end gap-3 md:grid-cols-[1fr_1fr_1.3fr_6rem_auto]"
      onSubmit={(event) => {
        event.preventDefault()
        change(Object.fromEntries(fields.map(({ name }, index) => [name, (texts[index] ?? '').trim()])))
      }}
    >
      {fields.map(({ name, label, placeholder, list }, index) => (
        <div key={name}>
          <TextField
            label={label}
            name={name}
            value={texts[index] ?? ''}
            onChange={(event) => setTexts(texts.with(index, event.target.value))}
            placeholder={placeholder}
            maxLength={63}
            autoComplete="off"
            spellCheck={false}
            list={`${id}-${name}`}
            {...(name === 'project' ? { pattern: NAME_PATTERN } : {})}
            {...(name === 'status' ? { inputMode: 'numeric', pattern: STATUS_PATTERN } : {})}
          />
          <datalist id={`${id}-${name}`}>
            {list.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </div>
      ))}
      <span className="flex gap-2">
        <Button type="submit">Show</Button>
        {isSet && (
          <Button kind="quiet" onClick={() => change(Object.fromEntries(fields.map(({ name }) => [name, ''])))}>
            Clear
          </Button>
        )}
      </span>
    </form>
  )
}

const STATUSES = ['200', '201', '202', '204', '400', '401', '403', '404', '409', '422', '429', '500', '503']
