import { problemTypeNotFound } from '../../../shared/errors.ts'
import { buildOpenApiDocument } from '../../../shared/openapi/document.ts'
import { answerProblemTypes } from '../../../shared/problem-types.ts'
import type { LimitName } from '../../../shared/schemas/limits.ts'
import { SHARES } from '../../../shared/schemas/shares.ts'
import type { BoxDefaults } from '../../core/boxes/record.ts'
import type { Bounds } from '../../core/common/admission.ts'
import type { HealthReport } from '../../core/health/health.ts'
import { viewBounds } from '../common/bounds.ts'
import type { Handlers, Reply } from '../common/call.ts'
import { viewHealth, viewStatus } from './view.ts'

export interface SystemDeps {
  version: { version: string; commit: string | null }
  drivers: { runtime: string; filesystem: string; store: string; backups: string }
  defaults: BoxDefaults & { volumeSizeGb: number; quota: Bounds }
  /** All limits in force. Names end in their unit. */
  limits(): Record<LimitName, number>
  health(): Promise<HealthReport>
  /** The names of the bases that all projects share. */
  sharedBases(): Promise<string[]>
}

type SystemHandlers = Pick<
  Handlers,
  'getHealth' | 'getVersion' | 'getOpenApi' | 'listProblems' | 'getProblem' | 'getConfig'
>

/** Handles version, configuration, health and OpenAPI. */
export function createSystemHandlers(deps: SystemDeps): SystemHandlers {
  const sharedHealth = keepFor(SHARED_HEALTH_MS, () => deps.health())
  let openApi: Buffer | null = null
  return {
    getHealth: async ({ caller }) => {
      // A report starts programs, so only operators get a new one for each request.
      const report = await (caller?.projects === '*' ? deps.health() : sharedHealth())
      const status = report.status === 'unavailable' ? 503 : 200
      return { status, body: caller ? viewHealth(report, { isWhole: caller.projects === '*' }) : viewStatus(report) }
    },
    getVersion: async () => {
      const { runtime, filesystem } = deps.drivers
      return { body: { ...deps.version, api_version: 'v1', runtime, filesystem } }
    },
    getOpenApi: async () => {
      // Kept as text. Building it takes 4 ms, and needs no token.
      openApi ??= Buffer.from(JSON.stringify(buildOpenApiDocument()))
      return { body: null, bytes: openApi, headers: { 'content-type': 'application/json' } }
    },
    listProblems: async ({ accept }) => replyProblemTypes(null, accept),
    getProblem: async ({ params, accept }) => replyProblemTypes(params.code, accept),
    getConfig: async () => {
      const { defaults } = deps
      return {
        body: {
          drivers: deps.drivers,
          region: defaults.config.region,
          bases: await deps.sharedBases(),
          defaults: {
            base: defaults.base,
            config: defaults.config,
            termination_grace_period_seconds: defaults.gracePeriodSeconds,
            volume_size_gb: defaults.volumeSizeGb,
            quota: viewBounds(defaults.quota),
          },
          nesting: defaults.allowsNesting,
          features: FEATURES,
          limits: deps.limits(),
          shares: SHARES,
        },
      }
    },
  }
}

/** Returns a function that reads at most once in `ms`, and shares the result. */
function keepFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let kept: { value: Promise<T>; since: number } | null = null
  return () => {
    const now = performance.now()
    if (kept === null || now - kept.since > ms) kept = { value: read(), since: now }
    return kept.value
  }
}

// The front answers these requests itself. The data address needs this.
function replyProblemTypes(code: string | null, accept: string | null): Reply {
  const answer = answerProblemTypes({ code, accept: accept ?? undefined, types: '/problems' })
  if (answer === null) throw problemTypeNotFound('/problems')
  return { body: null, bytes: Buffer.from(answer.body), headers: answer.headers }
}

const SHARED_HEALTH_MS = 1_000
const FEATURES = [
  ...['boxes', 'exec', 'consoles', 'files', 'tickets', 'tokens', 'forks', 'data', 'bases', 'backups', 'quotas'],
  ...['snapshots', 'services', 'urls', 'events'],
]
