import { ServiceError } from '../../shared/errors.ts'
import type { HttpResponse } from '../../shared/http/messages.ts'
import type { Project, Quota } from '../../shared/schemas/access.ts'
import type { Base } from '../../shared/schemas/bases.ts'
import type { ScrubResource, StorageResource } from '../../shared/schemas/health.ts'
import { cellAway } from './cells/cell-links.ts'

/** The whole answer of a cell, and its JSON. */
export interface CellAnswer {
  cell: string
  response: HttpResponse
  value: unknown
}

/** The answer of a cell, or an error that names it. */
export type CellValue = CellAnswer | { cell: string; error: ServiceError }

/** Merges the answers of all cells into one. */
export interface AnswerMerge {
  /** True: asks the others once this cell has done it. */
  isHereFirst: boolean
  /** True for operations that can take long. Other cells then have no timeout. */
  isSlow: boolean
  /** Returns whether to ask the others after this status here. If not, this is the answer. */
  isAsked(status: number): boolean
  /** Merges the answers, this cell's first. @throws ServiceError `agent_unavailable` that names a cell without which none can be given */
  merge(own: CellAnswer, others: readonly CellValue[]): HttpResponse
}

/** Merges the answers of all cells. @throws ServiceError `agent_unavailable` that names the others if one is not what was asked for */
export function mergeAnswers({ merge }: AnswerMerge, own: CellAnswer, others: readonly CellValue[]): HttpResponse {
  try {
    return merge(own, others)
  } catch (error) {
    throw error instanceof ServiceError ? error : cellAway(others.map(({ cell }) => cell).join(' or '), error)
  }
}

/** Makes one item of several cells' items with the same key, as JSON. */
export type ItemJoin = (items: readonly Buffer[]) => Buffer

/** Sums what a project has at several cells. */
export const joinProjects: ItemJoin = (items) => {
  const all = items.map((item) => JSON.parse(item.toString('utf8')) as Project)
  const { boxes, volumes } = sumDeep(all.map((each) => ({ boxes: { ...each.boxes }, volumes: each.volumes })))
  return Buffer.from(JSON.stringify({ ...sumQuotas(all), boxes, volumes }))
}

/** Sums what a project uses at all cells. */
export const GET_QUOTA: AnswerMerge = {
  isHereFirst: false,
  isSlow: false,
  isAsked: isDone,
  merge: (own, others) => answerOf(own, others, sumQuotasOfCells),
}

/** Sets the quota of each cell, which bounds what the project has there. */
export const SET_QUOTA: AnswerMerge = {
  isHereFirst: true,
  isSlow: true,
  isAsked: isDone,
  merge: (own, others) => {
    const isSet = (each: CellValue): boolean => 'response' in each && isDone(each.response.status)
    const missed = others.filter((each) => !isSet(each)).map(({ cell }) => cell)
    if (missed.length === 0) return answerOf(own, others, sumQuotasOfCells)
    const reached = [own, ...others.filter(isSet)].map(({ cell }) => cell)
    const detail = `The quota is set at ${listed(reached)}, and not at ${listed(missed)}: send it again.`
    throw new ServiceError('agent_unavailable', detail, { headers: { 'Retry-After': '2' } })
  },
}

/** Returns the pools of all cells, together and each. */
export const GET_STORAGE: AnswerMerge = {
  isHereFirst: false,
  isSlow: true,
  isAsked: isDone,
  merge: (own, others) =>
    answerOf(own, others, (reports: CellsOf<StorageResource>): StorageResource => {
      const values = reports.map(({ value }) => value)
      const scrubs = values.flatMap(({ scrub }) => scrub ?? [])
      const cells = reports.flatMap(({ cell, value: { pool, deleting, scrub } }) =>
        pool === null ? [] : { cell, pool, deleting: deleting ?? 0, scrub },
      )
      // Only tokens of all projects see what projects share.
      const isWhole = cells.length === values.length
      return {
        pool: isWhole ? sumDeep(cells.map(({ pool }) => pool)) : null,
        boxes: values.flatMap(({ boxes }) => boxes),
        volumes: values.flatMap(({ volumes }) => volumes),
        bases: values.flatMap(({ bases }) => bases),
        projects: sumStored(values.flatMap(({ projects }) => projects)),
        orphans: values.flatMap(({ orphans }) => orphans),
        deleting: isWhole ? cells.reduce((sum, { deleting }) => sum + deleting, 0) : null,
        scrub: scrubs.length === 0 ? null : joinScrubs(scrubs),
        ...(isWhole ? { cells } : {}),
      }
    }),
}

function sumStored(projects: StorageResource['projects']): StorageResource['projects'] {
  const sums = new Map<string, number>()
  for (const { project, stored_bytes } of projects) sums.set(project, (sums.get(project) ?? 0) + stored_bytes)
  return [...sums].map(([project, stored_bytes]) => ({ project, stored_bytes }))
}

/** Scrubs the pool of each cell. */
export const START_SCRUB: AnswerMerge = {
  isHereFirst: true,
  isSlow: true,
  isAsked: isDone,
  merge: (own, others) =>
    answerOf(own, others, (scrubs: CellsOf<ScrubResource>) => joinScrubs(scrubs.map(({ value }) => value))),
}

/** Gets the base of the project at its owner, or else a shared one, and its boxes at all cells. */
export const GET_BASE: AnswerMerge = {
  isHereFirst: false,
  isSlow: false,
  isAsked: isDoneOrMissing,
  merge: (own, others) => {
    const all = [own, ...others]
    const found = all.filter((each): each is CellAnswer => 'response' in each && isDone(each.response.status))
    const baseOf = ({ value }: CellAnswer): Base => value as Base
    const told = found.find((each) => baseOf(each).project !== null) ?? found[0]
    if (told === undefined) return notFound(own, others)
    const base = baseOf(told)
    const uses = found.flatMap((each) => (baseOf(each).id === base.id ? (baseOf(each).used_by ?? []) : []))
    // The use at a cell that has not answered is unknown.
    const isKnown = all.every((each) => 'response' in each && isDoneOrMissing(each.response.status))
    const boxes = uses.flatMap((use) => use.boxes).slice(0, USERS_MAX)
    const usedBy = isKnown ? { boxes, count: uses.reduce((sum, { count }) => sum + count, 0) } : null
    return withJson(told.response, { ...base, used_by: usedBy })
  },
}

/** Deletes the base of that name at its owner, and sums its boxes of all cells. Cells with only a copy answer 404, with their count. */
export const DELETE_BASE: AnswerMerge = {
  isHereFirst: true,
  isSlow: true,
  isAsked: isDoneOrMissing,
  merge: (own, others) => {
    const answers = [own, ...others.flatMap((each) => ('response' in each ? each : []))]
    const done = answers.filter(({ response }) => isDone(response.status))
    const [first] = done
    if (first === undefined) return withoutUse(notFound(own, others))
    const used = answers.reduce((sum, { response }) => sum + Number(response.headers[USED_BY] ?? 0), 0)
    return { ...first.response, headers: { ...first.response.headers, [USED_BY]: String(used) } }
  },
}

function withoutUse(answer: HttpResponse): HttpResponse {
  const { [USED_BY]: _, ...headers } = answer.headers
  return { ...answer, headers }
}

type CellsOf<T> = readonly { cell: string; value: T }[]

/** Returns this cell's answer with the joined value of all cells. If another cell refuses, that refusal is the answer. */
function answerOf<T>(own: CellAnswer, others: readonly CellValue[], join: (all: CellsOf<T>) => T): HttpResponse {
  const answers: CellAnswer[] = [own]
  for (const each of others) {
    if ('error' in each) throw each.error
    if (!isDone(each.response.status)) return each.response
    answers.push(each)
  }
  const all = answers.map(({ cell, value }) => ({ cell, value: value as T }))
  return withJson(own.response, join(all))
}

/** Returns a response with another body. */
function withJson({ status, headers, account }: HttpResponse, value: unknown): HttpResponse {
  const { 'content-length': _, ...kept } = headers
  return { status, headers: kept, body: JSON.stringify(value), ...(account === undefined ? {} : { account }) }
}

/** Answers for cells that all lack it. Prefers a cell that refuses for another reason or has not answered, else uses this cell's answer. */
function notFound(own: CellAnswer, others: readonly CellValue[]): HttpResponse {
  for (const each of others) {
    if ('error' in each) throw each.error
    if (!isDoneOrMissing(each.response.status)) return each.response
  }
  return own.response
}

function sumQuotasOfCells(quotas: CellsOf<Quota>): Quota {
  return sumQuotas(quotas.map(({ value }) => value))
}

function sumQuotas(quotas: readonly Quota[]): Quota {
  // A quota that only some cells have is the latest.
  const [latest] = quotas.toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1))
  const { boxes, cpus, ram_mb, storage_gb, stored_bytes } = sumDeep(quotas.map(({ used }) => ({ ...used })))
  return { ...(latest as Quota), used: { boxes, cpus, ram_mb, storage_gb, stored_bytes } }
}

function timeOf({ updated_at: at }: Quota): string {
  return at ?? ''
}

function joinScrubs(scrubs: readonly ScrubResource[]): ScrubResource {
  const status = STATUSES.find((each) => scrubs.some((scrub) => scrub.status === each)) ?? 'done'
  const ends = scrubs.flatMap(({ ended_at: at }) => at ?? []).sort()
  return {
    status,
    started_at: scrubs.map(({ started_at: at }) => at).sort()[0] as string,
    ended_at: status === 'running' || ends.length < scrubs.length ? null : (ends.at(-1) ?? null),
    checked_bytes: scrubs.reduce((sum, { checked_bytes: bytes }) => sum + bytes, 0),
    errors: scrubs.reduce((sum, { errors }) => sum + errors, 0),
  }
}

/** Sums objects of one shape, number by number. */
function sumDeep<T extends object>(objects: readonly T[]): T {
  const sum: Record<string, unknown> = {}
  for (const each of objects)
    for (const [name, value] of Object.entries(each))
      sum[name] =
        typeof value === 'number' ? round(Number(sum[name] ?? 0) + value) : sumDeep([sum[name] ?? {}, value as object])
  return sum as T
}

// Fractions of CPUs and GiB are sums already.
function round(value: number): number {
  return Math.round(value * 1e6) / 1e6
}

function listed(cells: readonly string[]): string {
  return `cell${cells.length === 1 ? '' : 's'} ${cells.join(', ')}`
}

function isDone(status: number): boolean {
  return status >= 200 && status < 300
}

function isDoneOrMissing(status: number): boolean {
  return isDone(status) || status === 404
}

const USED_BY = 'x-used-by-count'
const USERS_MAX = 100
/** Statuses of scrubs. The whole has the first of these that one cell has. */
const STATUSES = ['running', 'failed', 'interrupted'] as const
