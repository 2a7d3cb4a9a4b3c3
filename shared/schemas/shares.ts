import * as z from 'zod'
import type { LimitName } from './limits.ts'

/** Accounts whose use is added up: a box, a project, or a token with all tokens that were created with it. */
const ACCOUNTS = ['box', 'project', 'token'] as const

const RULES = {
  at_most_free: 'No account may hold more than what is free, so one on its own gets half.',
  per_account: 'The limit applies to each account separately.',
  fair_queue: 'Waiting requests take turns, one per account.',
  evict_oldest: 'Above the limit, the accounts with the most lose their oldest.',
} as const

interface Share {
  limit: LimitName
  by: readonly (typeof ACCOUNTS)[number][]
  rule: keyof typeof RULES
}

const ALL = ['box', 'project', 'token'] as const
const CALLERS = ['project', 'token'] as const

/**
 * Everything that the callers of a deployment share, with its bound and the accounts that share it. For a token with `admin` for all
 * projects, which acts for others, only the project counts in a project.
 */
export const SHARES = {
  requests: { limit: 'requests_per_second', by: ['token'], rule: 'per_account' },
  live_tokens: { limit: 'tokens_per_root', by: ['token'], rule: 'per_account' },
  tickets: { limit: 'tickets_at_once', by: CALLERS, rule: 'at_most_free' },
  event_streams: { limit: 'event_streams_at_once', by: CALLERS, rule: 'at_most_free' },
  log_streams: { limit: 'log_streams_at_once', by: CALLERS, rule: 'at_most_free' },
  websockets: { limit: 'streams_at_once', by: ALL, rule: 'at_most_free' },
  websocket_messages: { limit: 'websocket_messages_per_second', by: ['token'], rule: 'per_account' },
  port_connections: { limit: 'port_connections_at_once', by: ALL, rule: 'at_most_free' },
  commands: { limit: 'execs_at_once', by: ALL, rule: 'at_most_free' },
  console_sessions: { limit: 'sessions_at_once', by: CALLERS, rule: 'at_most_free' },
  unread_input: { limit: 'unread_input_bytes_at_once', by: ALL, rule: 'at_most_free' },
  large_bodies: { limit: 'large_body_bytes_at_once', by: ALL, rule: 'at_most_free' },
  file_transfers: { limit: 'file_transfers_at_once', by: CALLERS, rule: 'at_most_free' },
  base_uploads: { limit: 'base_uploads_at_once', by: CALLERS, rule: 'at_most_free' },
  records: { limit: 'record_bytes', by: ['project'], rule: 'at_most_free' },
  starts: { limit: 'starts_at_once', by: ['project'], rule: 'fair_queue' },
  command_starts: { limit: 'starts_at_once', by: ['project'], rule: 'fair_queue' },
  snapshots: { limit: 'snapshots_at_once', by: ['project'], rule: 'fair_queue' },
  probes: { limit: 'probes_per_second', by: ['project'], rule: 'fair_queue' },
  unread_output: { limit: 'unread_output_bytes_per_second', by: ['box', 'project'], rule: 'fair_queue' },
  read_output: { limit: 'read_output_bytes_at_once', by: ['box', 'project'], rule: 'fair_queue' },
  backups: { limit: 'backups_at_once', by: ['project'], rule: 'fair_queue' },
  orphaned_commands: { limit: 'orphaned_execs', by: ALL, rule: 'evict_oldest' },
  events: { limit: 'events_kept', by: ['project'], rule: 'evict_oldest' },
  audit_entries: { limit: 'audit_entries_kept', by: ['token'], rule: 'evict_oldest' },
  idempotency_answers: { limit: 'idempotency_bytes_kept', by: ['token'], rule: 'evict_oldest' },
  operations: { limit: 'operations_kept', by: ['project'], rule: 'evict_oldest' },
  ended_tokens: { limit: 'ended_tokens_kept', by: ['token'], rule: 'evict_oldest' },
  edge_grants: { limit: 'edge_grants_kept', by: ['token'], rule: 'evict_oldest' },
} as const satisfies Record<string, Share>

/** One of the closed list of shared resources. */
export type ShareName = keyof typeof SHARES

/** The shared resources, as `GET /v1/config` publishes them. */
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
