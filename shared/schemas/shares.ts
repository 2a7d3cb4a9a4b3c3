import * as z from 'zod'
import type { LimitName } from './limits.ts'

/** Whose use is added up: that of a box, of a project, or of a token with all that were minted with it. */
const ACCOUNTS = ['box', 'project', 'token'] as const

const RULES = {
  left_free: 'No account may hold more than what is free, so one on its own gets half.',
  each: 'The limit applies to each account separately.',
  turns: 'Waiting requests take turns, one per account.',
  oldest_go: 'Above the limit, the accounts with the most lose their oldest.',
} as const

interface Share {
  limit: LimitName
  by: readonly (typeof ACCOUNTS)[number][]
  rule: keyof typeof RULES
}

const ALL = ['box', 'project', 'token'] as const
const CALLERS = ['project', 'token'] as const

/**
 * Everything that the callers of a deployment share, with its bound and the accounts that it is shared by. Of a token with `admin` for
 * all projects, which acts for others, only the project counts in a project.
 */
export const SHARES = {
  requests: { limit: 'requests_per_second', by: ['token'], rule: 'each' },
  live_tokens: { limit: 'tokens_per_root', by: ['token'], rule: 'each' },
  tickets: { limit: 'tickets_at_once', by: CALLERS, rule: 'left_free' },
  event_streams: { limit: 'event_streams_at_once', by: CALLERS, rule: 'left_free' },
  log_streams: { limit: 'log_streams_at_once', by: CALLERS, rule: 'left_free' },
  websockets: { limit: 'streams_at_once', by: ALL, rule: 'left_free' },
  websocket_messages: { limit: 'websocket_messages_per_second', by: ['token'], rule: 'each' },
  port_connections: { limit: 'port_connections_at_once', by: ALL, rule: 'left_free' },
  commands: { limit: 'execs_at_once', by: ALL, rule: 'left_free' },
  console_sessions: { limit: 'sessions_at_once', by: CALLERS, rule: 'left_free' },
  unread_input: { limit: 'unread_input_bytes_at_once', by: ALL, rule: 'left_free' },
  large_bodies: { limit: 'large_body_bytes_at_once', by: ALL, rule: 'left_free' },
  file_transfers: { limit: 'file_transfers_at_once', by: CALLERS, rule: 'left_free' },
  base_uploads: { limit: 'base_uploads_at_once', by: CALLERS, rule: 'left_free' },
  records: { limit: 'record_bytes', by: ['project'], rule: 'left_free' },
  starts: { limit: 'starts_at_once', by: ['project'], rule: 'turns' },
  command_starts: { limit: 'starts_at_once', by: ['project'], rule: 'turns' },
  snapshots: { limit: 'snapshots_at_once', by: ['project'], rule: 'turns' },
  probes: { limit: 'probes_per_second', by: ['project'], rule: 'turns' },
  unread_output: { limit: 'unread_output_bytes_per_second', by: ['box', 'project'], rule: 'turns' },
  read_output: { limit: 'read_output_bytes_at_once', by: ['box', 'project'], rule: 'turns' },
  backups: { limit: 'backups_at_once', by: ['project'], rule: 'turns' },
  lingering_commands: { limit: 'lingering_execs', by: ALL, rule: 'oldest_go' },
  events: { limit: 'events_kept', by: ['project'], rule: 'oldest_go' },
  audit_entries: { limit: 'audit_entries_kept', by: ['token'], rule: 'oldest_go' },
  idempotency_answers: { limit: 'idempotency_bytes_kept', by: ['token'], rule: 'oldest_go' },
  operations: { limit: 'operations_kept', by: ['project'], rule: 'oldest_go' },
  ended_tokens: { limit: 'ended_tokens_kept', by: ['token'], rule: 'oldest_go' },
  edge_grants: { limit: 'edge_grants_kept', by: ['token'], rule: 'oldest_go' },
} as const satisfies Record<string, Share>

/** One of the closed list of what is shared. */
export type ShareName = keyof typeof SHARES

/** What is shared, as `GET /v1/config` publishes it. */
export const sharesSchema = z
  .record(
    z.string(),
    z.looseObject({
      limit: z.string().meta({ description: 'Name of the limit in `limits`.' }),
      by: z.array(z.enum(ACCOUNTS)).meta({
        description: 'Accounts whose usage is added up. `token` means a token and all tokens created with it.',
      }),
      rule: z.enum(Object.keys(RULES) as [keyof typeof RULES]).meta({
        description: Object.entries(RULES)
          .map(([rule, text]) => `\`${rule}\`: ${text}`)
          .join(' '),
      }),
    }),
  )
  .meta({ id: 'Shares', description: 'Resources that callers share, by name.' })
