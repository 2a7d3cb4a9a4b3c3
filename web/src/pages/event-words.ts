import type { BoxyardEvent } from '@boxyard/sdk'

type Told = Pick<BoxyardEvent, 'type' | 'resource' | 'actor' | 'data' | 'project'>

/** Parts of a sentence such as `admin stopped yard/web`. */
export interface EventSentence {
  /** Name of the token, or `Boxyard`. */
  actor: string
  verb: string
  /** Resource of the event, such as `yard/web`. */
  thing: string
  /** More about it, or empty. */
  rest: string
}

/** Returns the sentence of an event. An unknown type keeps its name. */
export function eventSentence(event: Told): EventSentence {
  const [kind = '', what = ''] = event.type.split('.')
  const verb = VERBS[event.type] ?? VERBS[`*.${what}`] ?? `${what.replaceAll('_', ' ')} (${kind})`
  return { actor: event.actor?.name ?? 'Boxyard', verb, thing: thingOf(event), rest: restOf(event) }
}

/** Returns the events without steps of another one, such as `running` after `created`. Keeps the order, newest first. */
export function withoutSteps<Item extends Told & Pick<BoxyardEvent, 'ts'>>(events: readonly Item[]): Item[] {
  const requested = new Map<string, number>()
  const shown: Item[] = []
  for (const event of events.toReversed()) {
    const at = Date.parse(event.ts)
    if (REQUESTS.has(event.type)) requested.set(event.resource, at)
    const isStep = STEPS.has(event.type) && at - (requested.get(event.resource) ?? 0) < STEP_MS
    if (event.type !== 'box.pending' && !isStep) shown.push(event)
  }
  return shown.toReversed()
}

function thingOf({ type, resource, data, project }: Told): string {
  const path = resource.replace(/^\/v1\/(projects\/)?/, '')
  const [, of = '', owner = '', name = ''] =
    /^([^/]+)\/(?:boxes|data)\/([^/]+)(?:\/(?:snapshots|services|backups)\/([^/]+))?$/.exec(path) ?? []
  if (type.startsWith('token.')) return typeof data['name'] === 'string' ? data['name'] : path
  if (type.startsWith('quota.')) return project ?? path
  if (type.startsWith('base.')) return path.replace(/^bases\//, '').replace('/bases/', '/')
  if (owner === '') return path
  if (type.startsWith('service.')) return `${name} in ${of}/${owner}`
  return name === '' || type.startsWith('backup.') ? `${of}/${owner}` : `${of}/${owner}@${name}`
}

function restOf({ type, data }: Told): string {
  const text = (name: string): string => (typeof data[name] === 'string' ? data[name] : '')
  if (type === 'data.attached') return `to ${text('box')} at ${text('path')}`
  if (type === 'data.detached') return `from ${text('box')}`
  if (type === 'box.restored' || type === 'box.restoring') return text('snapshot') && `to ${text('snapshot')}`
  if (type === 'service.process_ended') return endOf(data)
  if (type === 'box.created' && text('fork_of') !== '') return `as a fork of ${text('fork_of')}`
  if (type.endsWith('.updated') && Array.isArray(data['fields']))
    return `(${data['fields'].map((field) => FIELDS[String(field)] ?? String(field).replaceAll('_', ' ')).join(', ')})`
  if (text('message') !== '' || text('error') !== '') return text('message') || text('error')
  const reason = STEPS.has(type) && !PLAIN_REASONS.has(text('reason')) ? text('reason').replaceAll('_', ' ') : ''
  return reason && `(${reason})`
}

function endOf({ exit_code: code, signal, out_of_memory: isOut }: BoxyardEvent['data']): string {
  if (isOut === true) return '(out of memory)'
  return typeof code === 'number' ? `(exit code ${code})` : typeof signal === 'string' ? `(${signal})` : ''
}

const VERBS: Readonly<Record<string, string>> = {
  '*.created': 'created',
  '*.updated': 'changed',
  '*.deleted': 'deleted',
  '*.restored': 'restored',
  '*.deployed': 'deployed',
  '*.promoted': 'promoted',
  '*.discarded': 'discarded the preview of',
  '*.rolled_back': 'rolled back',
  '*.started': 'started',
  '*.stopped': 'stopped',
  '*.changed': 'changed',
  'box.stop_requested': 'stopped',
  'box.resume_requested': 'started',
  'box.running': 'started',
  'box.unknown': 'lost contact with',
  'box.restoring': 'is restoring',
  'box.restore_failed': 'failed to restore',
  'box.oom_killed': 'ended processes without memory in',
  'data.created': 'created volume',
  'data.updated': 'changed volume',
  'data.deleted': 'deleted volume',
  'data.restored': 'restored volume',
  'data.attached': 'attached volume',
  'data.detached': 'detached volume',
  'snapshot.created': 'took snapshot',
  'snapshot.deleted': 'deleted snapshot',
  'backup.created': 'started a backup of',
  'backup.done': 'backed up',
  'backup.failed': 'failed to back up',
  'backup.deleted': 'deleted a backup of',
  'base.created': 'created base',
  'base.deleted': 'deleted base',
  'quota.updated': 'changed the quota of',
  'token.created': 'created token',
  'token.revoked': 'revoked token',
  'service.created': 'added service',
  'service.deleted': 'deleted service',
  'service.process_started': 'started a process of',
  'service.process_ended': 'saw a process end of',
  'service.preview_failed': 'failed to preview',
  'service.promote_failed': 'failed to promote',
  'service.rollback_failed': 'failed to roll back',
}
/** States that follow a request. */
const STEPS: ReadonlySet<string> = new Set(['box.running', 'box.stopped', 'box.restoring'])
const REQUESTS: ReadonlySet<string> = new Set([
  'box.created',
  'box.stop_requested',
  'box.resume_requested',
  'box.restored',
  'box.restoring',
])
const FIELDS: Readonly<Record<string, string>> = {
  config: 'size',
  termination_grace_period_seconds: 'grace period',
  url_settings: 'access',
  published_domains: 'domains',
  size_gb: 'size',
}
/** Reasons that add nothing to the sentence. */
const PLAIN_REASONS: ReadonlySet<string> = new Set(['ready', 'stopped_by_request'])
/** Longer than a start or stop takes. */
const STEP_MS = 60_000
