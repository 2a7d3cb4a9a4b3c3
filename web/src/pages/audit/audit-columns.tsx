import { OPERATIONS } from '@boxyard/sdk'
import type { AuditLine } from '../../api/records.ts'
import { CopyButton } from '../../ui/copy.tsx'
import type { Column } from '../../ui/long-table.tsx'
import { Ago } from '../../ui/now.tsx'
import { Badge } from '../../ui/status.tsx'
import { outcomeText } from './audit-filter.ts'

/** Returns the columns of the audit log. `narrow` shows only lines with the same token or operation. */
export function auditColumns(narrow: (part: 'actor' | 'operation', value: string) => void): Column<AuditLine>[] {
  return [
    { name: 'When', from: 'md', of: ({ ts }) => <Ago time={ts} /> },
    { name: 'Token', from: 'md', of: (line) => <Actor line={line} narrow={narrow} /> },
    {
      name: 'Operation',
      of: (line) => (
        <>
          <What line={line} narrow={narrow} />
          <span className="block text-xs text-muted md:hidden">
            <Ago time={line.ts} /> by {line.actor_name ?? 'unknown'}
          </span>
          <span className="flex items-center gap-1 text-muted">
            <code className="truncate text-xs select-all" title={`from ${line.client_address}`}>
              {line.request_id}
            </code>
            <CopyButton text={line.request_id} label={`Copy ${line.request_id}`} />
          </span>
        </>
      ),
    },
    { name: 'Result', of: (line) => <Answer line={line} /> },
    { name: 'Duration', from: 'lg', isNumber: true, of: ({ duration_ms: ms }) => `${ms} ms` },
  ]
}

interface PartProps {
  line: AuditLine
  narrow(part: 'actor' | 'operation', value: string): void
}

function Actor({ line: { actor, actor_name: name, client_address: address }, narrow }: PartProps) {
  if (actor === null) return <span className="text-muted">none, from {address}</span>
  return (
    <button
      type="button"
      title={actor}
      className="text-left break-all hover:underline"
      onClick={() => narrow('actor', actor)}
    >
      {name ?? actor}
    </button>
  )
}

function What({ line: { operation, method, target, command }, narrow }: PartProps) {
  return (
    <>
      {operation === null ? (
        <span className="text-muted">no operation</span>
      ) : (
        <button
          type="button"
          title={summaryOf(operation)}
          className="text-left font-medium break-all hover:underline"
          onClick={() => narrow('operation', operation)}
        >
          {operation}
        </button>
      )}
      <code className="block text-xs break-all text-muted">
        {method} {target}
      </code>
      {command && (
        <code className="line-clamp-2 text-xs break-all" title={command.join(' ')}>
          $ {command.join(' ')}
        </code>
      )}
    </>
  )
}

function Answer({ line: { status, code } }: { line: AuditLine }) {
  return (
    <>
      <span title={`HTTP ${status}`}>
        <Badge tone={status < 300 ? (status === 202 ? 'warn' : 'good') : status < 400 ? 'good' : 'bad'}>
          {outcomeText(status)}
        </Badge>{' '}
        <span className="text-xs text-muted tabular-nums">{status}</span>
      </span>
      {code !== null && (
        <a
          href={`/problems/${encodeURIComponent(code)}`}
          target="_blank"
          rel="noreferrer"
          className="block font-mono text-xs break-words text-muted underline"
        >
          {code}
        </a>
      )}
    </>
  )
}

function summaryOf(operation: string): string | undefined {
  const table: Readonly<Record<string, { summary: string } | undefined>> = OPERATIONS
  return table[operation]?.summary
}
